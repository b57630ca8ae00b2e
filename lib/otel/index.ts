export { SchedulerLockOtelModule, type SchedulerLockOtelOptions } from './otel.module.js';
