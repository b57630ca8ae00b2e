import { newId } from '../base/shared.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  LeaseRef,
  RefusalFacts,
  Writable,
} from '../contract/lock-store.js';
import { readPause } from '../contract/pause.js';
import type { LockCall, Skipped } from './lock-call.js';

/** How far a tick may lie in the future of the store's clock, ms: one machine with a bad clock must not lock the others out. */
const MAX_CLOCK_SKEW = 60_000;

// Set field by field, not by spreads, which are several times as slow: every call takes these paths.

/** What a call asks the store for. */
export function requestOf(
  { name, job, settings, start }: LockCall,
  holder: string,
  { brief, history }: { brief: boolean; history: boolean },
): AcquireRequest {
  const request: Writable<AcquireRequest> = { name, token: newId(), ttl: settings.ttl, holder };
  if (brief) request.brief = true;
  if (history) request.history = true;
  if (job !== undefined) request.job = job;
  if (start === undefined) return request;
  if (start.tick === undefined) {
    if (start.interval !== undefined) request.interval = start.interval;
    return request;
  }
  request.tick = start.tick;
  request.maxClockSkew = MAX_CLOCK_SKEW;
  if (start.schedule !== undefined) request.schedule = start.schedule;
  if (start.rerun !== undefined) request.rerun = start.rerun;
  if (start.only !== undefined) request.only = start.only;
  return request;
}

/**
 * The lease that the store has granted.
 *
 * @param fencingToken 0 for a run without the store
 */
export function leaseRefOf(request: AcquireRequest, fencingToken: number, attempt?: number): LeaseRef {
  const { name, token, ttl, holder, job, tick } = request;
  const ref: Writable<LeaseRef> = { name, token, fencingToken, ttl, holder };
  if (job !== undefined) ref.job = job;
  if (tick !== undefined) ref.tick = tick;
  if (attempt !== undefined || tick !== undefined) ref.attempt = attempt ?? 1;
  return ref;
}

/** Why the store has granted none. */
export function refusalOf({ tick }: AcquireRequest, refusal: AcquireRefusal): Skipped {
  const skipped: Writable<Skipped> = { ran: false, reason: refusal.reason };
  carry(skipped, refusal);
  const paused = refusal.reason === 'held' ? readPause(refusal.holder) : undefined;
  if (paused !== undefined) {
    skipped.reason = 'paused';
    skipped.paused = paused;
  }
  // To tell whose clock is wrong, a person needs the refused tick beside the store's time.
  if (refusal.reason === 'clock-skew' && tick !== undefined) skipped.tick = tick;
  return skipped;
}

/** Adds what is known about a refusal. */
export function carry<T extends RefusalFacts>(to: T, facts: RefusalFacts): T {
  const { holder, expiresIn, tick, finished, storeTime, paused } = facts;
  const target: Writable<RefusalFacts> = to;
  if (holder !== undefined) target.holder = holder;
  if (expiresIn !== undefined) target.expiresIn = expiresIn;
  if (tick !== undefined) target.tick = tick;
  if (finished !== undefined) target.finished = finished;
  if (storeTime !== undefined) target.storeTime = storeTime;
  if (paused !== undefined) target.paused = paused;
  return to;
}
