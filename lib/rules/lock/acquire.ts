import type { AcquireRefusal, AcquireRequest, AcquireResult } from '../../contract/lock-store.js';
import {
  type Decision,
  expiresIn,
  holderOf,
  isTaken,
  leaseOf,
  type LockDocument,
  lockState,
  nextFencingToken,
  NOTHING,
} from './document.js';
import {
  lastTick,
  refusedInterval,
  refusedTick,
  startedBy,
  startInterval,
  type Starts,
  startTick,
} from './starts.js';

/** Rules 1 and 2: one attempt to take a lock. @param now of the database */
export function acquire(
  document: LockDocument | undefined,
  now: number,
  request: AcquireRequest,
): Decision<AcquireResult> {
  const known = document ?? NOTHING;
  if (isTaken(known, now))
    return isOwn(known, request) ? again(known, now, request) : taken(known, now, request);
  const refusal = refusedStart(known.starts, now, request);
  return refusal === undefined ? grant(known, now, request) : { answer: refusal };
}

/** Whether the lock is held by this very token. A lease that has ended does not count, though its lock may be kept. */
const isOwn = ({ lease, ended, stranger }: LockDocument, { token }: AcquireRequest): boolean =>
  lease?.token === token && ended === undefined && stranger === undefined;

/**
 * Rule 2: the attempt was sent twice: the grant that was recorded. Rule 11: for a call that waits it lives for a whole ttl from now on.
 * Rule 3: nothing shortens it.
 */
function again(
  document: LockDocument,
  now: number,
  { token, job, ttl, wait }: AcquireRequest,
): Decision<AcquireResult> {
  const { attempt } = startedBy(document.starts, { token, job: job ?? '' });
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

/** Rule 4: why the job may not start now; `undefined` if it may. */
function refusedStart(starts: Starts, now: number, request: AcquireRequest): AcquireRefusal | undefined {
  const { tick, interval } = request;
  if (tick !== undefined) return refusedTick(starts, now, { ...request, tick });
  return interval === undefined ? undefined : refusedInterval(starts, now, { ...request, interval });
}

/** Rule 1: the lock is free: a new lease. */
function grant(document: LockDocument, now: number, request: AcquireRequest): Decision<AcquireResult> {
  const fencingToken = nextFencingToken(request.name, document, now);
  const { starts, ...told } = start(document.starts, now, request);
  const interrupted = request.history === true ? interruptionOf(document) : undefined;
  return {
    answer: { acquired: true, fencingToken, ...told, ...(interrupted && { interrupted }) },
    change: {
      kept: { lease: leaseOf({ ...request, fencingToken }), starts, more: document.more ?? {} },
      end: request.ttl,
      begins: true,
    },
  };
}

/** Rule 4: notes the start of the job. */
function start(
  starts: Starts,
  now: number,
  request: AcquireRequest,
): { starts: Starts; attempt?: number; previousSchedule?: string } {
  const { tick, interval } = request;
  if (tick !== undefined) return startTick(starts, { ...request, tick });
  return { starts: interval === undefined ? starts : startInterval(starts, now, { ...request, interval }) };
}

/** Rule 16: the lease before, if that one has ended by itself. */
function interruptionOf({
  lease,
  ended,
  stranger,
  starts,
}: LockDocument): (AcquireResult & { acquired: true })['interrupted'] {
  if (lease === undefined || ended !== undefined || stranger !== undefined) return undefined;
  const { token: _token, ...told } = lease;
  return { ...told, ...startedBy(starts, lease) };
}
