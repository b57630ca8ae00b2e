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
import { AWAITED, NOTHING_RAN, STEP_OF_PRIORITY } from '../../contract/allowances.js';
import { acquire, release } from './leases.js';
import { become, type Decision, isTaken, type LockDocument, type LockRecord, NOTHING } from './document.js';

/** The most calls in a line: each look reads all of them. One more is refused, and has to ask again. */
export const MOST_IN_LINE = 100;
/** A call, and when it came, in microseconds. Absent: now. */
type Arrival = AcquireRequest & { readonly at?: number };

/**
 * Rules 1, 2, 10 and 11: one attempt to take a lock for which others may wait. The line stands beside the document, so calls that enter or
 * leave it write nothing that others compare. The document has a mark that there is a line: an attempt that finds the mark reads the line.
 *
 * @param now of the database @param standing the line, as it was read with the document, or later
 */
export function acquireInLine(
  document: LockDocument | undefined,
  now: number,
  request: Arrival,
  standing: readonly Standing[] = [],
): Decision<AcquireResult> {
  const decision = acquire(document, now, request);
  const { answer, change } = decision;
  const isGrant = change?.begins === true;
  // Its own grant once more; or a refusal that no wait ends.
  if (!isGrant && (answer.acquired || request.wait === undefined || !AWAITED.has(answer.reason)))
    return decision;
  const keptFree = isGrant && document === undefined ? forLostHolder(request) : undefined;
  if (keptFree !== undefined) return byLine(NOTHING, now, request, standing, keptFree);
  if (isGrant && isAlone(document, standing)) return decision;
  return byLine(document, now, request, standing, decision);
}

/** Nothing is known of the lock. If it was lost, its holder can write it back as long as nobody else has it: a call that waits leaves it free. */
function forLostHolder({ wait }: AcquireRequest): Decision<AcquireResult> | undefined {
  const { notBefore = 0 } = wait ?? {};
  if (notBefore <= 0) return undefined;
  return { answer: heldFor(notBefore), change: { kept: NOTHING, end: Math.ceil(notBefore) } };
}

/** @param decision the call is refused; or the lock is free, and granted if no other call goes before */
function byLine(
  document: LockDocument = NOTHING,
  now: number,
  request: Arrival,
  standing: readonly Standing[],
  decision: Decision<AcquireResult>,
): Decision<AcquireResult> {
  const { answer, change } = decision;
  const { kept = document } = change ?? {};
  const { token } = request;
  const line = lineOf(document, standing);
  const own = standing.find((one) => one.token === token);
  // One that was passed over may be taken out at any moment: it enters once more.
  const stays = own !== undefined && !line.isAbsent(own.process);
  const waits = isWaiting(request);
  const entered = waits ? enters(line, now, request) : undefined;
  const refused = (refusal: AcquireRefusal, turn?: Omit<Decision<unknown>, 'answer'>) => {
    const told = { answer: placed(refusal, line.find(token)), ...turn };
    // A call that is refused has to stand in line by then: this is the answer of one whose wait is over by then.
    return entered === undefined || stays ? told : { ...told, first: { enters: entered } };
  };
  if (!answer.acquired) {
    const next = changed(document, withLine(kept, line, now)).change;
    return refused(answer, next && { change: { ...change, ...next } });
  }
  const { left, ...turn } = nextTurn(document, line, now, token);
  // Where there was no room for it, more calls than are read may stand behind the dead, which leave now.
  if (left !== undefined || (waits && entered === undefined))
    return refused(heldFor(left ?? 0), { ...turn, over: overIn(standing, line) });
  line.leave(token);
  // The release, which reads the line for that mark, takes its own call out.
  const next = { ...change, kept: withLine(kept, line, now, own) };
  return { ...decision, change: next, over: overIn(standing, line).filter((one) => one !== own) };
}

/** Rules 3, 12 and 13: a lease is released, or a call gives up its wait. The arguments are those of {@link acquireInLine}. */
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
  if (document === undefined || isAlone(document, standing)) return decision;
  const line = lineOf(document, standing);
  const { called } = line;
  if (givenUp !== undefined) line.leave(givenUp);
  const { answer, change } = decision;
  const after = become(document, change, now);
  if ((!answer.released && line.called === called) || isTaken(after, now)) return decision;
  // The lock is free from now on: calls the first in line.
  const { left: _left, change: turn, ...hint } = nextTurn(after, line, now);
  const changes = turn && { change: { ...change, ...turn } };
  return { ...decision, ...changes, ...hint, over: overIn(standing, line) };
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

/** The lock is free: whose turn it is. @param asks the token of who asks now @returns `left`: for how long it is kept for another call, ms */
function nextTurn(
  document: LockDocument,
  line: Line,
  now: number,
  asks?: string,
): { left: number | undefined } & Pick<Decision<unknown>, 'change' | 'hint'> {
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

/** Whether nobody has asked to stand in line. */
const isAlone = (document: LockDocument | undefined, standing: readonly Standing[]): boolean =>
  standing.length === 0 && markOf(document) === undefined;

/** Calls that were read, and do not stand in line any more. */
function overIn(standing: readonly Standing[], line: Line): readonly Standing[] {
  const left = new Set(line.standing.map(({ token }) => token));
  return standing.filter(({ token }) => !left.has(token));
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
  const { called } = line;
  const standing = own === undefined ? line.standing : [...line.standing, own];
  const last = Math.max(now, ...standing.map(({ until }) => until));
  const isCovered = before !== undefined && before.until >= last;
  const isOver = standing.length === 0 && (before === undefined || before.until <= now);
  if (isOver && called === undefined) return { ...kept, more: others };
  // Twice as long as the longest wait: those who come meanwhile find it written.
  const until = isCovered ? before.until : Math.ceil(last + Math.max(last - now, MARKED));
  const absent = standing.length === 0 ? [] : line.absent;
  const mark: Mark = { until, ...(called && { called }), ...(absent.length > 0 && { absent }) };
  return { ...kept, more: { ...others, line: mark } };
}

/** A change of the mark, if there is any: what changes nothing is not written, and so is in nobody's way. */
function changed(document: LockDocument, kept: LockRecord): { change?: { kept: LockRecord } } {
  const [before, after] = [markOf(document), kept.more?.['line']];
  return JSON.stringify(before) === JSON.stringify(after) ? {} : { change: { kept } };
}
