import { LockStateError, StoreUnavailableError } from '../../errors.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
  ReleaseResult,
} from '../lock-store.js';
import { INTERVAL_ALLOWANCE, INTERVAL_ROUNDING, isInterrupted, lastStart } from '../rules.js';
import { interruptedIn, type LastLease } from './interruption.js';
import type { LockRow, Start } from './lock-row.js';
import { isOurs, lockedBy, NOBODY, readLockedBy } from './locked-by.js';

/**
 * What a statement reports of the row of a lock, as of the beginning of the statement. Drivers represent numbers by different types,
 * so `Number()` reads them.
 */
export interface SeenLock {
  /** `locked_by`, `null` if there is no row. */
  readonly by: string | null;
  /** Milliseconds until `lock_until`, not rounded; 0 or less: free. `Infinity` for a lock that was set without an end. */
  readonly remaining: unknown;
  /** The fencing token in the row, `null` if it has none. */
  readonly recorded: unknown;
}

/** There is no row. */
export const NO_ROW: SeenLock = { by: null, remaining: null, recorded: null };

/** The answer to an attempt. */
export interface AttemptAnswer extends SeenLock {
  /** The fencing token if the lock was granted now, otherwise `null`. */
  readonly granted: unknown;
  readonly attempt: unknown;
  /** Schedule of the job's start before this one. */
  readonly previous: unknown;
  /** The job's last start, as the row has it. */
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
  /** The line of calls that wait, if there is one. */
  readonly line: unknown;
  /** With a grant for a request with a history: the lease before, if it was not released. */
  readonly last?: LastLease | undefined;
}

/** The answer if nothing is known of the row. An attempt without a grant then has to ask again. */
export const NOTHING_SEEN: AttemptAnswer = {
  granted: null,
  attempt: null,
  previous: null,
  ...NO_ROW,
  tick: null,
  outcome: null,
  attempts: null,
  wait: null,
  ahead: 0,
  now: null,
  startable: 1,
  line: null,
};

/** The row changed during the statement, so the answer explains nothing: ask again. */
export const AGAIN = Symbol('ask again');

/** The answer to a renewal: `true`; what the row says, for a lease that was not renewed; {@link AGAIN} if the row cannot be read. */
export type Renewed = true | SeenLock | typeof AGAIN;

/** Interprets the answer to an attempt. */
export function readAttempt(request: AcquireRequest, row: AttemptAnswer): AcquireResult | typeof AGAIN {
  if (row.granted !== null) {
    const granted = grant(request, row.granted, row.attempt, row.previous);
    return row.last === undefined ? granted : { ...granted, ...interruptedIn(row.last) };
  }
  if (row.by !== null && Number(row.remaining ?? 0) > 0) return taken(request, row, row.by);
  const { tick } = request;
  if (isTrue(row.ahead)) return { acquired: false, reason: 'clock-skew', storeTime: Number(row.now) };
  if (isTrue(row.startable)) {
    if (!hasRoom(row.recorded)) {
      throw new LockStateError(
        request.name,
        `its fencing token ${String(row.recorded)} in the database leaves no room for a greater one. Correct the column fencing_token.`,
      );
    }
    return AGAIN;
  }
  const refusal = { acquired: false, reason: 'already-ran' } as const;
  if (tick === undefined) return { ...refusal, ...expiry(Number(row.wait)) };
  // A tick that `only` refuses has never started.
  return row.tick !== null && Number(row.tick) >= tick ? { ...refusal, ...lastStartOf(row) } : refusal;
}

/** Whether an attempt that does not wait was refused only because calls stand in line. */
export function isPassedOver(request: AcquireRequest, row: AttemptAnswer): boolean {
  return request.wait === undefined && row.granted === null && hasLine(row) && mayTake(row);
}

/** Whether calls stand in line. */
export const hasLine = ({ line }: AttemptAnswer): boolean => (line ?? null) !== null;

/**
 * Judges an attempt by the row of its lock, which was only read. Returns the refusal; `undefined` if the attempt may succeed, or if only
 * the statement of the attempt can tell. The rules: see stores/rules.ts.
 */
