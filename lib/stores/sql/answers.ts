import { LockStateError, StoreUnavailableError } from '../../errors.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
  ReleaseResult,
} from '../lock-store.js';
import { holdingOf, lockedBy } from './holding.js';

/**
 * What a statement tells of the row of a lock, as it was when the statement began. Drivers differ in the types that
 * they make of numbers, so these are read with `Number()`.
 */
export interface SeenRow {
  /** `locked_by`, `null` if there is no row. */
  readonly by: string | null;
  /** Milliseconds until `lock_until`, not rounded; 0 or less: free. `Infinity` for a lock that somebody set for good. */
  readonly remaining: unknown;
}

/** What an attempt answers. */
export interface AttemptRow extends SeenRow {
  /** The fencing token if the lock was granted now, otherwise `null`. */
  readonly granted: unknown;
  readonly attempt: unknown;
  /** Schedule of the job's start before this one. */
  readonly previous: unknown;
  /** The fencing token in the row. */
  readonly recorded: unknown;
  /** What the row has of the job's last start. */
  readonly tick: unknown;
  readonly outcome: unknown;
  readonly attempts: unknown;
  /** Milliseconds until the interval has passed. */
  readonly wait: unknown;
  /** Whether the tick lies too far in the future. */
  readonly ahead: unknown;
  /** The database's time, epoch milliseconds. */
  readonly now: unknown;
  /** Whether the job may start now. */
  readonly startable: unknown;
}

/** Of a row that nothing is known of: what is not granted has to be asked again. */
export const NOTHING_SEEN: AttemptRow = {
  granted: null,
  attempt: null,
  previous: null,
  by: null,
  remaining: null,
  recorded: null,
  tick: null,
  outcome: null,
  attempts: null,
  wait: null,
  ahead: 0,
  now: null,
  startable: 1,
};

/** The row changed while the statement was looking at it, so its answer explains nothing: ask again. */
export const AGAIN = Symbol('ask again');

/** Reads what came of an attempt. */
export function readAttempt(request: AcquireRequest, row: AttemptRow): AcquireResult | typeof AGAIN {
  if (row.granted !== null) return grant(request, row.granted, row.attempt, row.previous);
  const remaining = Number(row.remaining ?? 0);
  if (row.by !== null && remaining > 0) {
    // Sent twice, over a connection that broke in between.
    if (row.by === lockedBy(request)) return grant(request, row.recorded, row.attempts, null);
    const { holder, outcome } = holdingOf(row.by);
    return {
      acquired: false,
      reason: outcome === undefined ? 'held' : 'cooling-down',
      holder,
      ...expiry(remaining),
      ...lastStart(row),
    };
  }
  const { tick } = request;
  if (isTrue(row.ahead)) return { acquired: false, reason: 'clock-skew', storeTime: Number(row.now) };
  if (isTrue(row.startable)) {
    if (Number(row.recorded ?? 0) >= Number.MAX_SAFE_INTEGER) {
      throw new LockStateError(
        request.name,
        `its fencing token ${String(row.recorded)} in the database leaves no room for a greater one. Correct the column fencing_token.`,
      );
    }
    return AGAIN;
  }
  const refusal = { acquired: false, reason: 'already-ran' } as const;
  if (tick === undefined) return { ...refusal, ...expiry(Number(row.wait)) };
  // What `only` refuses has never started.
  return row.tick !== null && Number(row.tick) >= tick ? { ...refusal, ...lastStart(row) } : refusal;
}

/** Reads what came of a renewal that changed nothing. */
export function readMissedRenewal(lease: LeaseRef, { by, remaining }: SeenRow): ExtendResult | typeof AGAIN {
  const live = Number(remaining ?? 0) > 0;
  if (by === null || !live) return { held: false, reason: 'expired' };
  if (by === lockedBy(lease)) return AGAIN;
  if (by.startsWith(`${lockedBy(lease)}/`)) return { held: false, reason: 'expired' };
  return { held: false, reason: 'taken', holder: holdingOf(by).holder };
}

/** Reads what came of a release that changed nothing. */
export function readMissedRelease(lease: LeaseRef, { by, remaining }: SeenRow): ReleaseResult | typeof AGAIN {
  if (by === lockedBy(lease)) return AGAIN;
  if (by?.startsWith(`${lockedBy(lease)}/`)) return { released: false, reason: 'ended' };
  return { released: false, reason: by !== null && Number(remaining ?? 0) > 0 ? 'taken' : 'expired' };
}

/** Drivers make booleans of numbers, and the other way round. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === 1n || value === '1' || value === 't';
}

function grant(request: AcquireRequest, token: unknown, attempt: unknown, previous: unknown): AcquireResult {
  const granted = { acquired: true, fencingToken: Number(token) } as const;
  if (request.tick === undefined) return granted;
  const started = { ...granted, attempt: Number(attempt ?? 1) };
  const differs = typeof previous === 'string' && previous !== '' && previous !== (request.schedule ?? '');
  return differs ? { ...started, previousSchedule: previous } : started;
}

function lastStart({ tick, outcome }: AttemptRow): Pick<AcquireRefusal, 'tick' | 'finished'> {
  if (tick === null) return {};
  return { tick: Number(tick), finished: outcome !== null && outcome !== 'aborted' };
}

/** Rounded down: the answer has been on its way since. */
function expiry(remaining: number): { expiresIn?: number } {
  return Number.isFinite(remaining) ? { expiresIn: Math.max(0, Math.floor(remaining)) } : {};
}

/** What is told of a row that changed at each of so many tries. */
export function unsettled(tries: number): StoreUnavailableError {
  return new StoreUnavailableError(
    `The row changed ${tries} times while the database was asked about it, so nothing was changed.`,
    { outcome: 'not-applied' },
  );
}
