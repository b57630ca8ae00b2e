import type { Clock } from '../../clock.js';
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
  RunRecord,
} from '../history-store.js';
import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';
import type { SqlDialect } from './dialect.js';
import type { EntryRow } from './history-dialect.js';
import { HistoryReads } from './history-reads.js';
import { digestOf, endedRow, interruptedRow, missRows, TOLD, tellsOf, toldRow } from './history-row.js';
import { HistoryTables, type Part } from './history-tables.js';
import { HistoryTidy } from './history-tidy.js';
import { isTrue } from './is-true.js';
import type { LimitedReads } from './limited-reads.js';
import type { SqlLocks } from './locks.js';
import { isHidden, missedTick } from './missed-tick.js';
import type { Operations } from './operations.js';
import { RecordBatch } from './record-batch.js';

/** How a run has ended. */
interface Ended {
  readonly outcome: ReleaseOutcome;
  readonly record: RunRecord;
}

/**
 * Histories in two tables beside that of the locks: one of runs and misses, one of instances. No lock fails because of histories.
 */
export class SqlHistory<Table> implements HistoryStore {
  readonly #tables: HistoryTables<Table>;
  readonly #batch: RecordBatch;
  readonly #tidy: HistoryTidy;
  readonly #locks: SqlLocks;
  readonly #reads: HistoryReads<Table>;

  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    {
      locks,
      reads,
      migrate,
      clock,
    }: { locks: SqlLocks; reads: LimitedReads; migrate: boolean; clock: Clock },
  ) {
    this.#tables = new HistoryTables(dialect, operations, migrate);
    this.#batch = new RecordBatch((rows) => this.#insertEnds(rows), clock);
    this.#tidy = new HistoryTidy(dialect.history, clock);
    this.#locks = locks;
    const flush = (): Promise<void> => this.#batch.flush();
    this.#reads = new HistoryReads(dialect, operations, { tables: this.#tables, reads, flush });
  }

  init(): Promise<string | undefined> {
    return this.#tables.init();
  }

  /** Deletes at once entries that are too old, or too many. @internal for tests */
  async tidy(): Promise<void> {
    await this.#batch.flush();
    await this.#tidy.now();
  }

  /** Writes the records that still wait. */
  async close(): Promise<void> {
    await this.#batch.flush();
    await this.#tidy.done();
  }

  /** Keeps the record of an ended run, soon. */
  ended(lease: LeaseRef, { outcome, record }: Ended): void {
    const run = endedRow(lease, outcome, record);
    if (run === undefined) return;
    this.#tidy.note(lease.name, record.kept);
    this.#batch.add(run);
  }

  async interrupted(run: Interruption): Promise<void> {
    this.#tidy.note(run.name, run.kept);
    await this.#run(() => this.#insertNew(interruptedRow(run)), 'runs', run.name);
  }

  entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    return this.#reads.entries(query);
  }

  async miss(miss: Miss): Promise<MissResult> {
    const { name } = miss;
    const looked = await this.#locks.look([name]);
    const document = looked.of(name);
    const tick = document === undefined ? miss.tick : missedTick(miss, document, looked.now);
    if (tick === undefined) {
      if (document !== undefined && isHidden(miss, document)) {
        const [own] = missRows(miss, miss.tick);
        await this.#run(() => this.#insertNew(own), 'runs', name);
      }
      return { missed: false, first: false };
    }
    this.#tidy.note(name, miss.kept);
    const [own, marker] = missRows(miss, tick);
    const first = await this.#run(
      async () => {
        await this.#insertNew(own);
        return this.#insertNew(marker);
      },
      'runs',
      name,
    );
    return { missed: true, first, tick };
  }

  told(alarm: Alarm): Promise<boolean> {
    const { history } = this.dialect;
    const text = `SELECT data FROM {runs} WHERE name = ? AND kind = ? AND expires_at > ${history.now}`;
    return this.#run(
      async () => {
        // Another instance may report a newer tick between these two statements. That counts as later.
        const known = await history.read(text, [history.stored(alarm.name), TOLD]);
        return !known.some((row) => tellsOf(row, alarm)) && this.#insertNew(toldRow(alarm));
      },
      'runs',
      alarm.name,
    );
  }

  async beat({ instance, catalogue, jobs, ...told }: Beat): Promise<BeatResult> {
    const { history } = this.dialect;
    const list = digestOf('catalogue', catalogue);
    const result = await this.#run(async () => {
      if (jobs !== undefined) {
        // Replaces a list that somebody has damaged.
        const text = `INSERT INTO {instances} (id, seen_at, data) VALUES (?, ${history.now}, ?) ${history.overList}`;
        await history.write(text, [list, JSON.stringify(jobs)]);
      }
      const data = JSON.stringify({ instance, ...told });
      return history.beat({ id: digestOf('instance', instance), catalogue: list, data });
    }, 'instances');
    this.#tidy.begin();
    const { problem } = this.#tables;
    const answer = { time: Number(result?.['time']), known: isTrue(result?.['known']) };
    return problem === undefined ? answer : { ...answer, problem };
  }

  instances(onUnreadable?: () => void): Promise<InstanceRecord[]> {
    return this.#reads.instances(onUnreadable);
  }

  /** Writes ends of runs, if possible. Never rejects. */
  async #insertEnds(rows: readonly EntryRow[]): Promise<void> {
    // The next beat looks at the tables again.
    if (this.#tables.problem !== undefined) return;
    // No INSERT meets a row twice: of a release that was sent again, the first counts. The rows keep their order, by which they get their times.
    const once = new Map<string, EntryRow>();
    for (const row of rows) {
      const key = JSON.stringify([row.name, row.entry]);
      if (!once.has(key)) once.set(key, row);
    }
    const end = this.dialect.history.overInterruption;
    try {
      await this.#run(
        () => this.#insert([...once.values()], (values) => `INSERT INTO ${values} ${end}`),
        'runs',
      );
    } catch {
      // An entry of a history is not worth more tries.
    }
  }

  /** Writes an entry, unless it exists. Returns whether it did not. */
  async #insertNew(row: EntryRow): Promise<boolean> {
    const [start, end] = this.dialect.history.unlessKnown;
    return (await this.#insert([row], (values) => `${start} ${values} ${end}`)) > 0;
  }

  #insert(rows: readonly EntryRow[], around: (values: string) => string): Promise<number> {
    const { history } = this.dialect;
    const { now, int } = history;
    const marks = rows.map(() => `(?, ?, ?, ${now}, ${now} + ${int}, ?)`).join(', ');
    return history.write(
      around(`{runs} (name, entry, kind, noted_at, expires_at, data) VALUES ${marks}`),
      rows.flatMap(({ name, entry, kind, age, data }) => [
        history.stored(name),
        entry,
        kind,
        String(age),
        data,
      ]),
    );
  }

  /** Runs statements on one of the tables of histories only. */
  async #run<T>(operation: () => Promise<T>, part: Part, lock?: string): Promise<T> {
    await this.#tables.whenReady(part);
    return this.operations.run(
      () =>
        operation().catch((error: unknown) => {
          throw this.#tables.failed(error, part);
        }),
      lock === undefined ? {} : { lock },
    );
  }
}
