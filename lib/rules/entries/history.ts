import type { Clock } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';
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
} from '../../contract/history-store.js';
import type { Caller } from '../../contract/fast-port.js';
import type { LeaseRef, ReleaseOptions, ReleaseResult } from '../../contract/lock-store.js';
import { readEach } from '../../contract/readable.js';
import type { LockEntries } from './entries.js';
import type { LockDocuments } from '../../contract/port.js';
import { NOTHING } from '../lock/document.js';
import { isHidden, missedTick, type SeenStarts, startsIn } from '../lock/inspect.js';
import { readableLock } from '../lock/state.js';
import { HistoryWriter } from './keeper.js';
import { Registry } from './registry.js';
import {
  endedEntry,
  interruptedEntry,
  missEntry,
  shownEntry,
  SHOWN,
  tells,
  toldEntry,
  toldKey,
} from './run-entries.js';

/** How often a mark is tried that others change at the same time. */
const TRIES = 10;

/** Reads what a lock tells of the starts of its jobs, and the store's time. */
export type LookAtStarts = (name: string) => Promise<SeenStarts & { readonly now: number }>;

/** Looks at documents. */
export const startsOf =
  (documents: Pick<LockDocuments, 'read'>): LookAtStarts =>
  async (name) => {
    const { now, documents: read } = await documents.read([name]);
    return { now, ...startsIn(read[0] === undefined ? NOTHING : readableLock(read[0]), now) };
  };

/** Runs a read for people. */
export type ReadForPeople = <T>(read: () => Promise<T>) => Promise<T>;

export interface EntryHistoryOptions {
  /** Bounds reads for people, of histories and queued calls, which must not delay anything else. @default not at all */
  readonly forPeople?: ReadForPeople;
  /** How long the record of a run waits for others, ms: what a write costs beside a release. @default 0 */
  readonly recordsWait?: number;
}

/** Rules 16 to 18: histories, over entries of locks. */
export class EntryHistory implements HistoryStore {
  readonly #keeper: HistoryWriter;
  readonly #registry: Registry;
  readonly #forPeople: ReadForPeople;

  constructor(
    private readonly entriesOf: LockEntries,
    private readonly look: LookAtStarts,
    clock: Clock,
    { forPeople = (read) => read(), recordsWait = 0 }: EntryHistoryOptions = {},
  ) {
    this.#keeper = new HistoryWriter(entriesOf, clock, recordsWait);
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
   * Keeps how the run of a lease has ended, unless that is known: a moment later, if at all.
   *
   * @param isLate whether the lease was over before, or may have been
   */
  ended(
    lease: LeaseRef,
    { outcome = 'completed', record }: Pick<ReleaseOptions, 'outcome' | 'record'>,
    isLate: boolean,
  ): void {
    if (record === undefined) return;
    const entry = endedEntry(lease, outcome, record, isLate);
    if (entry !== undefined) this.#keeper.add({ entry, kept: record.kept });
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
    await this.#keeper.put([{ entry: interruptedEntry(run), kept: run.kept }]);
  }

  entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    return this.#forPeople(() => this.#entries(query));
  }

  async miss(miss: Miss): Promise<MissResult> {
    const seen = await this.look(miss.name);
    const tick = missedTick(seen, seen.now, miss);
    const { kept } = miss;
    if (tick !== undefined) {
      await this.#keeper.put([{ entry: missEntry(miss, tick), kept }]);
      return { missed: true, tick };
    }
    // For people only.
    if (isHidden(seen, miss)) await this.#keeper.put([{ entry: missEntry(miss, miss.tick), kept }]);
    return { missed: false };
  }

  async told(alarm: Alarm): Promise<boolean> {
    const { lock, id } = toldKey(alarm);
    for (let tries = 0; tries < TRIES; tries++) {
      const [known] = (await this.entriesOf.list({ lock, ids: [id] })).entries;
      if (known !== undefined && tells(known, alarm)) return false;
      const [written] = await this.entriesOf.put([toldEntry(alarm, known)]);
      if (written === true) return true;
    }
    throw new StoreUnavailableError('Others noted other alarms of the job again and again meanwhile.', {
      outcome: 'not-applied',
    });
  }

  beat(beat: Beat): Promise<BeatResult> {
    return this.#registry.beat(beat);
  }

  instances(onUnreadable?: () => void, isDated?: (instance: string) => boolean): Promise<InstanceRecord[]> {
    return this.#forPeople(() => this.#registry.instances(onUnreadable, isDated));
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
