import {
  type Called,
  isWaiting,
  Line,
  placeAt,
  placed,
  shownLine,
  type Standing,
  type WaitingRequest,
} from '../../contract/line.js';
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
import {
  become,
  type Decision,
  type Hint,
  isTaken,
  type LockDocument,
  type LockRecord,
  type Next,
  NOTHING,
} from './document.js';
import { release } from './release.js';

/** The most calls in a line: each look reads all of them. One more is refused, and has to ask again. */
export const MOST_IN_LINE = 100;
/** A call, and when it came, in microseconds. Absent: now. */
type Arrival = AcquireRequest & { readonly at?: number };

/**
 * Rules 1, 2, 10 and 11: one attempt to take a lock for which others may wait. The line stands beside the document, so calls that enter or
 * leave it write nothing that others compare. The document has a mark that there is a line: an attempt that finds the mark reads the line.
 *
 * @param now of the database
 * @param standing the line, as it was read with the document, or later
 */
export function acquireInLine(
  document: LockDocument | undefined,
  now: number,
  request: Arrival,
  standing: readonly Standing[] = [],
): Decision<AcquireResult> {
  const decision = acquire(document, now, request);
  const { answer } = decision;
  if (document !== undefined && isTaken(document, now))
    return answer.acquired ? decision : behindHolder(document, now, request, answer, standing);
  if (!answer.acquired || decision.change === undefined) return decision;
  if (document === undefined && isKept(request)) return keptFree(now, request, standing);
  if (standing.length === 0 && markOf(document) === undefined) return decision;
  return atFreeLock(document ?? NOTHING, now, request, standing, decision as Grant);
}

/** What is decided of a free lock if nobody stands in line. */
type Grant = Decision<AcquireResult> & { readonly change: Next };

function atFreeLock(
  known: LockDocument,
  now: number,
  request: Arrival,
  standing: readonly Standing[],
  grant: Grant,
): Decision<AcquireResult> {
  const line = lineOf(known, standing);
  const before = beforeOthers(known, now, request, line, standing);
  if (before !== undefined) return before;
  line.leave(request.token);
  // The release, which reads the line for that mark, takes it out.
  const own = standing.find(({ token }) => token === request.token);
  const kept = withLine(grant.change.kept, line, now, own);
  return { ...grant, change: { ...grant.change, kept }, over: overIn(standing, line, request.token) };
}

type Keeping = Arrival & WaitingRequest & { readonly wait: { readonly notBefore: number } };

/** Whether a lock of which nothing is known is kept free for a while, for a call that waits. */
const isKept = (request: Arrival): request is Keeping => (request.wait?.notBefore ?? 0) > 0;

/** The lock is free, and calls stand in line. Returns the refusal, if it is not the turn of the call that asks. */
function beforeOthers(
  document: LockDocument,
  now: number,
  request: Arrival,
  line: Line,
  standing: readonly Standing[],
): Decision<AcquireResult> | undefined {
  const entered = isWaiting(request) ? enters(line, now, request) : undefined;
  const { left, ...turn } = nextTurn(document, line, now, request.token);
  const isFull = isWaiting(request) && entered === undefined;
  if (!isFull && left === undefined) return undefined;
  const answer = placed(heldFor(left ?? 0), line.find(request.token));
  if (entered !== undefined && !standsIn(standing, request.token)) return mustEnter(entered, answer);
  return { answer, ...turn, over: overIn(standing, line, request.token) };
}

/**
 * Rules 3, 12 and 13: a lease is released, or a call gives up its wait.
 *
 * @param now of the database
 * @param standing the line, as it was read with the document, or later
 */
export function releaseInLine(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
  options: ReleaseOptions,
  standing: readonly Standing[] = [],
): Decision<ReleaseResult> {
  const decision = release(document, now, lease, options);
  const givenUp = givesUp(lease, options) ? lease.token : undefined;
  const own = standing.find(({ token }) => token === givenUp);
  if (own !== undefined) return { answer: decision.answer, first: { leaves: own } };
  if (document === undefined || (markOf(document) === undefined && standing.length === 0)) return decision;
  const line = lineOf(document, standing);
  const wasCalled = line.called !== undefined && line.called.token === givenUp;
  if (wasCalled) line.leave(lease.token);
  if (!decision.answer.released && !wasCalled) return decision;
  return givenBack(document, now, line, decision, standing);
}

/** The lock is free from now on, unless it is kept: calls the first in line. */
function givenBack(
  document: LockDocument,
  now: number,
  line: Line,
  decision: Decision<ReleaseResult>,
  standing: readonly Standing[],
): Decision<ReleaseResult> {
  const { change } = decision;
  const after = change === undefined ? document : become(document, change, now);
  if (isTaken(after, now)) return decision;
  const { left: _left, change: turn, ...hint } = nextTurn(after, line, now);
  return {
    ...decision,
    ...(turn !== undefined && { change: { ...change, ...turn } }),
    ...hint,
    over: overIn(standing, line),
  };
}

/** Whether this is the end of a wait. */
export const givesUp = ({ wait }: LeaseRef, { outcome }: ReleaseOptions): boolean =>
  wait !== undefined && outcome === NOTHING_RAN;

/** The line of a lock, for people. @param now of the database */
export function lineInfo(
  document: LockDocument,
  now: number,
  standing: readonly Standing[],
): Pick<LockInfo, 'line'> {
  const line = lineOf(document, standing);
  const there = line.standing.filter(({ process }) => !line.isAbsent(process));
  return shownLine(there, now);
}

