import type { InterruptedEvent, SkippedEvent } from '../contract/events/call-events.js';
import type { AcquiredEvent, ReleasedEvent } from '../contract/events/lease-events.js';
import type { JobStart } from '../base/job-start.js';
import { displayName } from '../base/lock-name.js';
import type { AcquireResult, LeaseRef, ReleaseResult, Writable } from '../contract/lock-store.js';
import type { Engine } from './engine.js';
import { type Lease, ofRun } from './lease.js';
import { carry, isBehindTheScenes, type LockCall, type Skipped } from './lock-call.js';
import type { EndOfRun } from './recorder.js';

export type Interrupted = NonNullable<Extract<AcquireResult, { acquired: true }>['interrupted']>;

// Each event is one object, set field by field: every call takes these paths, and a spread costs several times as much.

/** A call did not run its job. */
export function reportSkipped(
  { instance, clock, emit }: Engine,
  call: LockCall,
  skipped: Skipped,
  holding?: readonly string[],
): void {
  if (isExpected(call, skipped)) return;
  const { name, job, start } = call;
  const { reason, error } = skipped;
  const lock = reason === 'invalid-name' ? displayName(name) : name;
  const event: Writable<SkippedEvent> = { type: 'skipped', lock, instance, at: clock.now(), reason };
  if (job !== undefined) event.job = job;
  if (start?.tick !== undefined) event.callTick = start.tick;
  if (error !== undefined) event.error = error;
  if (skipped.waited !== undefined) event.waited = skipped.waited;
  if (skipped.waited !== undefined && holding !== undefined && holding.length > 0) event.holding = holding;
  emit(carry(event, skipped));
}

/** Whether no job was skipped: the library itself made the call, or the call is queued. */
const isExpected = (call: LockCall, skipped: Skipped): boolean =>
  isBehindTheScenes(call) || (call.kind === 'queueable' && isTaken(skipped));

/** Whether a call found its lock taken. A call that a shutdown takes out of line did. */
export const isTaken = ({ reason, waited }: Skipped): boolean =>
  reason === 'held' ||
  reason === 'paused' ||
  reason === 'cooling-down' ||
  (reason === 'shutting-down' && waited !== undefined);

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
  { ref }: Lease,
  { outcome, duration, ended, skippedTicks }: EndOfRun,
  confirmed: boolean,
  deleted = false,
): void {
  if (!deleted && !hears('released')) return;
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
  if (deleted) event.deleted = true;
  emit(ofRun(event, ref));
}

/** Whether a release has found that the lock was gone, or another holder's, before it could expire. */
export function wasDeleted({ clock }: Engine, lease: Lease, answer: ReleaseResult | Error): boolean {
  if (answer instanceof Error || answer.released || answer.reason === 'ended') return false;
  return lease.lostReason === undefined && lease.expiresIn(clock.monotonic()) > 0;
}

/** Reports that the lease before a granted one has ended by itself. */
export function reportInterrupted(
  { instance, clock, emit }: Engine,
  lock: string,
  { holder, job, fencingToken, tick, attempt }: Interrupted,
): void {
  const run: Writable<InterruptedEvent['run']> = { instance: holder, fencingToken };
  if (tick !== undefined) run.tick = tick;
  if (attempt !== undefined) run.attempt = attempt;
  const event: Writable<InterruptedEvent> = { type: 'interrupted', lock, instance, at: clock.now(), run };
  if (job !== undefined) event.job = job;
  emit(event);
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
  return { schedule, previousSchedule, ...(meant && { meant }) };
}
