import type { Clock } from '../../clock.js';
import { SchedulerLockError } from '../../errors.js';
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
import { isTrue } from './answers.js';
import { BriefWaits, LATE } from './brief-waits.js';
import type { SqlDialect } from './dialect.js';
import { errorsIn, isNotConnected } from './failure.js';
import type { EntryRow } from './history-dialect.js';
import { HistoryReads } from './history-reads.js';
import { digestOf, endedRow, interruptedRow, missRows, TOLD, tellsOf, toldRow } from './history-row.js';
import { HistoryTables, type Part } from './history-tables.js';
import { HistoryTidy } from './history-tidy.js';
import type { LimitedReads } from './limited-reads.js';
import { isHidden, missedTick } from './missed-tick.js';
import { giveUp, type Operations } from './operations.js';
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
  readonly #waits: BriefWaits;
  readonly #reads: HistoryReads<Table>;

  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    { reads, migrate, clock }: { reads: LimitedReads; migrate: boolean; clock: Clock },
  ) {
    this.#tables = new HistoryTables(dialect, operations, migrate);
    this.#batch = new RecordBatch((rows) => this.#insertEnds(rows), clock);
    this.#tidy = new HistoryTidy(dialect.history, clock);
    this.#waits = new BriefWaits(clock);
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

  /**
   * Releases a lease, and keeps the record of its run. If the record cannot be written, or not soon, releases the lease without the
   * record.
   *
   * @param giveBack releases the lease, and writes this entry in the same statement
   */
  async withRelease<T>(lease: LeaseRef, ended: Ended, giveBack: (run?: EntryRow) => Promise<T>): Promise<T> {
    const run = this.#endedRow(lease, ended);
    if (run === undefined) return giveBack();
    if (!this.dialect.history.inRelease) {
      const answer = await giveBack();
      this.#batch.add(run);
      return answer;
    }
    if (this.#tables.problem !== undefined) return giveBack();
    try {
      const answer = await this.#waits.within(
        () => giveBack(run),
        () => this.#batch.add(run),
      );
      return answer === LATE ? await giveBack() : answer;
    } catch (error) {
      if (!this.#mayBeOfRecord(error)) throw error;
      const answer = await giveBack();
      // The release without the record succeeded, so the record was the reason.
      this.#tables.failed(error, 'runs');
      return answer;
    }
  }

  /** Keeps the record of an ended run whose lease goes on. Never rejects. */
  async ended(lease: LeaseRef, ended: Ended): Promise<void> {
    const run = this.#endedRow(lease, ended);
    if (run === undefined) return;
    const later = (): void => this.#batch.add(run);
    if (this.dialect.history.inRelease) await this.#waits.within(() => this.#insertEnds([run]), later);
    else later();
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
    const [row] = await this.operations.run((table) => this.dialect.rows(table, [name]), giveUp, {
      lock: name,
    });
    const tick = row === undefined ? miss.tick : missedTick(miss, row);
    if (tick === undefined) {
      if (row !== undefined && isHidden(miss, row)) {
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

  #endedRow(lease: LeaseRef, { outcome, record }: Ended): EntryRow | undefined {
    const row = endedRow(lease, outcome, record);
    if (row !== undefined) this.#tidy.note(lease.name, record.kept);
    return row;
  }

  /** Whether a statement was certainly not carried out, and the record in it may be the reason. */
  #mayBeOfRecord(error: unknown): boolean {
    if (error instanceof SchedulerLockError || [...errorsIn(error)].some(isNotConnected)) return false;
    const failure = this.dialect.failure(error);
    return failure !== 'conflict' && failure !== 'unknown';
  }

  /** Writes ends of runs, if possible. Never rejects. */
  async #insertEnds(rows: readonly EntryRow[]): Promise<void> {
    // The next beat looks at the tables again.
    if (this.#tables.problem !== undefined) return;
    try {
      await this.#run(
        () =>
          this.#insert(rows, (values) => `INSERT INTO ${values} ${this.dialect.history.overInterruption}`),
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
      giveUp,
      lock === undefined ? {} : { lock },
    );
  }
}
