import { createHash } from 'node:crypto';
import type {
  Alarm,
  HistoryEntry,
  InstanceRecord,
  Interruption,
  KnownJob,
  Miss,
  RunEntry,
  RunRecord,
} from '../history-store.js';
import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { type instanceReader, isJobs, isMiss, isRun, readable } from '../readable.js';
import { NOTHING_RAN } from '../rules.js';
import type { EntryRow } from './history-dialect.js';
import type { Row } from './row.js';

/*
 * The rows of a lock in the table of the runs
 *
 *   kind                         entry                               data
 *   an outcome, or 'interrupted' the fencing token of its lease      the rest of a RunEntry
 *   'miss'                       a digest of job, tick and instance  the rest of a MissEntry
 *   'first'                      a digest of job and tick            nothing: the instance that makes the row is the first to report the tick
 *   'told'                       a digest of job and tick            job and tick: an instance has reported this miss
 */

/** The kinds of entries. The newest entries of each kind are kept. */
export const KINDS = [
  ...(['completed', 'failed', 'timed-out', 'aborted'] satisfies ReleaseOutcome[]),
  'interrupted',
  'miss',
] as const;

/** The kind that notes an alarm. */
export const TOLD = 'told';

/** A text of a fixed length, whatever its parts hold. */
export const digestOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** The run of a lease that has ended; `undefined` if nothing ran under it. */
export function endedRow(lease: LeaseRef, outcome: ReleaseOutcome, record: RunRecord): EntryRow | undefined {
  // A lease without a fencing token had a grant that was never answered.
  if (outcome === NOTHING_RAN || lease.fencingToken === 0) return undefined;
  const { kept, ...rest } = record;
  return runRow(lease, { kind: outcome, age: kept.age }, rest);
}

export function interruptedRow(run: Interruption): EntryRow {
  const { kept, by, trigger } = run;
  return runRow(run, { kind: 'interrupted', age: kept.age }, { by, trigger });
}

function runRow(
  { name, fencingToken, holder, job, tick, attempt }: Omit<Interruption, 'kept'>,
  row: Pick<EntryRow, 'kind' | 'age'>,
  rest: object,
): EntryRow {
  const data = JSON.stringify({ job, instance: holder, tick, attempt, ...rest });
  return { name, entry: String(fencingToken), ...row, data };
}

/** The report of an instance that a tick was missed, and the mark that the tick was reported. */
export function missRows(miss: Miss, tick: number): readonly [miss: EntryRow, first: EntryRow] {
  const { name, job, instance, reason, count, holder, since, until, kept } = miss;
  const { age } = kept;
  const data = JSON.stringify({ job, tick, instance, reason, count, holder, since, until });
  return [
    { name, entry: digestOf(job, tick, instance), kind: 'miss', age, data },
    { name, entry: digestOf(job, tick), kind: 'first', age, data: '{}' },
  ];
}

/** The mark that an alarm told people of a missed tick. */
export const toldRow = ({ name, job, tick, kept: { age } }: Alarm): EntryRow => ({
  name,
  entry: digestOf('told', job, tick),
  kind: TOLD,
  age,
  data: JSON.stringify({ job, tick }),
});

/** Whether a row of the kind {@link TOLD} is of the same job, and of this tick or a newer one. */
export function tellsOf({ data }: Row, { job, tick }: Alarm): boolean {
  const told = readable(data, isAlarm);
  return told?.job === job && told.tick >= tick;
}

const isAlarm = (value: unknown): value is Pick<Alarm, 'job' | 'tick'> =>
  typeof value === 'object' && value !== null && 'tick' in value && typeof value.tick === 'number';

/** `undefined` if the row cannot be read. */
export function entryOf(lock: string, row: Row): HistoryEntry | undefined {
  const at = Number(row['noted_at']);
  const kind = String(row['kind']);
  if (kind === 'miss') {
    const miss = readable(row['data'], isMiss);
    return miss && { ...miss, type: 'miss', lock, at };
  }
  const told = readable(row['data'], isRun);
  const fencingToken = Number(row['entry']);
  if (told === undefined || !Number.isSafeInteger(fencingToken)) return undefined;
  return { ...told, type: 'run', lock, fencingToken, at, outcome: kind as RunEntry['outcome'] };
}

/** `undefined` if the row cannot be read. */
export function instanceOf(
  row: Row,
  jobs: readonly KnownJob[],
  read: ReturnType<typeof instanceReader>,
): InstanceRecord | undefined {
  const told = read(row['data']) as InstanceRecord | undefined;
  if (typeof told?.instance !== 'string') return undefined;
  // A copy would parse the dates, which are read when somebody asks for them.
  return Object.assign(told, { seenAt: Number(row['seen_at']), time: Number(row['now']), jobs });
}

/** A list of jobs with the id of its row; `undefined` if the row cannot be read. */
export function listOf(id: string, data: unknown): [id: string, jobs: readonly KnownJob[]] | undefined {
  const jobs = readable(data, isJobs);
  return jobs && [id, jobs];
}

/** The newest runs up to this number, and as many misses. */
export function newest(entries: readonly HistoryEntry[], limit: number): HistoryEntry[] {
  const left = { run: limit, miss: limit };
  return entries
    .toSorted((a, b) => b.at - a.at || tokenOf(b) - tokenOf(a))
    .filter(({ type }) => (left[type] -= 1) >= 0);
}

const tokenOf = (entry: HistoryEntry): number => (entry.type === 'run' ? entry.fencingToken : 0);