export function refusalByRow(request: AcquireRequest, row: LockRow): AcquireRefusal | undefined {
  // No holder is known.
  if ((row.by as string | null) === null) return undefined;
  const found = isFree(row) ? refusedStart(request, row) : readTaken(request, row);
  // The statement of the attempt knows the time better.
  return found?.acquired === false && found.reason !== 'clock-skew' ? found : undefined;
}

/** Whether the lock of a row that was read is free. */
export const isFree = ({ remaining }: LockRow): boolean => !(Number(remaining) > 0);

/** Why the job of an attempt may not start now, by a row that was only read. The rules: see stores/rules.ts. */
export function refusedStart(request: AcquireRequest, row: LockRow): AcquireRefusal | undefined {
  const { tick, interval } = request;
  const last = row.jobs[request.job ?? ''] ?? {};
  const now = Number(row.now);
  if (tick !== undefined) return refusedTick({ ...request, tick }, last, now);
  const wait = interval === undefined ? 0 : waitOf(interval, last, now);
  return wait > 0 ? { acquired: false, reason: 'already-ran', ...expiry(wait) } : undefined;
}

function refusedTick(
  { tick, maxClockSkew = Infinity, rerun = 0, only }: AcquireRequest & { readonly tick: number },
  last: Start,
  now: number,
): AcquireRefusal | undefined {
  if (tick > now + maxClockSkew) return { acquired: false, reason: 'clock-skew', storeTime: now };
  const refusal = { acquired: false, reason: 'already-ran' } as const;
  const started = Number(last['tick'] ?? NaN);
  const mayRerun = isInterrupted(last['outcome']) && Number(last['attempt']) <= rerun;
  if (started === tick && mayRerun) return undefined;
  if (started >= tick) return { ...refusal, ...lastStart(started, last['outcome']) };
  // A tick that `only` refuses has never started.
  const isKnown = !Number.isNaN(started);
  return only === undefined || (only === 'known' && isKnown) ? undefined : refusal;
}

/** Milliseconds until an interval has passed; 0 or less: it may start. @param now of the database */
function waitOf(interval: number, last: Start, now: number): number {
  const due = Number(last['due'] ?? NaN) - Number(last['interval']) + interval;
  const isBelieved = due <= now + interval * (1 + INTERVAL_ALLOWANCE) + INTERVAL_ROUNDING;
  return isBelieved ? due - interval * INTERVAL_ALLOWANCE - now : 0;
}

/** The answer to an attempt by a row that was only read, and whose lock is taken. */
export function readTaken(request: AcquireRequest, { by, remaining, fence, jobs }: LockRow): AcquireResult {
  const { tick = null, outcome = null, attempt = null } = jobs[request.job ?? ''] ?? {};
  return taken(
    request,
    { ...NOTHING_SEEN, by, remaining, recorded: fence, tick, outcome, attempts: attempt },
    by,
  );
}

function taken(request: AcquireRequest, row: AttemptAnswer, by: string): AcquireResult {
  // The attempt was sent twice, because the connection broke in between.
  if (by === lockedBy(request)) return grant(request, row.recorded, row.attempts, null);
  const { holder, outcome } = readLockedBy(by);
  const reason = outcome === undefined ? 'held' : 'cooling-down';
  const known = by === NOBODY ? {} : { holder };
  return { acquired: false, reason, ...known, ...expiry(Number(row.remaining)), ...lastStartOf(row) };
}

/** Whether the lock is free and the job may start, by a row that was only read. */
export function mayTake({ startable, ahead, remaining, recorded }: AttemptAnswer): boolean {
  const refused = !isTrue(startable) || isTrue(ahead) || Number(remaining ?? 0) > 0;
  return !refused && hasRoom(recorded);
}

/** Whether a greater fencing token can follow this one. */
const hasRoom = (recorded: unknown): boolean => Number(recorded ?? 0) < Number.MAX_SAFE_INTEGER;

