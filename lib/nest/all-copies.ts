import type { DynamicModule, Provider, Type } from '@nestjs/common';
import { SchedulerLockEvents } from './log/scheduler-lock.events.js';
import { SchedulerLeader } from './scheduler-leader.js';
import { SchedulerLockHealth } from './scheduler-lock-health.js';
import { SchedulerLockInsight } from './scheduler-lock-insight.js';
import { SchedulerLockService } from './scheduler-lock.service.js';
import { shared } from '../base/shared.js';

/** The classes that applications inject, by name. */
const OWN = {
  SchedulerLockService,
  SchedulerLockEvents,
  SchedulerLockInsight,
  SchedulerLockHealth,
  SchedulerLeader,
};

type Name = keyof typeof OWN;

/**
 * The classes of all copies of this library. Weak: Jest's `resetModules()` makes new copies, and the old ones have to be
 * collected.
 */
const injected = shared('injected classes', (): { name: Name; type: WeakRef<Type<unknown>> }[] => []);

for (const name of Object.keys(OWN) as Name[])
  injected.push({ name, type: new WeakRef<Type<unknown>>(OWN[name]) });

/** The classes of another copy are different injection tokens: here they resolve to the instances of this copy. */
function aliases(): { provide: Type<unknown>; useExisting: Type<unknown> }[] {
  return injected.flatMap(({ name, type }) => {
    const provide = type.deref();
    return provide === undefined || provide === OWN[name] ? [] : [{ provide, useExisting: OWN[name] }];
  });
}

/** Makes a module provide the classes of all copies. Getters, as Nest reads them only when all copies have been loaded. */
export function forAllCopies(definition: DynamicModule): DynamicModule {
  const { providers = [], exports = [] } = definition;
  return Object.defineProperties(definition, {
    providers: { enumerable: true, get: (): Provider[] => [...providers, ...aliases()] },
    exports: { enumerable: true, get: () => [...exports, ...aliases().map(({ provide }) => provide)] },
  });
}
