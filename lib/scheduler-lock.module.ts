import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { SchedulerLockConfigError } from './errors.js';
import { SchedulerLockEvents } from './scheduler-lock.events.js';
import { SchedulerLockExplorer } from './scheduler-lock.explorer.js';
import { SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';
import { SchedulerLeader } from './scheduler-lock.leader.js';
import { SchedulerLockLogger } from './scheduler-lock.logger.js';
import {
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type OPTIONS_TYPE,
} from './scheduler-lock.module-definition.js';
import { checkModuleOptions, type Checked, type ModuleSettings } from './scheduler-lock.options-check.js';
import { SchedulerLockService } from './scheduler-lock.service.js';
import { LOCK_STORE, MODULE_SETTINGS } from './scheduler-lock.tokens.js';
import type { LockStore } from './stores/lock-store.js';
import { MemoryLockStore } from './stores/memory/memory-lock.store.js';
import { RedisConnection } from './stores/redis/redis-connection.js';
import { RedisLockStore } from './stores/redis/redis-lock.store.js';

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
    SchedulerLockLogger,
    SchedulerLockService,
    SchedulerLockInterceptor,
    SchedulerLeader,
    SchedulerLockExplorer,
  ],
  exports: [SchedulerLockService, SchedulerLockEvents, SchedulerLeader],
})
export class SchedulerLockModule extends ConfigurableModuleClass {
  /**
   * @param options see {@link SchedulerLockModuleOptions}; `isGlobal` is true by default
   * @throws SchedulerLockConfigError at once if there are none; when the application starts, for all that is wrong
   */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      throw new SchedulerLockConfigError([
        'forRoot() was called without options. Give at least a `connection`.',
      ]);
    }
    return super.forRoot(options);
  }
}

function createStore({ settings, problems }: Checked<ModuleSettings>): LockStore {
  // Options that do not work are reported together with all others when the module starts: nothing is opened for them.
  if (problems.length > 0) return new MemoryLockStore();
  const { store, connection, key } = settings;
  if (connection !== undefined) return new RedisLockStore(new RedisConnection(connection), { key });
  if (store !== undefined && store !== 'memory') return store;
  if (store === undefined) {
    new Logger('SchedulerLock').warn(
      'No connection was given: leases are kept in the memory of this process, and other instances are not excluded. ' +
        "Give `connection: 'redis://…'`, or `store: 'memory'` to say that this is what you want.",
    );
  }
  return new MemoryLockStore();
}
