/*
 * lib/show/otel: the entry for OpenTelemetry: what lib/show/metrics measures, and a span for each run.
 * May not enter: instruments or names of its own, and what the main entry loads.
 */
export { SchedulerLockOtelModule, type SchedulerLockOtelOptions } from './otel.module.js';
