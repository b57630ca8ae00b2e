/*
 * lib/nest: ties all rooms together: the module, the providers that users inject, the explorer that binds methods, the start and the
 * shutdown.
 * May not enter: rules. The one room, with the log, that imports @nestjs/*; it never imports @nestjs/schedule.
 */
import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { SchedulerLockConfigError } from '../base/errors.js';
import { logError } from './log/log-phrases.js';
import { LogListener } from './log/log.listener.js';
import { SchedulerLockEvents } from './log/scheduler-lock.events.js';
import { checkModuleOptions, type Checked, type ModuleSettings } from './options/check.js';
import type { LockStore } from '../contract/lock-store.js';
import { MemoryLockStore } from '../stores/memory/memory-lock.store.js';
import { RedisLockStore } from '../stores/redis/redis-lock.store.js';
import { MissedTicks } from '../schedule/ticks/missed-ticks.js';
import { forAllCopies } from './all-copies.js';
import { DynamicJobs } from './dynamic-jobs.js';
import { JobRegistry } from './job-registry.js';
import { InsightHost } from './insight-host.js';
import { LeaderJobs } from './leader-jobs.js';
import { LockHost } from './lock-host.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  LOCK_STORE,
  MODULE_OPTIONS_TOKEN,
  MODULE_SETTINGS,
  type OPTIONS_TYPE,
} from './module-definition.js';
import { SchedulerLeader } from './scheduler-leader.js';
import { SchedulerLockControl } from './scheduler-lock-control.js';
import { SchedulerLockExplorer } from './scheduler-lock.explorer.js';
import { SchedulerLockHealth } from './scheduler-lock-health.js';
import { SchedulerLockInsight } from './scheduler-lock-insight.js';
import { SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';
import { SchedulerLockService } from './scheduler-lock.service.js';

/**
 * Import it once, in the root module: `SchedulerLockModule.forRoot({ connection: 'redis://…', ttl: '10m' })`, or
 * `forRootAsync()` with `useFactory`, `useClass` or `useExisting`. It is global.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: MODULE_SETTINGS,
      useFactory: (given: unknown) => checkModuleOptions(given),
      inject: [MODULE_OPTIONS_TOKEN],
    },
    { provide: LOCK_STORE, useFactory: createStore, inject: [MODULE_SETTINGS] },
    SchedulerLockEvents,
    {
      provide: LogListener,
      useFactory: (events: SchedulerLockEvents, { settings }: Checked<ModuleSettings>) =>
        new LogListener(events, settings.log),
      inject: [SchedulerLockEvents, MODULE_SETTINGS],
    },
    LockHost,
    JobRegistry,
    {
      provide: MissedTicks,
      useFactory: ({ settings: { clock } }: LockHost) =>
        new MissedTicks(clock, (error) => logError(() => error)),
      inject: [LockHost],
    },
    InsightHost,
    SchedulerLockInterceptor,
    LeaderJobs,
    DynamicJobs,
    SchedulerLockExplorer,
    SchedulerLockService,
    SchedulerLockInsight,
    SchedulerLockControl,
    SchedulerLeader,
    SchedulerLockHealth,
  ],
  exports: [
    SchedulerLockService,
    SchedulerLockEvents,
    SchedulerLockInsight,
    SchedulerLockControl,
    SchedulerLockHealth,
    SchedulerLeader,
  ],
})
export class SchedulerLockModule extends ConfigurableModuleClass {
  /**
   * @param options see {@link SchedulerLockModuleOptions}
   * @throws SchedulerLockConfigError at once if there are no options; when the application starts, with every problem of
   *   the options
   */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      throw new SchedulerLockConfigError([
        'forRoot() was called without options. Give at least a `connection`.',
      ]);
    }
    return forAllCopies(super.forRoot(options));
  }

  /**
   * @param options `useFactory` (and `inject`), `useClass` or `useExisting`; `imports`
   * @throws SchedulerLockConfigError at once if none of the three is given; when the application starts, with every
   *   problem of the resulting options
   */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    const { useFactory, useClass, useExisting } = Object(options) as Partial<typeof ASYNC_OPTIONS_TYPE>;
    if ([useFactory, useClass, useExisting].every((source) => !source)) {
      throw new SchedulerLockConfigError([
        'forRootAsync() was given nothing that makes the options. Give `useFactory`, such as ' +
          '{ inject: [ConfigService], useFactory: (config) => ({ connection: config.getOrThrow("REDIS_URL") }) }, or `useClass` or `useExisting`.',
      ]);
    }
    return forAllCopies(super.forRootAsync(options));
  }
}

/** `connection`, `key` and `keyPrefix` are short for a store. */
function createStore({ settings: { given, clock }, problems }: Checked<ModuleSettings>): LockStore {
  // Opens nothing for options that do not work: the module reports them with all other problems when it starts.
  if (problems.length > 0) return new MemoryLockStore();
  const { connection, store, key, keyPrefix } = given;
  if (connection !== undefined) return new RedisLockStore(connection, { key, keyPrefix });
  if (store !== undefined && store !== 'memory') return store;
  if (store === undefined) {
    new Logger('SchedulerLock').warn(
      'No connection was given: leases are kept in the memory of this process, and other instances are not excluded. ' +
        "Give `connection: 'redis://…'`, or `store: 'memory'` to say that this is what you want.",
    );
  }
  return new MemoryLockStore({ clock });
}
