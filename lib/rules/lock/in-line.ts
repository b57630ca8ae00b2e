import { isWaiting, Line, placeAt, placed, shownLine, type WaitingRequest } from '../../contract/line.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  LeaseRef,
  ReleaseOptions,
  ReleaseResult,
} from '../../contract/lock-store.js';
import { NOTHING_RAN, STEP_OF_PRIORITY } from '../../contract/allowances.js';
import { acquire } from './acquire.js';
import { become, type Decision, type Hint, isTaken, type Kept, type LockDocument } from './document.js';
import { release } from './release.js';

/** The most calls in a line: each look reads all of them. One more is refused, and has to ask again. */
const MOST = 100;

/** What a document holds of its line. */
interface StoredLine {
  readonly calls: Readonly<Record<string, { place: number; process: string; until: number }>>;
  readonly called?: { readonly token: string; readonly until: number } | undefined;
  readonly missed?: readonly string[];
}

/** A call, and when it came, in microseconds. Absent: now. */
export type Arrival = AcquireRequest & { readonly at?: number };

/**
 * Rules 1, 2, 10 and 11: one attempt to take a lock for which others may wait. The line stands in the document: whatever changes the line
 * writes the document, so nobody decides by a line that is another one by now.
 *
 * @param now of the database
 */
export function acquireInLine(
  document: LockDocument | undefined,
  now: number,
  request: Arrival,
): Decision<AcquireResult> {
  const decision = acquire(document, now, request);
  if (document !== undefined && isTaken(document, now))
    return decision.answer.acquired ? decision : behindHolder(document, now, request, decision.answer);
  if (!decision.answer.acquired || decision.change === undefined) return decision;
  if (document === undefined && isKept(request)) return keptFree(now, request, new Line());
  if (!hasLine(document)) return decision;
  const line = lineOf(document);
  const before = beforeOthers(document, now, request, line);
  if (before !== undefined) return before;
  line.leave(request.token);
  return { ...decision, change: { ...decision.change, kept: withLine(decision.change.kept, line) } };
}

/** Whether a lock of which nothing is known is kept free for a while, for a call that waits. */
const isKept = (request: Arrival): request is WaitingRequest =>
  isWaiting(request) && (request.wait.notBefore ?? 0) > 0;

/** The lock is free, and calls stand in line. Returns the refusal, if it is not the turn of the call that asks. */
function beforeOthers(
  document: LockDocument,
  now: number,
  request: Arrival,
  line: Line,
): Decision<AcquireResult> | undefined {
  const isFull = isWaiting(request) && !enters(line, now, request);
  const { left, change, hint } = nextTurn(document, line, now, request.token);
  if (!isFull && left === undefined) return undefined;
  return { answer: placed(heldFor(left ?? 0), line.find(request.token)), change, ...hint };
}

/** Rules 3, 12 and 13: a lease is released, or a call gives up its wait. @param now of the database */
export function releaseInLine(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
  options: ReleaseOptions,
): Decision<ReleaseResult> {
  const decision = release(document, now, lease, options);
  if (document === undefined || !hasLine(document)) return decision;
  const line = lineOf(document);
  const left = leave(line, lease, options);
  const { answer, change } = decision;
  const after = change === undefined ? document : become(document, change, now);
  if (!isTaken(after, now) && (answer.released || left === 'called')) {
    const turn = nextTurn(after, line, now);
    return { ...decision, change: { ...change, ...turn.change }, ...turn.hint };
  }
  if (left === undefined) return decision;
  return { ...decision, change: { ...change, kept: withLine(change?.kept ?? document, line) } };
}

/** A call that does not wait any more leaves the line. `undefined`: it is another call, or does not stand there. */
function leave(
  line: Line,
  { token, wait }: LeaseRef,
  { outcome }: ReleaseOptions,
): 'called' | 'waiting' | undefined {
  if (wait === undefined || outcome !== NOTHING_RAN || line.find(token) === undefined) return undefined;
  const was = line.called?.token === token ? 'called' : 'waiting';
  line.leave(token);
  return was;
}

