import type { DeadLetteredEvent, SkippedEvent } from '../contract/events/call-events.js';
import type { AcquiredEvent, ReleasedEvent } from '../contract/events/lease-events.js';
import type { JobStart } from '../base/job-start.js';
import { given } from '../base/shared.js';
import { displayName } from '../base/lock-name.js';
import type { AcquireResult, LeaseRef, ReleaseResult, Writable } from '../contract/lock-store.js';
import type { Engine } from './engine.js';
import { type Lease, ofRun } from './lease.js';
import { carry, isBehindTheScenes, type LockCall, type Skipped } from './lock-call.js';
import type { EndOfRun } from './recorder.js';
import type { WaitingCall } from './waits.js';

type Interrupted = NonNullable<Extract<AcquireResult, { acquired: true }>['interrupted']>;

// Those of a run are set field by field: every call takes these paths, and a spread costs several times as much.

export function reportSkipped(
  { instance, clock, emit }: Engine,
  call: LockCall,
  skipped: Skipped,
  holding: readonly string[] = [],
): void {
  if (isExpected(call, skipped)) return;
  const { name, job, start } = call;
  const { reason, error, waited } = skipped;
  const lock = reason === 'invalid-name' ? displayName(name) : name;
  const event: Writable<SkippedEvent> = { type: 'skipped', lock, instance, at: clock.now(), reason };
  if (job !== undefined) event.job = job;
  if (start?.tick !== undefined) event.callTick = start.tick;
  if (error !== undefined) event.error = error;
  if (waited !== undefined) event.waited = waited;
  if (waited !== undefined && holding.length > 0) event.holding = holding;
  emit(carry(event, skipped));
}

/** Whether nothing is reported here: the library itself made the call, or it will be queued, and `Queues` reports that. */
const isExpected = (call: LockCall, skipped: Skipped): boolean =>
  isBehindTheScenes(call) || (call.kind === 'queueable' && isTaken(skipped));

/** Whether a call found its lock taken. A call that a shutdown takes out of line did. */
export const isTaken = ({ reason, waited }: Skipped): boolean =>
  reason === 'held' ||
  reason === 'paused' ||
  reason === 'cooling-down' ||
  (reason === 'shutting-down' && waited !== undefined);

/** A call waits. @param holding the locks that its caller holds @param problem why no hints come */
export function reportWaiting(
  { instance, clock, emit, hears }: Engine,
  { name, job, start, settings: { wait = 0, priority = 0 } }: LockCall,
  { holder, ahead: known }: WaitingCall,
  holding: readonly string[],
  problem?: string,
): void {
  if (!hears('waiting')) return;
  const ahead = Number.isFinite(known) ? known : 0;
  const facts = given({ job, callTick: start?.tick, holder, problem });
  const held = holding.length > 0 && { holding };
  emit({ type: 'waiting', lock: name, instance, at: clock.now(), ahead, wait, priority, ...facts, ...held });
}

export function reportAcquired({ clock, emit, hears }: Engine, lease: Lease): void {
  const { ref, mismatch } = lease;
  if (mismatch === undefined && !hears('acquired')) return;
  const event: Writable<AcquiredEvent> = {
    type: 'acquired',
    lock: ref.name,
    instance: ref.holder,
    at: clock.now(),
    fencingToken: ref.fencingToken,
    expiresIn: lease.expiresIn(lease.startedAt),
  };
  if (lease.waited > 0) event.waited = lease.waited;
  if (mismatch !== undefined) event.mismatch = mismatch;
  emit(ofRun(event, ref));
}

/** Whether the answer to a release says that the lease was held up to its end. */
export const isConfirmed = (answer: ReleaseResult | Error): boolean =>
  !(answer instanceof Error) && answer.released;

/** @param confirmed whether the store has said in time that the lease was held up to its end. @param deleted that the lock was gone */
export function reportReleased(
  { clock, emit, hears }: Engine,
  { ref, report }: Lease,
  { outcome, duration, ended, skippedTicks, retryIn, shortfall }: EndOfRun,
  confirmed: boolean,
  deleted = false,
): void {
  if (!deleted && retryIn === undefined && shortfall === undefined && !hears('released')) return;
  const event: Writable<ReleasedEvent> = {
    type: 'released',
    lock: ref.name,
    instance: ref.holder,
    at: clock.now(),
    fencingToken: ref.fencingToken,
    outcome,
    duration,
    confirmed,
  };
  if ('error' in ended) event.error = ended.error;
  if (skippedTicks > 0) event.skippedTicks = skippedTicks;
  if (retryIn !== undefined) event.retryIn = retryIn;
  if (report !== undefined) event.report = report;
  if (shortfall !== undefined) event.shortfall = shortfall;
  if (deleted) event.deleted = true;
  emit(ofRun(event, ref));
}

/** Reports that a queued call is run no more. @param error what its last run has thrown */
export function reportDead(
  { instance, clock, emit }: Engine,
  { ref }: Lease,
  { job, key, deliveries, reason }: Pick<DeadLetteredEvent, 'job' | 'key' | 'deliveries' | 'reason'>,
  error?: unknown,
): void {
  const at = clock.now();
  const event = { type: 'dead-lettered', lock: ref.name, job, instance, at, deliveries, reason } as const;
  emit({ ...event, ...given({ key, error }) });
}

/** Whether a release has found that the lock was gone, or another holder's, before it could expire. */
export function wasDeleted({ clock }: Engine, lease: Lease, answer: ReleaseResult | Error): boolean {
  if (answer instanceof Error || answer.released || answer.reason === 'ended') return false;
  return lease.lostReason === undefined && lease.expiresIn(clock.monotonic()) > 0;
}

/** Reports that the lease before a granted one has ended by itself. */
export function reportInterrupted(
  { recorder, instance, clock, emit }: Engine,
  lock: string,
  interrupted: Interrupted,
): void {
  const { holder, job, fencingToken, tick, attempt } = interrupted;
  recorder?.noteInterruption(lock, interrupted);
  const run = { instance: holder, fencingToken, ...given({ tick, attempt }) };
  emit({ type: 'interrupted', lock, instance, at: clock.now(), run, ...given({ job }) });
}

/** The schedules of a job about which instances disagree: once for each job. */
export function mismatchOf(
  { mismatched }: Engine,
  { job, name }: LeaseRef,
  { schedule, meant }: JobStart = {},
  previousSchedule: string | undefined,
): AcquiredEvent['mismatch'] {
  if (schedule === undefined || previousSchedule === undefined || mismatched.has(job ?? name))
    return undefined;
  mismatched.add(job ?? name);
  return { schedule, previousSchedule, ...given({ meant }) };
}
