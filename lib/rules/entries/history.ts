import { type Clock, noLongerThan, type Timer } from '../../base/clock.js';
import { asciiJson } from '../../base/wording.js';
import { NOTHING_RAN } from '../../contract/allowances.js';
import { StoreUnavailableError } from '../../base/errors.js';
import type { Caller } from '../../contract/fast-port.js';
import type {
  Alarm,
  Beat,
  BeatResult,
  HistoryEntry,
  HistoryQuery,
  HistoryStore,
  InstanceRecord,
  Interruption,
  Miss,
  MissResult,
  Retention,
  RunEntry,
} from '../../contract/history-store.js';
import type { LeaseRef, ReleaseOptions, ReleaseResult } from '../../contract/lock-store.js';
import type { LockDocuments } from '../../contract/port.js';
import { isMiss, isRun, readable, readEach } from '../../contract/readable.js';
import { NOTHING, readableLock } from '../lock/document.js';
import { isHidden, missedTick, type SeenStarts, startsIn } from '../lock/inspect.js';
import type { Entry, LockEntries, NewEntry } from './entries.js';
import { Registry } from './registry.js';
import { partsOf } from './together.js';
import { AGAIN, Tries } from './tries.js';

/** Reads what a document tells of the starts of jobs. */
export const startsOf =
  (documents: Pick<LockDocuments, 'read'>) =>
  async (name: string): Promise<SeenStarts> => {
    const { now, documents: read } = await documents.read([name]);
    return startsIn(read[0] === undefined ? NOTHING : readableLock(read[0]), now);
  };

export interface EntryHistoryOptions {
  /** Bounds reads for people, of histories and queued calls, which must not delay anything else. @default not at all */
  readonly forPeople?: (<T>(read: () => Promise<T>) => Promise<T>) | undefined;
}

/** Rules 16 to 18: histories, over entries of locks. */
export class EntryHistory implements HistoryStore {
  readonly #keeper: HistoryWriter;
  readonly #registry: Registry;
  readonly #forPeople: NonNullable<EntryHistoryOptions['forPeople']>;

  constructor(
    private readonly entriesOf: LockEntries,
    private readonly look: (name: string) => Promise<SeenStarts>,
    private readonly clock: Clock,
    { forPeople = (read) => read() }: EntryHistoryOptions = {},
  ) {
    this.#keeper = new HistoryWriter(entriesOf, clock);
    this.#forPeople = forPeople;
    this.#registry = new Registry(entriesOf);
  }

  async init(): Promise<string | undefined> {
    return this.entriesOf.init?.();
  }

  flush(): Promise<void> {
    return this.#keeper.flush();
  }

  /**
   * Keeps how the run of a lease has ended, unless nothing ran: a moment later, if at all. It replaces an interruption and, unless it is late
   * itself, a late record.
   *
   * @param isLate whether its release came late: the lease was over before, or may have been
   */
  ended(
    lease: LeaseRef,
    { outcome = 'completed', record }: Pick<ReleaseOptions, 'outcome' | 'record'>,
    isLate: boolean,
  ): void {
    // A lease without a fencing token had a grant that was never answered.
    if (record === undefined || outcome === NOTHING_RAN || lease.fencingToken === 0) return;
    const { kept, ...rest } = record;
    const how = isLate
      ? { version: LATE, over: [null, INTERRUPTED] }
      : { version: ENDED, over: [null, INTERRUPTED, LATE] };
    this.#keeper.add(runEntry(lease, kept, { outcome, ...rest }, how));
  }

  /** Tells of a release, and keeps the record behind it, if there is one: the run has ended, whatever became of its lease. */
  recording(lease: LeaseRef, options: ReleaseOptions, told: Caller<ReleaseResult>): Caller<ReleaseResult> {
    if (options.record === undefined) return told;
    return {
      get givenUp() {
        return told.givenUp;
      },
      limit: told.limit,
      answered: (result) => {
        this.ended(lease, options, !result.released);
        told.answered(result);
      },
      failed: (error) => {
        // Nobody knows whether it has ended the lease.
        this.ended(lease, options, true);
        told.failed(error);
      },
    };
  }

  async interrupted(run: Interruption): Promise<void> {
    const { kept, by, trigger } = run;
    const facts = { outcome: 'interrupted', by, trigger } as const;
    await this.#keeper.put([runEntry(run, kept, facts, { version: INTERRUPTED, over: [null] })]);
  }

  entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    return this.#forPeople(() => this.#entries(query));
  }

  async miss(miss: Miss): Promise<MissResult> {
    const seen = await this.look(miss.name);
    const tick = missedTick(seen, miss);
    // One that is hidden is for people only.
    const kept = tick ?? (isHidden(seen, miss) ? miss.tick : undefined);
    if (kept !== undefined) await this.#keeper.put([missEntry(miss, kept)]);
    return tick === undefined ? { missed: false } : { missed: true, tick };
  }

  async told(alarm: Alarm): Promise<boolean> {
    const { name: lock, job, tick, kept } = alarm;
    const mark = {
      lock,
      id: idOf('told', job),
      kind: 'told',
      version: String(tick),
      keep: kept.age,
      body: '',
    };
    return new Tries(this.clock, 'not-applied').of(async () => {
      const [known] = (await this.entriesOf.list({ lock, ids: [mark.id] }).catch(asNotApplied)).entries;
      if (known !== undefined && Number(known.version) >= tick) return false;
      const [written] = await this.entriesOf.put([{ ...mark, over: [known?.version ?? null] }]);
      return written === true || AGAIN;
    });
  }

  beat(beat: Beat): Promise<BeatResult> {
    return this.#registry.beat(beat);
  }

  instances(onUnreadable?: () => void): Promise<InstanceRecord[]> {
    return this.#forPeople(() => this.#registry.instances(onUnreadable));
  }

  async #entries({ name: lock, limit, onUnreadable }: HistoryQuery): Promise<HistoryEntry[]> {
    await this.#keeper.flush();
    const most = Math.max(0, Math.trunc(limit));
    if (most === 0) return [];
    const lists = await Promise.all(
      SHOWN.map((kind) => this.entriesOf.list({ lock, kinds: [kind], newest: true, limit: most })),
    );
    const all = lists.flatMap(({ entries }) => entries).toSorted((a, b) => b.place - a.place);
    const left = { run: most, miss: most };
    return readEach(all, shownEntry, onUnreadable).filter(({ type }) => (left[type] -= 1) >= 0);
  }
}

/*
 * The entries of a lock's history
 *
 *   id                          kind                  version                   body
 *   run, the fencing token      completed or wrong    ended, late, interrupted  the rest of a RunEntry
 *   miss, job, tick, instance   miss                  the same for each         the rest of a MissEntry
 *   told, job                   told                  the tick                  nothing: an instance has reported this tick, and older ones
 */

/** The kinds that people see. So many of each are kept, so completed runs do not push out those that went wrong. */
const SHOWN = ['completed', 'wrong', 'miss'] as const;

const [INTERRUPTED, LATE, ENDED, ONCE] = ['interrupted', 'late', 'ended', 'once'];

const idOf = (...parts: readonly unknown[]): string => asciiJson(parts);

function runEntry(
  { name: lock, fencingToken, holder: instance, job, tick, attempt }: Omit<Interruption, 'kept'>,
  { age: keep, count: most }: Retention,
  facts: { readonly outcome: RunEntry['outcome'] },
  how: { readonly version: string; readonly over: readonly (string | null)[] },
): NewEntry {
  const kind = facts.outcome === 'completed' ? 'completed' : 'wrong';
  const body = asciiJson({ fencingToken, instance, job, tick, attempt, ...facts });
  return { lock, id: idOf('run', fencingToken), ...how, kind, keep, most, body };
}

/** What an instance reports of a missed tick. */
function missEntry(miss: Miss, tick: number): NewEntry {
  const { name: lock, job, instance, reason, count, holder, since, until, kept } = miss;
  const body = asciiJson({ job, tick, instance, reason, count, holder, since, until });
  const { age: keep, count: most } = kept;
  const id = idOf('miss', job, tick, instance);
  return { lock, id, kind: 'miss', version: ONCE, over: [null], keep, most, body };
}

/** What people see of an entry; `undefined` if it cannot be read. */
function shownEntry({ lock, kind, at, body }: Entry): HistoryEntry | undefined {
  if (kind === 'miss') {
    const miss = readable(body, isMiss);
    return miss && { ...miss, type: 'miss', lock, at };
  }
  const run = readable(body, isRun);
  return run !== undefined && Number.isSafeInteger(run.fencingToken) && typeof run.outcome === 'string'
    ? { ...run, type: 'run', lock, at }
    : undefined;
}

