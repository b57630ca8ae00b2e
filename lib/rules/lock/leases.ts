import { NOTHING_RAN } from '../../contract/allowances.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
  ReleaseOptions,
  ReleaseResult,
} from '../../contract/lock-store.js';
import { withoutId } from '../../contract/pause.js';
import {
  type Decision,
  expiresIn,
  FREE,
  holderOf,
  isForgotten,
  isOf,
  isTaken,
  type LockDocument,
  type LockRecord,
  lockState,
  nextFencingToken,
  NOTHING,
  openLease,
  pauseOf,
} from './document.js';
import {
  endStart,
  lastTick,
  noteStart,
  refusedStart,
  startedBy,
  type Starts,
  tickOf,
  withStart,
} from './starts.js';

/** Rules 1, 2 and 19: one attempt to take a lock. @param now of the database */
export function acquire(
  document: LockDocument | undefined,
  now: number,
  request: AcquireRequest,
): Decision<AcquireResult> {
  const known = document ?? NOTHING;
  // A lease that has ended does not count, though its lock may be kept.
  if (isTaken(known, now) && openLease(known)?.token === request.token) return again(known, now, request);
  const pause = request.through === true ? undefined : pauseOf(document, now);
  if (pause !== undefined) {
    const paused = { paused: withoutId(pause), expiresIn: Math.ceil(pause.until - now) };
    return {
      answer: { acquired: false, reason: 'paused', ...paused, ...lastTick(known.starts, request.job) },
    };
  }
  if (isTaken(known, now)) return taken(known, now, request);
  const refusal = refusedStart(known.starts, now, request);
  return refusal === undefined ? grant(known, now, request) : { answer: refusal };
}

/** Rule 2: sent twice: the grant that was recorded. Rule 11: of a call that waits it lives for a ttl from now on. Rule 3: nothing shortens it. */
function again(document: LockDocument, now: number, request: AcquireRequest): Decision<AcquireResult> {
  const { ttl, wait } = request;
  const { attempt } = startedBy(document.starts, request);
  const answer = {
    acquired: true as const,
    fencingToken: document.lease?.fencingToken ?? 0,
    ...(attempt === undefined ? undefined : { attempt }),
  };
  const isLonger = wait !== undefined && document.until < now + ttl;
  return isLonger ? { answer, change: { kept: document, end: ttl } } : { answer };
}

/** Somebody else has the lock. A call that could not start anyway is told so, rather than to wait for the lock. */
function taken(document: LockDocument, now: number, request: AcquireRequest): Decision<AcquireResult> {
  const refusal = request.wait === undefined ? undefined : refusedStart(document.starts, now, request);
  const reason = lockState(document, now) === 'cooling-down' ? 'cooling-down' : 'held';
  const facts = {
    ...holderOf(document),
    ...expiresIn(document, now),
    ...lastTick(document.starts, request.job),
  };
  return { answer: refusal ?? { acquired: false, reason, ...facts } };
}

/** Rule 1: the lock is free: a new lease. */
function grant(document: LockDocument, now: number, request: AcquireRequest): Decision<AcquireResult> {
  const fencingToken = nextFencingToken(request.name, document, now);
  const { starts, ...told } = noteStart(document.starts, now, request);
  const interrupted = request.history === true ? interruptionOf(document) : undefined;
  return {
    answer: { acquired: true, fencingToken, ...told, ...(interrupted && { interrupted }) },
    change: {
      kept: recordOf(document, { ...request, fencingToken }, starts),
      end: request.ttl,
      begins: true,
    },
  };
}

/** Rule 16: the lease before, if that one has ended by itself. */
function interruptionOf(document: LockDocument): (AcquireResult & { acquired: true })['interrupted'] {
  const lease = openLease(document);
  if (lease === undefined) return undefined;
  const { token: _token, ...told } = lease;
  return { ...told, ...startedBy(document.starts, lease) };
}