/** The lock is taken: a call that waits stands in line from now on. */
function behindHolder(
  document: LockDocument,
  now: number,
  request: Arrival,
  refusal: AcquireRefusal,
  standing: readonly Standing[],
): Decision<AcquireResult> {
  if (!isWaiting(request) || !['held', 'cooling-down'].includes(refusal.reason)) return { answer: refusal };
  const line = lineOf(document, standing);
  const entered = enters(line, now, request);
  if (entered === undefined) return { answer: refusal };
  const answer = placed(refusal, line.find(request.token));
  if (!standsIn(standing, request.token)) return mustEnter(entered, answer);
  return { answer, ...changed(document, withLine(document, line, now)) };
}

/**
 * Nothing is known of the lock. If it was lost, its holder can write it back as long as nobody else has it: so it is kept free for a
 * while.
 */
function keptFree(now: number, request: Keeping, standing: readonly Standing[]): Decision<AcquireResult> {
  const { notBefore } = request.wait;
  const line = lineOf(NOTHING, standing);
  const entered = enters(line, now, request);
  const answer = placed(heldFor(notBefore), line.find(request.token));
  if (entered !== undefined && !standsIn(standing, request.token)) return mustEnter(entered, answer);
  const kept = withLine({ starts: new Map() }, line, now);
  return { answer, change: { kept, end: Math.ceil(notBefore) } };
}

/** Decides nothing yet: a call that is refused has to stand in line by then. The answer is that of one whose wait is over by then. */
const mustEnter = (enters: Standing, answer: AcquireRefusal) => ({ answer, first: { enters } });

const standsIn = (standing: readonly Standing[], token: string): boolean =>
  standing.some((one) => one.token === token);

/** A call stands in line from now on, or at its place there. Returns it; `undefined`: there is no room. */
function enters(
  line: Line,
  now: number,
  { token, wait, at }: WaitingRequest & Arrival,
): Standing | undefined {
  const { process, limit, drains } = wait;
  const known = line.find(token);
  if (known === undefined && line.standing.length >= MOST_IN_LINE) return undefined;
  const place =
    known?.place ?? wait.place ?? newPlace(line, placeAt(at ?? Math.trunc(now * 1_000), wait.priority));
  const one = { token, process, place, until: now + limit, ...(drains && { drains }) };
  line.enter(one);
  return one;
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
): { left: number | undefined; change?: { kept: LockRecord }; hint?: Hint } {
  const before = line.called?.token;
  const called = line.call(now, asks);
  const change = changed(document, withLine(document, line, now));
  if (called === undefined || called.token === asks) return { left: undefined, ...change };
  const { token, process } = called;
  const isNew = token !== before && process !== undefined;
  return { left: called.until - now, ...change, ...(isNew && { hint: { token, process } }) };
}

const heldFor = (ms: number): AcquireRefusal => ({
  acquired: false,
  reason: 'held',
  expiresIn: Math.max(0, Math.ceil(ms)),
});

/** How long a mark lasts at least, ms: it is written once for all calls that come meanwhile. */
const MARKED = 60_000;

/** What a document holds of its line: who was called. Until when there may be a line at all is the mark. */
interface Mark {
  /** By the database. */
  readonly until: number;
  readonly called?: Called | undefined;
  readonly absent?: readonly string[] | undefined;
}

/** Whether a document has a mark that there may be a line. @param now of the database */
export const hasLine = (document: LockDocument | undefined, now: number): boolean =>
  (markOf(document)?.until ?? -Infinity) > now;

/** Calls that were read, and do not stand in line any more. @param but one that is not over yet */
function overIn(standing: readonly Standing[], line: Line, but?: string): readonly Standing[] {
  const left = new Set(line.standing.map(({ token }) => token));
  return standing.filter(({ token }) => !left.has(token) && token !== but);
}

const markOf = (document: LockDocument | undefined): Mark | undefined =>
  document?.more?.['line'] as Mark | undefined;

/** A call that has the lock, or had it last, does not stand in line, whatever is still written there. */
export function lineOf(document: LockDocument, standing: readonly Standing[]): Line {
  const { called, absent } = markOf(document) ?? {};
  const { token } = document.lease ?? {};
  return new Line(
    standing.filter((one) => one.token !== token),
    called,
    absent,
  );
}

/** What is kept of a lock, with the mark of this line. @param own the call that has the lock from now on, if it is still written there */
function withLine({ more = {}, ...kept }: LockRecord, line: Line, now: number, own?: Standing): LockRecord {
  const { line: before, ...others } = more as { line?: Mark };
  const all = own === undefined ? line.standing : [...line.standing, own];
  const last = Math.max(now, ...all.map(({ until }) => until));
  const isCovered = before !== undefined && before.until >= last;
  const isOver = all.length === 0 && (before === undefined || before.until <= now);
  if (isOver && line.called === undefined) return { ...kept, more: others };
  // Twice as long as the longest wait: those who come meanwhile find it written.
  const until = isCovered ? before.until : Math.ceil(last + Math.max(last - now, MARKED));
  const { called } = line;
  const absent = line.standing.length === 0 ? [] : line.absent;
  const mark: Mark = { until, ...(called && { called }), ...(absent.length > 0 && { absent }) };
  return { ...kept, more: { ...others, line: mark } };
}

/** A change of the mark, if there is any: what changes nothing is not written, and so is in nobody's way. */
export function changed(document: LockDocument, kept: LockRecord): { change?: { kept: LockRecord } } {
  const [before, after] = [markOf(document), kept.more?.['line']];
  return JSON.stringify(before) === JSON.stringify(after) ? {} : { change: { kept } };
}