/** The place of the first call in line; `undefined`: nobody stands there. */
export const firstPlace = (document: LockDocument | undefined): number | undefined =>
  lineOf(document).standing[0]?.place;

/** The line of a lock, for people. @param now of the database */
export function lineInfo(document: LockDocument, now: number): Pick<LockInfo, 'line'> {
  const standing = lineOf(document).standing.filter(({ until }) => until > now);
  return shownLine(standing, now);
}

/** The lock is taken: a call that waits stands in line from now on. */
function behindHolder(
  document: LockDocument,
  now: number,
  request: Arrival,
  refusal: AcquireRefusal,
): Decision<AcquireResult> {
  if (!isWaiting(request) || !['held', 'cooling-down'].includes(refusal.reason)) return { answer: refusal };
  const line = lineOf(document);
  const stood = !line.hasMissed(request.wait.process) && line.find(request.token) !== undefined;
  if (!stood && !enters(line, now, request)) return { answer: refusal };
  const answer = placed(refusal, line.find(request.token));
  return stood ? { answer } : { answer, change: { kept: withLine(document, line) } };
}

/**
 * Nothing is known of the lock. If it was lost, its holder can write it back as long as nobody else has it: so it is kept free for a
 * while.
 */
function keptFree(now: number, request: WaitingRequest & Arrival, line: Line): Decision<AcquireResult> {
  const { notBefore = 0 } = request.wait;
  enters(line, now, request);
  return {
    answer: placed(heldFor(notBefore), line.find(request.token)),
    change: { kept: withLine({ starts: new Map() }, line), end: Math.ceil(notBefore) },
  };
}

/** A call stands in line from now on, or at its place there. Returns whether it does: there may be no room. */
function enters(line: Line, now: number, { token, wait, at }: WaitingRequest & Arrival): boolean {
  const { process, limit } = wait;
  const known = line.find(token);
  if (known === undefined && line.standing.length >= MOST) return false;
  const place =
    known?.place ?? wait.place ?? newPlace(line, placeAt(at ?? Math.trunc(now * 1_000), wait.priority));
  line.enter({ token, process, place, until: now + limit });
  return true;
}

/** Behind all of its priority: two calls may come in one microsecond, or after the clock was set back. */
function newPlace(line: Line, place: number): number {
  const same = line.standing.filter((one) => Math.abs(one.place - place) < STEP_OF_PRIORITY / 2);
  return Math.max(place, ...same.map((one) => one.place + 1));
}

/**
 * The lock is free: whose turn it is.
 *
 * @param asks the token of the call that asks now
 * @returns for how long the lock is kept for another call, ms; `undefined`: it is not
 */
function nextTurn(
  document: LockDocument,
  line: Line,
  now: number,
  asks?: string,
): { left: number | undefined; change: { kept: Kept }; hint: { hint?: Hint } } {
  const before = line.called?.token;
  const called = line.call(now, asks === undefined ? {} : { asks });
  const change = { kept: withLine(document, line) };
  if (called === undefined || called.token === asks) return { left: undefined, change, hint: {} };
  const { token, process } = called;
  return { left: called.until - now, change, hint: token === before ? {} : { hint: { token, process } } };
}

const heldFor = (ms: number): AcquireRefusal => ({
  acquired: false,
  reason: 'held',
  expiresIn: Math.max(0, Math.ceil(ms)),
});

const hasLine = (document: LockDocument | undefined): document is LockDocument =>
  document?.more?.['line'] !== undefined;

function lineOf(document: LockDocument | undefined): Line {
  const { calls = {}, called, missed } = (document?.more?.['line'] ?? {}) as Partial<StoredLine>;
  const standing = Object.entries(calls).map(([token, call]) => ({ token, ...call }));
  return new Line(standing, called, missed);
}

/** What is kept of a lock, with this line. */
function withLine({ more = {}, ...kept }: Kept, line: Line): Kept {
  const { line: _before, ...others } = more;
  if (line.standing.length === 0) return { ...kept, more: others };
  const calls = Object.fromEntries(line.standing.map(({ token, ...call }) => [token, call]));
  return { ...kept, more: { ...others, line: { calls, called: line.called, missed: line.missed } } };
}
