import { type Called, Line, type Standing } from '../../contract/line.js';
import type { LockRecord, LockDocument } from './document.js';

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
export function overIn(standing: readonly Standing[], line: Line, but?: string): readonly Standing[] {
  const left = new Set(line.standing.map(({ token }) => token));
  return standing.filter(({ token }) => !left.has(token) && token !== but);
}

export const markOf = (document: LockDocument | undefined): Mark | undefined =>
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
export function withLine(
  { more = {}, ...kept }: LockRecord,
  line: Line,
  now: number,
  own?: Standing,
): LockRecord {
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
