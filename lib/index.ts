// Module and decorator
export { SchedulerLockModule } from './scheduler-lock.module.js';
export type {
  SchedulerLockModuleExtras,
  SchedulerLockOptionsFactory,
} from './scheduler-lock.module-definition.js';
export { SchedulerLock, type SchedulerLockDecorator } from './scheduler-lock.decorator.js';
export type {
  LockOptions,
  OnSkip,
  OnStoreError,
  RunOptions,
  SchedulerLockModuleOptions,
  SchedulerLockOptions,
} from './scheduler-lock.options.js';
export type { Duration } from './duration.js';

// Leader election
export {
  LeaderElection,
  type LeaderElectionOptions,
  type LeaderHooks,
  type LeaderOptions,
} from './scheduler-lock.leader-election.js';
export { SchedulerLeader } from './scheduler-lock.leader.js';

// Inside a job, and without a decorator
export { assertLocked, currentLock, type Lock } from './lease/current-lock.js';
export type { AcquiredLock } from './lease/acquired-lock.js';
export type { RunResult, Skipped } from './lease/lock-call.js';
export type { PingResult } from './lease/ping.js';
export { SchedulerLockService } from './scheduler-lock.service.js';

// Jobs that are made at run time
export type {
  CronJobOptions,
  DynamicJob,
  IntervalJobOptions,
  ScheduledCronJob,
} from './scheduler-lock.job-options.js';
export { tickOf } from './schedule/tick-of.js';

// Events
export { SchedulerLockEvents, type SchedulerLockListener } from './scheduler-lock.events.js';
export type {
  AcquiredEvent,
  ElectedEvent,
  HookFailedEvent,
  LostEvent,
  OutageEndedEvent,
  OutageStartedEvent,
  OverrunEvent,
  ReleasedEvent,
  RenewalFailedEvent,
  RenewedEvent,
  RevokedEvent,
  ScheduleMismatchEvent,
  SchedulerLockEvent,
  ShutdownLeftEvent,
  ShutdownWaitingEvent,
  SkippedEvent,
  TimeoutEvent,
  UnfinishedRun,
  UnlockedEvent,
} from './lease/events.js';

// Errors
export {
  LockLostError,
  LockNotAcquiredError,
  LockNotBoundError,
  LockNotHeldError,
  LockResignedError,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  type LostReason,
  type RevokedReason,
  SchedulerLockConfigError,
  SchedulerLockError,
  type SkipReason,
  StoreUnavailableError,
} from './errors.js';

// Stores
export type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  ExtendOptions,
  ExtendResult,
  JobInfo,
  LeaseRef,
  LockInfo,
  LockStore,
  ReleaseOptions,
  ReleaseOutcome,
  ReleaseResult,
} from './stores/lock-store.js';
export { MemoryLockStore } from './stores/memory/memory-lock.store.js';
export type {
  RedisClient,
  RedisConnectionOptions,
  RedisConnectionSource,
} from './stores/redis/connection-options.js';
export { LOCK_STORE } from './scheduler-lock.tokens.js';
export type { Clock, Timer } from './clock.js';
