import type {
  Alarm,
  HistoryEntry,
  Interruption,
  Retention,
  Miss,
  RunEntry,
  RunRecord,
} from '../../contract/history-store.js';
import type { LeaseRef, ReleaseOutcome } from '../../contract/lock-store.js';
import { isMiss, isRun, readable } from '../../contract/readable.js';
import { NOTHING_RAN } from '../../contract/allowances.js';
import type { Entry, NewEntry } from './entries.js';
import { asciiJson } from '../../base/wording.js';

/**
 * The entries of a lock's history
 *
 *   id                          kind                  version                   body
 *   run, the fencing token      completed or wrong    ended, late, interrupted  the rest of a RunEntry
 *   miss, job, tick, instance   miss                  the same for each         the rest of a MissEntry
 *   told, job                   told                  the tick                  nothing: an instance has reported this tick, and older ones
 *
 * These are the kinds that people see. So many of each are kept, so completed runs do not push out those that went wrong.
 */
export const SHOWN = ['completed', 'wrong', 'miss'] as const;

const [INTERRUPTED, LATE, ENDED, ONCE] = ['interrupted', 'late', 'ended', 'once'];

const idOf = (...parts: readonly unknown[]): string => asciiJson(parts);

/**
 * The run of a lease that has ended; `undefined` if nothing ran under it. It takes the place of an interruption, and, unless it is late
 * itself, of a late record.
 *
 * @param isLate whether its release came late: the lease was over before, or may have been
 */
export function endedEntry(
  lease: LeaseRef,
  outcome: ReleaseOutcome,
  record: RunRecord,
  isLate: boolean,
): NewEntry | undefined {
  // A lease without a fencing token had a grant that was never answered.
  if (outcome === NOTHING_RAN || lease.fencingToken === 0) return undefined;
  const { kept, ...rest } = record;
  const how = isLate
    ? { version: LATE, over: [null, INTERRUPTED] }
    : { version: ENDED, over: [null, INTERRUPTED, LATE] };
  return runEntry(lease, kept, { outcome, ...rest }, how);
}

export function interruptedEntry(run: Interruption): NewEntry {
  const { kept, by, trigger } = run;
  const facts = { outcome: 'interrupted', by, trigger } as const;
  return runEntry(run, kept, facts, { version: INTERRUPTED, over: [null] });
}

function runEntry(
  { name: lock, fencingToken, holder: instance, job, tick, attempt }: Omit<Interruption, 'kept'>,
  { age: keep }: Retention,
  facts: { readonly outcome: RunEntry['outcome'] },
  how: { readonly version: string; readonly over: readonly (string | null)[] },
): NewEntry {
  const kind = facts.outcome === 'completed' ? 'completed' : 'wrong';
  const body = asciiJson({ fencingToken, instance, job, tick, attempt, ...facts });
  return { lock, id: idOf('run', fencingToken), ...how, kind, keep, body };
}

/** What an instance reports of a missed tick. */
export function missEntry(miss: Miss, tick: number): NewEntry {
  const { name: lock, job, instance, reason, count, holder, since, until, kept } = miss;
  const body = asciiJson({ job, tick, instance, reason, count, holder, since, until });
  return {
    lock,
    id: idOf('miss', job, tick, instance),
    kind: 'miss',
    version: ONCE,
    over: [null],
    keep: kept.age,
    body,
  };
}

/** The mark of a job that an instance has reported a missed tick. @param known the mark that it replaces */
export const toldEntry = ({ name: lock, job, tick, kept }: Alarm, known: Entry | undefined): NewEntry => ({
  ...toldKey({ name: lock, job }),
  kind: 'told',
  version: String(tick),
  over: [known?.version ?? null],
  keep: kept.age,
  body: '',
});

export const toldKey = ({ name: lock, job }: Pick<Alarm, 'name' | 'job'>) => ({
  lock,
  id: idOf('told', job),
});

/** Whether a mark says that this tick, or a newer one of its job, was reported. */
export const tells = ({ version }: Entry, { tick }: Alarm): boolean => Number(version) >= tick;

/** What people see of an entry; `undefined` if it cannot be read. */
export function shownEntry({ lock, kind, at, body }: Entry): HistoryEntry | undefined {
  if (kind === 'miss') {
    const miss = readable(body, isMiss);
    return miss && { ...miss, type: 'miss', lock, at };
  }
  const run = readable(body, isRun);
  return run !== undefined && Number.isSafeInteger(run.fencingToken) && typeof run.outcome === 'string'
    ? { ...run, type: 'run', lock, at }
    : undefined;
}
