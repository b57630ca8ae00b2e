import { SchedulerLockConfigError } from '../../base/errors.js';

/**
 * What a database must be able to do to keep more than locks: queued calls, who ran what, and which instances there are. Plain data, and no
 * rule of ours. A contract suite of its own checks each sentence here.
 *
 * 1. An entry is found by its lock and its id, which are kept apart exactly. It is read as it was written.
 * 2. All times are of the database's clock, epoch milliseconds. An entry whose time is over is as good as none, whether or not the
 *    database has deleted it.
 * 3. `put` compares and sets in one operation: of any number of entries over one and the same, or over none, exactly one is written.
 * 4. Each entry of a batch is judged alone, and answered by its index.
 * 5. Entries stand in the order of their places. Of two that one process puts without a place, one after another, the later one stands
 *    behind.
 * 6. `drop` deletes what was seen, and nothing that was written since.
 * 7. Of the entries of one lock, at most one is in a slot: another one that is put into the same slot is not written.
 * 8. `sums` counts what is there, as `list` would find it.
 *
 * A call that fails rejects with `StoreUnavailableError`: with `outcome: 'not-applied'` if it was certainly not carried out.
 */
export interface LockEntries {
  /** Whether it deletes by itself what is beyond {@link NewEntry.most}. Absent: others do. */
  readonly trims?: true;
  /** Called before the first call, perhaps more than once. @returns why no entries can be kept, and what to do, for the log; `undefined` if they can */
  init?(): Promise<string | undefined>;
  /**
   * Writes entries, whose keys and slots differ, each over what it names.
   *
   * @param limit how long the caller waits, ms: what is still to be sent by then need not be
   * @returns for each whether it was written
   */
  put(entries: readonly NewEntry[], limit?: number): Promise<boolean[]>;
  /** Reads entries in the order of their places. Locks nothing. */
  list(query: EntryQuery): Promise<EntriesRead>;
  /** Counts entries, for each lock and kind of which there are any. Locks nothing. */
  sums(query: SumQuery): Promise<EntrySum[]>;
  /** Deletes entries that are as they were seen. @returns how many it has deleted */
  drop(seen: readonly SeenEntry[]): Promise<number>;
}

/** The entries of a place that has none. */
export const NO_ENTRIES: LockEntries = { init: none, put: none, list: none, sums: none, drop: none };

async function none(): Promise<never> {
  throw new SchedulerLockConfigError([
    'store: it keeps locks only: no calls in line, no queued calls and no histories. Give it entries: see docs/stores/your-own.md.',
  ]);
}

/** What finds an entry. */
export interface EntryKey {
  /** The lock that it belongs to; empty for none. */
  readonly lock: string;
  /** One of its lock. */
  readonly id: string;
}

/** An entry, as it was seen. */
export interface SeenEntry extends EntryKey {
  readonly version: string;
}

/** An entry to write. */
export interface NewEntry extends SeenEntry {
  /** What it is written over: entries of these versions, `null`: none; or whatever there is. */
  readonly over: readonly (string | null)[] | 'any';
  /** What a list can ask for: a text of the engine's. */
  readonly kind: string;
  /** The slot of its lock that it is in: up to 100 characters of ASCII. Absent: none, also if the entry before it was in one. */
  readonly slot?: string;
  /** The job that it is for, which a list, or sums over all locks, can ask for. Absent: none. */
  readonly job?: string;
  /** Orders the entries: smaller comes first. Absent: microseconds of the database's clock at the write. */
  readonly place?: number;
  /** After so many milliseconds its time is over. */
  readonly keep: number;
  /** How many of its kind its lock keeps: a place that {@link LockEntries.trims} deletes the oldest ones beyond them, now and then. */
  readonly most?: number;
  /** What is kept: any text, of up to some kilobytes; a list of jobs is longer. */
  readonly body: string;
}

/** An entry, as it was read. */
export interface Entry extends SeenEntry {
  readonly kind: string;
  readonly place: number;
  /** When it was written. */
  readonly at: number;
  /** When its time is over. */
  readonly until: number;
  readonly body: string;
}

/** Which entries: those that fit each part that is given. */
export interface EntryQuery {
  readonly lock: string;
  readonly kinds?: readonly string[];
  readonly ids?: readonly string[];
  readonly slots?: readonly string[];
  readonly jobs?: readonly string[];
  /** Only those whose places are smaller. */
  readonly before?: number;
  /** Their bodies are not needed, and may be left empty. */
  readonly bare?: true;
  /** Whether those with the greatest places come first. */
  readonly newest?: true;
  /** Leaves out so many of the first ones. */
  readonly skip?: number;
  /** So many at most. */
  readonly limit?: number;
}

/** The answer to {@link LockEntries.list}. */
export interface EntriesRead {
  /** The database's time. */
  readonly now: number;
  readonly entries: readonly Entry[];
}

/** Which entries are counted: those that fit each part that is given. */
export interface SumQuery {
  /** Absent: all locks; a place may take some of them each time, and others the next time. */
  readonly locks?: readonly string[];
  readonly kinds?: readonly string[];
  readonly jobs?: readonly string[];
}

/** The entries of one lock and kind. */
export interface EntrySum {
  readonly lock: string;
  readonly kind: string;
  /** At least one. */
  readonly count: number;
  /** The place of the first one. */
  readonly place: number;
}
