export { SchedulerLockPrometheusModule, type SchedulerLockPrometheusOptions } from './prometheus.module.js';
