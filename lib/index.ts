// Module and decorator
export { SchedulerLockModule } from './nest/scheduler-lock.module.js';
export type { SchedulerLockOptionsFactory } from './nest/module-definition.js';
export { SchedulerLock, type SchedulerLockDecorator } from './nest/decorators/scheduler-lock.decorator.js';
export type { OnHeld, QueueOptions, RunOptions, SchedulerLockOptions } from './nest/options/options.js';
export type { InsightOptions, SchedulerLockModuleOptions } from './nest/options/module-options.js';
export type { LockOptions, OnSkip, OnStoreError } from './nest/options/lock-options.js';
export type { Duration } from './base/duration.js';

// Leader election
export { LeaderElection, type LeaderHooks } from './nest/decorators/leader-election.decorator.js';
export type { LeaderElectionOptions, LeaderOptions } from './nest/options/module-options.js';
export { SchedulerLeader } from './nest/scheduler-leader.js';

// Inside a job, and without a decorator
export { assertLocked, currentLock, type Lock } from './lock/current-lock.js';
export type { AcquiredLock } from './lock/current-lock.js';
export type { Around } from './lock/job.js';
export type { QueuedCallFacts, RunResult, Skipped } from './lock/lock-call.js';
export type { PingResult } from './lock/access/ping.js';
export { SchedulerLockService } from './nest/scheduler-lock.service.js';

// Jobs that are made at run time
export type { CronJobOptions, DynamicJob, IntervalJobOptions } from './nest/options/job-options.js';
export type { ScheduledCronJob } from './schedule/scheduler-parts.js';
export { tickOf } from './schedule/cron-ticks.js';

// Events
export { SchedulerLockEvents, type SchedulerLockListener } from './nest/log/scheduler-lock.events.js';
export type { SchedulerLockEvent } from './contract/events/events.js';

// Health
export { type HealthProblem, type LockHealth, SchedulerLockHealth } from './nest/scheduler-lock-health.js';

// Insight
export { SchedulerLockInsight } from './nest/scheduler-lock-insight.js';
export { Insight, type InsightQuery, type InsightReadingOptions } from './insight/insight.js';
export type { TickFinder } from './insight/facts.js';
export type {
  ControlInfo,
  InstanceInfo,
  InstanceState,
  JobStatus,
  JobView,
  PauseInfo,
  RunInfo,
  ScheduleView,
  Unreadable,
  Why,
  WhyCause,
} from './insight/types.js';

// Control
export { SchedulerLockControl } from './nest/scheduler-lock-control.js';
export { Control, type ControlSwitches } from './insight/control/control.js';
export type { ControlOptions } from './insight/control/desk.js';
export type {
  BreakRequest,
  BreakResult,
  By,
  PauseRequest,
  PauseResult,
  RedeliverRequest,
  RedeliverResult,
  ResumeRequest,
  ResumeResult,
  RunNowResult,
  RunRequest,
} from './insight/control/types.js';

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
} from './base/errors.js';

// Stores
export type { LockStore, ReleaseOutcome } from './contract/lock-store.js';
export type { InLine, JobInfo, LockInfo } from './contract/lock-info.js';
export type { DeadLetter } from './contract/queued-call-store.js';
export type { ControlAction, MissReason, Trigger } from './contract/history-store.js';
export type { Pause, PausedBy } from './contract/pause.js';
export { DocumentLockStore, type DocumentLockStoreOptions } from './rules/documents/document-lock-store.js';
export type {
  EntriesRead,
  Entry as LockEntry,
  EntryKey as LockEntryKey,
  EntryQuery as LockEntryQuery,
  EntrySum as LockEntrySum,
  LockEntries,
  NewEntry as NewLockEntry,
  SeenEntry as SeenLockEntry,
  SumQuery as LockEntrySumQuery,
} from './rules/entries/entries.js';
export type {
  Change as DocumentChange,
  DocumentsRead,
  LockDocuments,
  ReadDocument,
  Renewal as DocumentRenewal,
  SeenDocument,
} from './contract/port.js';
export { MemoryLockStore } from './stores/memory/memory-lock.store.js';
export type {
  RedisClient,
  RedisConnectionOptions,
  RedisConnectionSource,
} from './stores/redis/connection-options.js';
export { LOCK_STORE } from './nest/module-definition.js';
export type { Clock, Timer } from './base/clock.js';
