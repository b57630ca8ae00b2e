/*
 * lib/contract/events: what the library reports: the types of events. An event is a fact that has happened.
 * May not enter: decisions, and the code that sends events or listens to them.
 */
import type {
  AcquiredEvent,
  ScheduleMismatchEvent,
  RenewedEvent,
  LockDeletedEvent,
  RenewalFailedEvent,
  ReleasedEvent,
  LostEvent,
  TimeoutEvent,
  OverrunEvent,
  UnlockedEvent,
  HungEvent,
} from './lease-events.js';
import type {
  WaitingEvent,
  SkippedEvent,
  QueuedEvent,
  DeadLetteredEvent,
  InterruptedEvent,
  OverdueEvent,
  ControlledEvent,
} from './call-events.js';
import type {
  OutageStartedEvent,
  OutageEndedEvent,
  ShutdownWaitingEvent,
  ShutdownLeftEvent,
  ElectedEvent,
  RevokedEvent,
  HookFailedEvent,
} from './instance-events.js';

type AnyEvent =
  | AcquiredEvent
  | WaitingEvent
  | SkippedEvent
  | QueuedEvent
  | DeadLetteredEvent
  | ScheduleMismatchEvent
  | InterruptedEvent
  | LockDeletedEvent
  | RenewedEvent
  | RenewalFailedEvent
  | ReleasedEvent
  | LostEvent
  | TimeoutEvent
  | OverrunEvent
  | UnlockedEvent
  | OverdueEvent
  | HungEvent
  | ElectedEvent
  | RevokedEvent
  | HookFailedEvent
  | ControlledEvent
  | ShutdownWaitingEvent
  | ShutdownLeftEvent
  | OutageStartedEvent
  | OutageEndedEvent;

type EventsByType = { [Event in AnyEvent as Event['type']]: Event };

/** Every event, told apart by `type`. `SchedulerLockEvent<'overdue'>` is the one of that type. */
export type SchedulerLockEvent<Type extends keyof EventsByType = keyof EventsByType> = EventsByType[Type];

/** Sends an event to all listeners. Never throws. */
export type Emit = (event: SchedulerLockEvent) => void;

/** What listeners may want: events of a type, or, in `skipped`, the facts about the lease that is in the way. */
export type Wanted = SchedulerLockEvent['type'] | 'refusal';

/** Whether a listener wants this: what nobody wants would add to the cost of each run. */
export type Hears = (wanted: Wanted) => boolean;
