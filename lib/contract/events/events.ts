/*
 * lib/contract/events: what the library reports: the types of events. An event is a fact that has happened.
 * May not enter: decisions, and the code that sends events or listens to them.
 */
import type * as calls from './call-events.js';
import type * as instances from './instance-events.js';
import type * as leases from './lease-events.js';

type AnyEvent =
  | leases.AcquiredEvent
  | leases.RenewedEvent
  | leases.RenewalFailedEvent
  | leases.ReleasedEvent
  | leases.LostEvent
  | leases.TimeoutEvent
  | leases.OverrunEvent
  | leases.UnlockedEvent
  | leases.HungEvent
  | calls.WaitingEvent
  | calls.SkippedEvent
  | calls.DeadLetteredEvent
  | calls.InterruptedEvent
  | calls.OverdueEvent
  | calls.ControlledEvent
  | instances.OutageStartedEvent
  | instances.OutageEndedEvent
  | instances.ShutdownWaitingEvent
  | instances.ShutdownLeftEvent
  | instances.ElectedEvent
  | instances.RevokedEvent
  | instances.HookFailedEvent;

type EventsByType = { [Event in AnyEvent as Event['type']]: Event };

/** Every event, told apart by `type`, and some by `phase` as well. `SchedulerLockEvent<'overdue'>` is the one of that type. */
export type SchedulerLockEvent<Type extends keyof EventsByType = keyof EventsByType> = EventsByType[Type];

/** Sends an event to all listeners. Never throws. */
export type Emit = (event: SchedulerLockEvent) => void;

/** What listeners may want: events of a type, or, in `skipped`, the facts about the lease that is in the way. */
export type Wanted = SchedulerLockEvent['type'] | 'refusal';

/** Whether a listener wants this: what nobody wants would add to the cost of each run. */
export type Hears = (wanted: Wanted) => boolean;
