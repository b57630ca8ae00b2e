/*
 * lib/show/prometheus: the entry for prom-client: what lib/show/metrics measures.
 * May not enter: instruments of its own, and what the main entry loads.
 */
export { SchedulerLockPrometheusModule, type SchedulerLockPrometheusOptions } from './prometheus.module.js';