/** Interprets the row after a renewal that changed nothing. */
export function readMissedRenewal(
  lease: LeaseRef,
  { by, remaining, recorded }: SeenLock,
): ExtendResult | typeof AGAIN {
  const live = Number(remaining ?? 0) > 0;
  if (by === null || !live) return { held: false, reason: 'expired' };
  if (isOf(lease, by, recorded)) return AGAIN;
  if (by.startsWith(`${lockedBy(lease)}/`)) return { held: false, reason: 'expired' };
  return { held: false, reason: 'taken', holder: readLockedBy(by).holder };
}

/**
 * Whether the database may have forgotten a lease that is not live.
 *
 * 1. Yes if there is no row.
 * 2. Yes if the row names an older lease of this library, even if the older lease has the lock. Without a fencing token in the row, a
 *    lease that is over counts as older.
 * 3. No if another program wrote the row last: nobody can tell when that was.
 *
 * The write-back judges the row by the same rule.
 */
export function mayBeForgotten(lease: LeaseRef, { by, remaining, recorded }: SeenLock): boolean {
  if (by === null || isOf(lease, by, recorded)) return true;
  if (!isOurs(by)) return false;
  if (recorded !== null) return Number(recorded) < lease.fencingToken;
  return !by.startsWith(`${lockedBy(lease)}/`) && !(Number(remaining ?? 0) > 0);
}

/**
 * Whether a row is of this very lease. The token is not enough: the queued calls of one lock have leases with one token.
 *
 * 1. The fencing token has to be the same.
 * 2. A row without a fencing token, whose column was dropped, counts as the same.
 * 3. The fencing token 0, of a grant that was never answered, stands for every lease with the token.
 */
export function isOf(lease: LeaseRef, by: unknown, recorded: unknown): boolean {
  const { fencingToken } = lease;
  const isIts = (recorded ?? null) === null || fencingToken === 0 || Number(recorded) === fencingToken;
  return isIts && by === lockedBy(lease);
}

/** Interprets the row after a release that changed nothing. */
export function readMissedRelease(
  lease: LeaseRef,
  { by, remaining, recorded }: SeenLock,
): ReleaseResult | typeof AGAIN {
  if (isOf(lease, by, recorded)) return AGAIN;
  const isIts = (recorded ?? null) === null || [0, Number(recorded)].includes(lease.fencingToken);
  if (isIts && by?.startsWith(`${lockedBy(lease)}/`)) return { released: false, reason: 'ended' };
  return { released: false, reason: by !== null && Number(remaining ?? 0) > 0 ? 'taken' : 'expired' };
}

/** Drivers turn booleans into numbers or texts, and numbers into booleans. */
export const isTrue = (value: unknown): boolean => ['true', 't', '1'].includes(String(value));

function grant(
  request: AcquireRequest,
  token: unknown,
  attempt: unknown,
  previous: unknown,
): AcquireResult & { acquired: true } {
  const granted = { acquired: true, fencingToken: Number(token) } as const;
  if (request.tick === undefined) return granted;
  const started = { ...granted, attempt: Number(attempt ?? 1) };
  const differs = typeof previous === 'string' && previous !== '' && previous !== (request.schedule ?? '');
  return differs ? { ...started, previousSchedule: previous } : started;
}

const lastStartOf = ({ tick, outcome }: AttemptAnswer): Pick<AcquireRefusal, 'tick' | 'finished'> =>
  tick === null ? {} : lastStart(Number(tick), outcome);

/** Rounded down: time has passed while the answer travelled. */
function expiry(remaining: number): { expiresIn?: number } {
  return Number.isFinite(remaining) ? { expiresIn: Math.max(0, Math.floor(remaining)) } : {};
}

/** The error for a row that changed during each of so many tries. */
export function unsettled(tries: number): StoreUnavailableError {
  return new StoreUnavailableError(
    `Each of ${tries} tries found that others had changed the row meanwhile, so the database changed nothing.`,
    { outcome: 'not-applied' },
  );
}
