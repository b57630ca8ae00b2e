import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { SchedulerLockModuleOptions } from './options/module-options.js';
import { sharedSymbol } from '../base/shared.js';

/** Injection token of the checked module options. */
export const MODULE_SETTINGS = sharedSymbol('module settings');

/** Injection token of the store, made by the module or given to it. */
export const LOCK_STORE = sharedSymbol('store');

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface SchedulerLockOptionsFactory {
  createSchedulerLockOptions(): SchedulerLockModuleOptions | Promise<SchedulerLockModuleOptions>;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SchedulerLockModuleOptions>({
    moduleName: 'SchedulerLock',
    // Nest shows this name if the module is imported without options.
    optionsInjectionToken: Symbol('options of SchedulerLockModule.forRoot() or forRootAsync()'),
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createSchedulerLockOptions')
    .setExtras({}, (definition) => ({ ...definition, global: true }))
    .build();
