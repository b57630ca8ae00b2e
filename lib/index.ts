// Module and decorator
export { SchedulerLockModule } from './nest/scheduler-lock.module.js';
export type { SchedulerLockModuleExtras, SchedulerLockOptionsFactory } from './nest/module-definition.js';
export { SchedulerLock, type SchedulerLockDecorator } from './decorators/scheduler-lock.decorator.js';
export type { OnHeld, QueueOptions, RunOptions, SchedulerLockOptions } from './options/options.js';
export type { InsightOptions, SchedulerLockModuleOptions } from './options/module-options.js';
export type { LockOptions, OnSkip, OnStoreError } from './options/lock-options.js';
export type { Duration } from './duration.js';

// Leader election
export { LeaderElection, type LeaderHooks } from './decorators/leader-election.decorator.js';
export type { LeaderElectionOptions, LeaderOptions } from './options/module-options.js';
export { SchedulerLeader } from './nest/scheduler-leader.js';

// Inside a job, and without a decorator
export { assertLocked, currentLock, type Lock } from './lease/current-lock.js';
export type { AcquiredLock } from './lease/acquired-lock.js';
export type { Around } from './lease/around.js';
export type { QueuedCallFacts, RunResult, Skipped } from './lease/lock-call.js';
export type { PingResult } from './store-access/ping.js';
export { SchedulerLockService } from './nest/scheduler-lock.service.js';

// Jobs that are made at run time
export type { CronJobOptions, DynamicJob, IntervalJobOptions } from './options/job-options.js';
export type { ScheduledCronJob } from './scheduler/scheduler-parts.js';
export { tickOf } from './scheduler/tick-of.js';

// Events
export { SchedulerLockEvents, type SchedulerLockListener } from './events/scheduler-lock.events.js';
export type { SchedulerLockEvent } from './events/events.js';
export type {
  ElectedEvent,
  HookFailedEvent,
  OutageEndedEvent,
  OutageStartedEvent,
  RevokedEvent,
  ShutdownLeftEvent,
  ShutdownWaitingEvent,
  UnfinishedRun,
} from './events/instance-events.js';
export type {
  ControlledEvent,
  DeadLetteredEvent,
  OverdueEvent,
  InterruptedEvent,
  QueuedEvent,
  SkippedEvent,
  WaitingEvent,
} from './events/call-events.js';
export type {
  AcquiredEvent,
  LostEvent,
  HungEvent,
  LockDeletedEvent,
  OverrunEvent,
  ReleasedEvent,
  RenewalFailedEvent,
  RenewedEvent,
  ScheduleMismatchEvent,
  TimeoutEvent,
  UnlockedEvent,
} from './events/lease-events.js';

// Health
export { type HealthProblem, type LockHealth, SchedulerLockHealth } from './nest/scheduler-lock-health.js';

// Insight
export { SchedulerLockInsight } from './nest/scheduler-lock-insight.js';
export { Insight, type InsightQuery, type InsightReadingOptions } from './insight/insight.js';
export type { TickDates, TickFinder } from './insight/facts.js';
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
export { Control } from './control/control.js';
export type { ControlOptions } from './control/desk.js';
export type {
  BreakRequest,
  BreakResult,
  By,
  ControlSwitches,
  NobodyHas,
  PauseRequest,
  PauseResult,
  RedeliverRequest,
  RedeliverResult,
  ResumeRequest,
  ResumeResult,
  RunNowResult,
  RunRequest,
  Target,
} from './control/types.js';

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
  HintChannel,
  ExtendOptions,
  ExtendResult,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseOutcome,
  ReleaseResult,
  WaitRequest,
} from './stores/lock-store.js';
export type { InLine, JobInfo, LockInfo } from './stores/lock-info.js';
export type {
  CallOptions,
  DeadLetter,
  DeliveredCall,
  Enqueued,
  QueuedCallStore,
  LeftCalls,
  NewQueuedCall,
  NextOptions,
  NextResult,
} from './stores/queued-call-store.js';
export type {
  Annotation,
  Beat,
  BeatResult,
  ControlAct,
  ControlAction,
  HistoryEntry,
  HistoryQuery,
  HistoryStore,
  InstanceRecord,
  Interruption,
  Kept,
  KnownJob,
  Miss,
  MissEntry,
  MissReason,
  MissResult,
  RunEntry,
  RunRecord,
  Trigger,
} from './stores/history-store.js';
export type { PausedBy } from './stores/pause.js';
export { DocumentLockStore, type DocumentLockStoreOptions } from './store/document-lock-store.js';
export { RememberingLockStore } from './store/remembering-lock-store.js';
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
} from './store/entries.js';
export type {
  Change as DocumentChange,
  DocumentsRead,
  LockDocuments,
  ReadDocument,
  Renewal as DocumentRenewal,
  Seen as SeenDocument,
} from './store/port.js';
export { MemoryLockStore } from './stores/memory/memory-lock.store.js';
export type {
  RedisClient,
  RedisConnectionOptions,
  RedisConnectionSource,
} from './stores/redis/connection-options.js';
export { LOCK_STORE } from './nest/module-definition.js';
export type { Clock, Timer } from './clock.js';
