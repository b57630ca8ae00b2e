import type {
  ControlAct,
  HistoryEntry,
  Retention,
  Miss,
  MissEntry,
  RunEntry,
  RunRecord,
  Trigger,
} from '../../contract/history-store.js';
import type { LeaseRef } from '../../contract/lease-ref.js';
import { readable, readEach } from '../../contract/readable.js';

/** How long an entry may become, bytes: a hundred of them for each lock must not cost much memory. */
const MAX_ENTRY = 1_000;

/** What an entry says of a run, under short names: the server keeps a hundred or more of each lock. */
interface RunFacts {
  /** Fencing token. */
  readonly f: number;
  /** Instance id of its holder. */
  readonly i: string;
  readonly j?: string;
  readonly t?: number;
  readonly a?: number;
  readonly o: RunEntry['outcome'];
  readonly d?: number;
  readonly e?: string;
  /** Trace id. */
  readonly x?: string;
  /** What started it. */
  readonly s?: Trigger;
  /** What a person did. */
  readonly b?: ControlAct;
  /** 1 if its release came late: the lease was over before, or may have been. */
  readonly l?: 1;
}

/** What an entry says of a miss. Its tick is a field of its own, as only the store knows that of an interval. */
interface MissFacts {
  readonly j: string;
  readonly i: string;
  readonly r: string;
  readonly n: number;
  readonly h?: string;
  /** Since when, epoch ms. */
  readonly s?: number;
  /** Until when, epoch ms. */
  readonly u?: number;
}

/** The entry of a run, and the two arguments behind it. */
export function runArguments(
  { fencingToken, holder, job, tick, attempt }: Pick<LeaseRef, 'fencingToken' | 'holder'> & Partial<LeaseRef>,
  outcome: RunEntry['outcome'],
  { kept, duration, error, traceId, trigger, by }: Partial<RunRecord> & Pick<RunRecord, 'kept'>,
  isLate = false,
): [entry: string, count: string, age: string] {
  const facts: Record<keyof RunFacts, unknown> = {
    f: fencingToken,
    i: holder,
    j: job,
    t: tick,
    a: attempt,
    o: outcome,
    d: duration,
    e: error,
    x: traceId,
    s: trigger,
    b: by,
    l: isLate ? 1 : undefined,
  };
  let entry = JSON.stringify(facts);
  for (let text = error?.slice(0, MAX_ENTRY); text && Buffer.byteLength(entry) > MAX_ENTRY;) {
    text = text.slice(0, text.length / 2);
    entry = JSON.stringify({ ...facts, e: text });
  }
  return [entry, ...keptArguments(kept)];
}

/** The entry of a miss, and the two arguments behind it. */
export function missArguments({ job, instance, reason, count, holder, since, until, kept }: Miss): string[] {
  const facts: Record<keyof MissFacts, unknown> = {
    j: job,
    i: instance,
    r: reason,
    n: count,
    h: holder,
    s: since,
    u: until,
  };
  return [JSON.stringify(facts), ...keptArguments(kept)];
}

const keptArguments = ({ count, age }: Retention): [count: string, age: string] => [
  String(count),
  String(age),
];

/** An entry of a stream: its id, and its fields, name and value in turn. */
type Raw = [id: string, fields: string[]];

/** A stream as ENTRIES has it: 0 if the caller knows its entries. Some clients answer numbers as texts. */
type RawStream = readonly Raw[] | 0 | '0';

/** The answer of ENTRIES. */
export type Streams = [runs: RawStream, runsLeft: number, bad: RawStream, badLeft: number];

/** A stream that was read: its entries, newest first. */
export interface Stream {
  /** The id of its newest entry; '' if it has none. */
  readonly newest: string;
  readonly entries: readonly ReadEntry[];
}

interface ReadEntry {
  /** When it was kept, epoch ms. */
  readonly at: number;
  /** Absent: it cannot be read. */
  readonly known?: KnownEntry | undefined;
}

/** What an entry says, and how much it counts. */
export interface KnownEntry {
  readonly entry: HistoryEntry;
  /** Of the entries of one run, one with the greatest counts. */
  readonly rank: number;
}

/** An interruption; the end of a run whose release came late; that of one whose release has ended its lease. */
const [INTERRUPTED, LATE, ENDED] = [0, 1, 2] as const;

/** Both streams of a lock. */
export interface KnownStreams {
  readonly runs: Stream;
  readonly bad: Stream;
}

/** The streams in the answer. @param known those whose ids the question had */
export const streamsIn = (
  lock: string,
  [runs, , bad]: Streams,
  known: KnownStreams | undefined,
): KnownStreams => ({
  runs: streamIn(lock, runs, known?.runs),
  bad: streamIn(lock, bad, known?.bad),
});

const NO_STREAM: Stream = { newest: '', entries: [] };

function streamIn(lock: string, raw: RawStream, known: Stream = NO_STREAM): Stream {
  if (raw === 0 || raw === '0') return known;
  const entries = raw.map((each) => ({ at: timeOf(each[0]), known: entryOf(lock, each) }));
  return { newest: raw[0]?.[0] ?? '', entries };
}

