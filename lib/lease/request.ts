import { v4 as uuid } from 'uuid';
import type { AcquireRefusal, AcquireRequest, LeaseRef } from '../stores/lock-store.js';
import type { LockCall, Skipped } from './lock-call.js';
import type { Writable } from './writable.js';

// Set field by field, not by spreads, which are several times as slow: every call takes these paths.

/** What a call asks the store for. */
export function requestOf({ name, job, settings, start }: LockCall, holder: string): AcquireRequest {
  const request: Writable<AcquireRequest> = { name, token: uuid(), ttl: settings.ttl, holder };
  if (job !== undefined) request.job = job;
  if (start === undefined) return request;
  if (start.tick === undefined) {
    if (start.interval !== undefined) request.interval = start.interval;
    return request;
  }
  request.tick = start.tick;
  if (start.maxClockSkew !== undefined) request.maxClockSkew = start.maxClockSkew;
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
export function refusalOf(request: AcquireRequest, result: AcquireRefusal): Skipped {
  const { reason, holder, expiresIn, finished, storeTime } = result;
  const skipped: Writable<Skipped> = { ran: false, reason };
  if (holder !== undefined) skipped.holder = holder;
  if (expiresIn !== undefined) skipped.expiresIn = expiresIn;
  // To tell whose clock is wrong, a person needs the refused tick beside the store's time.
  const tick = reason === 'clock-skew' ? request.tick : result.tick;
  if (tick !== undefined) skipped.tick = tick;
  if (finished !== undefined) skipped.finished = finished;
  if (storeTime !== undefined) skipped.storeTime = storeTime;
  return skipped;
}
