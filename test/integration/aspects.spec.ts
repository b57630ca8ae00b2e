import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Cron, Interval } from '@nestjs/schedule';
import { currentLock, SchedulerLock } from '../../lib/index.js';
import { closeApps, startApp } from './app.js';
import { acquired, daily, fireAndWait } from './tick-support.js';

afterEach(closeApps);

type Method = (this: object, ...args: unknown[]) => unknown;

const ASPECTS = Symbol('aspects');

/**
 * As the decorators of `@toss/nestjs-aop` work: metadata on the method, and a wrapper that inherits from the method and looks for what
 * `Aspects` has put on the instance.
 */
function Aspect(): MethodDecorator {
  const woven = Symbol('woven');
  return (_, key, descriptor: PropertyDescriptor) => {
    const method = descriptor.value as Method;
    const known = (Reflect.getMetadata(ASPECTS, method) ?? []) as unknown[];
    Reflect.defineMetadata(ASPECTS, [...known, { woven, method }], method);
    const wrapper: Method = function (...args) {
      const own = Reflect.get(this, woven) as Method | undefined;
      return Reflect.apply(own ?? method, this, args);
    };
    Object.defineProperty(wrapper, 'name', { value: String(key) });
    Object.setPrototypeOf(wrapper, method);
    descriptor.value = wrapper;
  };
}

/** Weaves at the start, as that library does: it reads the metadata of the methods that it finds on an instance. */
class Aspects implements OnModuleInit {
  readonly seen: string[] = [];
  constructor(private readonly jobs: object) {}
  onModuleInit(): void {
    const method = Reflect.get(this.jobs, 'run') as object;
    for (const { woven, method: original } of (Reflect.getMetadata(ASPECTS, method) ?? []) as {
      woven: symbol;
      method: Method;
    }[]) {
      Reflect.set(this.jobs, woven, (...args: unknown[]) => {
        this.seen.push('aspect');
        return Reflect.apply(original, this.jobs, args);
      });
    }
  }
}

const ORDERS = [
  'cron lock aspect',
  'cron aspect lock',
  'lock cron aspect',
  'lock aspect cron',
  'aspect cron lock',
  'aspect lock cron',
];

test.each(ORDERS)(
  'a job with the decorators %s runs, with its tick, its lock and its aspect',
  async (order) => {
    const { expression, tick } = daily();
    const runs: unknown[] = [];
    @Injectable()
    class Nightly {
      async run(): Promise<void> {
        runs.push(currentLock().tick);
      }
    }
    const decorators: Record<string, MethodDecorator> = {
      cron: Cron(expression, { name: 'nightly', timeZone: 'UTC' }),
      lock: SchedulerLock({ job: 'nightly' }),
      aspect: Aspect(),
    };
    const list = order.split(' ').map((name) => decorators[name] as MethodDecorator);
    decorate(Nightly.prototype, 'run', list);
    const app = await startApp([
      Nightly,
      { provide: Aspects, inject: [Nightly], useFactory: (jobs: object) => new Aspects(jobs) },
    ]);
    await fireAndWait(app, 'nightly');
    expect(runs).toEqual([tick]);
    expect(app.get(Aspects).seen).toEqual(['aspect']);
    expect(acquired(app)).toMatchObject([{ job: 'nightly', tick }]);
  },
);

/** As a class does it: the decorator at the bottom is applied first. */
function decorate(prototype: object, key: string, decorators: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, key) as PropertyDescriptor;
  for (const decorator of decorators.toReversed()) decorator(prototype, key, descriptor);
  Object.defineProperty(prototype, key, descriptor);
}

/** Replaces the method, and carries nothing over. */
function Replaced(): MethodDecorator {
  return (_, __, descriptor: PropertyDescriptor) => {
    const method = descriptor.value as Method;
    descriptor.value = async function (this: object, ...args: unknown[]): Promise<unknown> {
      return Reflect.apply(method, this, args);
    };
  };
}

test('guarded methods that have lost their schedule are named at the start', async () => {
  const { expression } = daily();
  @Injectable()
  class Covered {
    @Replaced()
    @Cron(expression)
    @SchedulerLock()
    async run(): Promise<void> {}

    @Replaced()
    @SchedulerLock()
    @Interval(60_000)
    async often(): Promise<void> {}

    @Cron(expression)
    @Replaced()
    @SchedulerLock()
    async kept(): Promise<void> {}

    @Replaced()
    @SchedulerLock()
    async byHand(): Promise<void> {}
  }
  class Base {
    @Cron(expression)
    @SchedulerLock()
    async run(): Promise<void> {}
  }
  @Injectable()
  class Child extends Base {
    override async run(): Promise<void> {
      await super.run();
    }
  }
  @Injectable()
  class Again extends Base {
    @Cron(expression)
    @SchedulerLock()
    override async run(): Promise<void> {}
  }
  const { logs } = await startApp([Covered, Child, Again]);
  expect(logs.own.filter((line) => line.includes('any more'))).toEqual([
    'warn: Covered.run, Covered.often, Child.run had a schedule, and nothing fires them any more: an override, or a decorator above, has replaced ' +
      'the method that carries it. Put @Cron() on top of the other decorators, and on the override as well.',
  ]);
});