/** Rule 3: renews a lease, or restores one that the database has forgotten. @param now of the database */
export function extend(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
): Decision<ExtendResult> {
  const end = lease.ttl;
  const known = document ?? NOTHING;
  if (isOf(known, lease)) {
    if (known.ended !== undefined) return { answer: { held: false, reason: 'expired' } };
    return { answer: isTaken(known, now) ? LIVE : RESTORED, change: { kept: known, end } };
  }
  if (isForgotten(document, lease)) {
    // Over nothing, or over an older lease.
    const kept = recordOf(known, lease, restoredStart(known.starts, lease));
    return { answer: RESTORED, change: { kept, end, begins: true } };
  }
  if (!isTaken(known, now)) return { answer: { held: false, reason: 'expired' } };
  return { answer: { held: false, reason: 'taken', ...holderOf(known) } };
}

const LIVE: ExtendResult = { held: true };
const RESTORED: ExtendResult = { held: true, restored: true };

/** Rule 3: the tick comes back with its lease, unless a newer one of the job is known. */
function restoredStart(starts: Starts, lease: LeaseRef): Starts {
  const { job, tick, attempt = 1 } = lease;
  if (tick === undefined) return starts;
  const last = tickOf(starts, job);
  const isNewer = last !== undefined && (last.tick > tick || (last.tick === tick && last.attempt > attempt));
  return isNewer ? starts : withStart(starts, lease, { tick, attempt, schedule: '' });
}

/** Rule 15: the holder of a live lease goes on with a queued call, by another lease of its token. Answers its fencing token, if there is one. */
export function regrant(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
  { job, ttl, through }: { readonly job: string; readonly ttl: number; readonly through: boolean },
): Decision<number | undefined> {
  const known = document ?? NOTHING;
  const open = isOf(known, lease) && isTaken(known, now) ? openLease(known) : undefined;
  if (open === undefined || (!through && pauseOf(known, now) !== undefined)) return { answer: undefined };
  const fencingToken = nextFencingToken(lease.name, known, now);
  const kept = { ...known, lease: { ...open, job, fencingToken } };
  return { answer: fencingToken, change: { kept, end: ttl } };
}

/** Rule 3: releases a lease, and records it as ended. @param now of the database */
export function release(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
  options: ReleaseOptions = {},
): Decision<ReleaseResult> {
  if (document === undefined || !isOf(document, lease)) return notOwn(document, now, lease, options);
  if (document.ended !== undefined) return { answer: { released: false, reason: 'ended' } };
  const { outcome = 'completed', keepFor = 0, retryIn } = options;
  const retryAt = retryIn === undefined ? undefined : Math.trunc(now) + retryIn;
  const starts = endStart(document.starts, lease, outcome, retryAt);
  const kept = { ...document, ended: outcome, starts };
  // One that has run out is recorded as well, or `extend` would restore it.
  if (!isTaken(document, now))
    return { answer: { released: false, reason: 'expired' }, change: { kept, end: FREE } };
  return { answer: { released: true }, change: { kept, end: keepFor > 0 ? keepFor : FREE } };
}

/** The document is not of this lease. */
function notOwn(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
  { outcome = 'completed' }: ReleaseOptions,
): Decision<ReleaseResult> {
  const known = document ?? NOTHING;
  // Rule 4: nothing ran under it, even if another one had the lock since.
  const starts = outcome === NOTHING_RAN ? endStart(known.starts, lease, outcome) : known.starts;
  // Its end is recorded where it was forgotten, and frees the lock if an older one has it. Not so for a grant that was never answered
  // (0): it can never be restored, and its end could hide a live lease.
  if (lease.fencingToken > 0 && isForgotten(document, lease)) {
    const kept = { ...recordOf(known, lease, starts), ended: outcome };
    return { answer: { released: false, reason: 'expired' }, change: { kept, end: FREE, begins: true } };
  }
  const answer = { released: false, reason: isTaken(known, now) ? 'taken' : 'expired' } as const;
  return starts === known.starts ? { answer } : { answer, change: { kept: { ...known, starts } } };
}

/** What is kept of a lock whose newest lease is this one. */
function recordOf({ more = {} }: LockRecord, lease: LeaseRef, starts: Starts): LockRecord {
  const { token, holder, fencingToken, job } = lease;
  const kept = { token, holder, fencingToken, ...(job !== undefined && { job }) };
  return { lease: kept, starts, more };
}