/** How long the record of a run waits for others, ms: a second is enough for it and its write, unless the server is overloaded. */
const RECORDS_WAIT = 250;
/** A write without an answer delays later writes, and readers, for so long at most, ms. */
const WRITE_LIMIT = 10_000;
/** The most entries for one write. */
const BATCH_SIZE = 100;
/** How many records wait at most: more than the runs of a process that end at one moment. They take up to 20 MB while nobody answers. */
const MOST_WAITING = 10_000;
/** For so many kinds at once a clean-up looks for what is too much: in a small pool leases have to be renewed beside it. */
const LISTS_AT_ONCE = 10;
/** How many entries of one kind a clean-up deletes at most, and one call. */
const MOST_DROPPED = 1_000;
/** So many kinds of entries of locks are counted: when there are more, counting starts anew. */
const MOST_COUNTED = 10_000;

/**
 * Writes the entries of histories, and now and then deletes the oldest beyond their number: for each instance a tenth too many may stay.
 *
 * Nobody waits for the record of a run, and one that cannot be written is lost. While an answer is awaited, records gather for the next write.
 */
export class HistoryWriter {
  /** By their locks and ids, in the order in which they came. */
  readonly #waiting = new Map<string, NewEntry>();
  /** What waited when it began is being written. */
  #sending: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** How many entries are written before the next clean-up, by lock and kind. */
  readonly #left = new Map<string, number>();

  constructor(
    private readonly entries: LockEntries,
    private readonly clock: Clock,
  ) {}

  /** Writes a record soon. While nobody answers, the oldest are lost. */
  add(record: NewEntry): void {
    const { lock, id, over } = record;
    const key = JSON.stringify([lock, id]);
    // A release that was sent again, or that another one of the same lease has forestalled.
    const known = this.#waiting.get(key);
    if (known !== undefined && over !== 'any' && !over.includes(known.version)) return;
    this.#waiting.delete(key);
    this.#waiting.set(key, record);
    const [oldest = key] = this.#waiting.keys();
    if (this.#waiting.size > MOST_WAITING) this.#waiting.delete(oldest);
    if (this.#sending === undefined) this.#timer ??= this.clock.setTimer(() => this.#begin(), RECORDS_WAIT);
  }

  /** Resolves when all records that were added before are written, or lost, or nobody answers for long. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined) this.#begin();
    // Those that are being written, and those that waited meanwhile: whoever comes now waits for the time after that.
    for (let i = 0; i < 2; i++) await this.#sending;
  }

  /** Writes entries now, and deletes what is too much behind that. */
  async put(entries: readonly NewEntry[]): Promise<void> {
    await this.entries.put(entries);
    void this.#trim(entries);
  }

  /** Sends what waits, and then what has come meanwhile. */
  #begin(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending = this.#send().then(() => {
      this.#sending = undefined;
      if (this.#waiting.size > 0) this.#begin();
    });
  }

  async #send(): Promise<void> {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const some of partsOf(all, BATCH_SIZE)) {
      // An entry of a history is not worth more tries.
      const write = this.entries.put(some).then(
        () => this.#trim(some),
        () => undefined,
      );
      await noLongerThan(WRITE_LIMIT, write, this.clock);
    }
  }

  /** Deletes what is too much, where it is time to. If that fails, the next time does it. */
  async #trim(written: readonly NewEntry[]): Promise<void> {
    if (this.entries.trims !== true) await this.#dropSurplus(written).catch(() => undefined);
  }

  async #dropSurplus(written: readonly NewEntry[]): Promise<void> {
    const due = written.filter((entry) => this.#isDue(entry));
    for (const few of partsOf(due, LISTS_AT_ONCE)) {
      const lists = few.map(({ lock, kind, most: skip = Infinity }) =>
        this.entries.list({ lock, kinds: [kind], newest: true, bare: true, skip, limit: MOST_DROPPED }),
      );
      const beyond = (await Promise.all(lists)).flatMap(({ entries }) => entries);
      for (const some of partsOf(beyond, MOST_DROPPED)) await this.entries.drop(some);
    }
  }

  #isDue({ lock, kind, most }: NewEntry): boolean {
    if (most === undefined) return false;
    if (this.#left.size >= MOST_COUNTED) this.#left.clear();
    const key = JSON.stringify([lock, kind]);
    const left = this.#left.get(key) ?? 0;
    this.#left.set(key, left > 0 ? left - 1 : Math.ceil(most / 10) - 1);
    return left === 0;
  }
}

/** A read that fails has changed nothing. */
function asNotApplied(cause: unknown): never {
  if (!(cause instanceof StoreUnavailableError)) throw cause;
  throw new StoreUnavailableError(cause.message, { outcome: 'not-applied', refused: cause.refused, cause });
}