/** The entries in the streams, newest first. One that cannot be read is left out. */
export function entriesIn(
  { runs, bad }: KnownStreams,
  [, runsLeft, , badLeft]: Streams,
  onUnreadable: () => void,
): KnownEntry[] {
  const read = (stream: Stream, left: number): KnownEntry[] =>
    readEach(notOld(stream, left), ({ known }) => known, onUnreadable);
  const entries = merged(read(runs, Number(runsLeft)), read(bad, Number(badLeft)));
  // Of one run each release may have left an entry, and a record that was sent again is a second one. Of the same rank the first counts.
  const counts = new Map<number | string, KnownEntry>();
  for (const known of entries) {
    const id = idOf(known.entry);
    const newer = counts.get(id);
    if (newer === undefined || known.rank >= newer.rank) counts.set(id, known);
  }
  return entries.filter((known) => counts.get(idOf(known.entry)) === known);
}

/** Identifies what an entry is about: the run of a lease, or a missed tick as one instance has seen it. */
const idOf = (entry: HistoryEntry): number | string =>
  entry.type === 'run' ? entry.fencingToken : JSON.stringify([entry.job, entry.tick, entry.instance]);

/** Whether one that is told, as interrupted say, may have completed before: all completed runs that were read are newer than it. */
export function mayHaveEnded(told: readonly KnownEntry[], all: readonly KnownEntry[]): boolean {
  let oldest = Infinity;
  for (const { entry } of all)
    if (entry.type === 'run' && entry.outcome === 'completed') oldest = Math.min(oldest, entry.fencingToken);
  return told.some(({ entry, rank }) => entry.type === 'run' && rank < ENDED && entry.fencingToken < oldest);
}

/** The newest of each kind, in their order. */
export function newest(entries: readonly KnownEntry[], limit: number): KnownEntry[] {
  const left = { run: limit, miss: limit };
  return entries.filter(({ entry: { type } }) => (left[type] -= 1) >= 0);
}

/**
 * Leaves out the entries that are too old. A stream lives as long as its newest entry may, so the time that the stream has left shows how
 * old an entry may become. Redis deletes older ones when it trims the stream.
 */
function notOld({ entries }: Stream, left: number): readonly ReadEntry[] {
  const [first] = entries;
  return left < 0 || first === undefined ? entries : entries.filter(({ at }) => at + left >= first.at);
}

/** An id begins with when it was added, epoch ms. */
const timeOf = (id: string): number => Number.parseInt(id, 10);

/**
 * The entries of both streams, newest first, those of each in its own order, so that as many as somebody asks for are the first of all. The
 * streams do not show which of two entries of one millisecond came first if one is in each, but runs have fencing tokens.
 */
function merged(runs: readonly KnownEntry[], bad: readonly KnownEntry[]): KnownEntry[] {
  const all: KnownEntry[] = [];
  let next = 0;
  for (const run of runs) {
    for (let other = bad[next]; other !== undefined && isNewer(other.entry, run.entry); other = bad[++next])
      all.push(other);
    all.push(run);
  }
  return [...all, ...bad.slice(next)];
}

const isNewer = (one: HistoryEntry, other: HistoryEntry): boolean =>
  one.at > other.at ||
  (one.at === other.at &&
    one.type === 'run' &&
    other.type === 'run' &&
    one.fencingToken > other.fencingToken);

function entryOf(lock: string, [id, fields]: Raw): KnownEntry | undefined {
  const [kind, text = '', , tick] = fields;
  const facts = readable(text, (value): value is object => typeof value === 'object' && value !== null);
  if (facts === undefined) return undefined;
  const at = timeOf(id);
  if (kind === 'run') return runOf(lock, at, facts);
  return kind === 'miss' ? missOf(lock, { ...facts, at, tick: Number(tick) }) : undefined;
}

function runOf(lock: string, at: number, facts: Partial<RunFacts>): KnownEntry | undefined {
  const { f, i, j, t, a, o, d, e, x, s, b, l } = facts;
  if (!Number.isSafeInteger(f) || typeof i !== 'string' || !OUTCOMES.has(o)) return undefined;
  const known = { job: j, tick: t, attempt: a, duration: d, error: e, traceId: x, trigger: s, by: b };
  const run = { type: 'run', lock, fencingToken: f, instance: i, outcome: o, at, ...known };
  // Entries of older versions do not tell whether a release came late.
  const rank = o === 'interrupted' ? INTERRUPTED : l === 1 ? LATE : ENDED;
  return { entry: withoutUndefined(run) as RunEntry, rank };
}

const OUTCOMES = new Set<unknown>([
  'completed',
  'failed',
  'timed-out',
  'aborted',
  'interrupted',
] satisfies RunEntry['outcome'][]);

function missOf(
  lock: string,
  facts: Partial<MissFacts> & { at: number; tick: number },
): KnownEntry | undefined {
  const { j, i, r, n, h, s, u, at, tick } = facts;
  const texts = [j, i, r].every((text) => typeof text === 'string');
  if (!texts || ![n, tick].every(Number.isSafeInteger)) return undefined;
  const why = { reason: r, count: n, holder: h, since: s, until: u };
  const miss = { type: 'miss', lock, job: j, tick, instance: i, at, ...why };
  return { entry: withoutUndefined(miss) as MissEntry, rank: ENDED };
}

const withoutUndefined = (facts: object): object =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
