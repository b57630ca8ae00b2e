import type { Clock } from '../../base/clock.js';
import { LockStateError, SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { LockEntries, NewEntry, SeenEntry } from '../../rules/entries/entries.js';
import type { Row, SqlDialect } from './dialect.js';
import { type EntryRow, partly } from './entries-dialect.js';
import { digestOf, EntryReads, marks } from './entry-reads.js';
import { describeFailure } from './failure.js';
import type { Operations } from './operations.js';

/** How often an instance deletes what is over, ms. */
const TIDY = 300_000;
/** For how long it has to be over by then, ms: so nothing is deleted that a write has just met. */
const OVER = 60_000;

/**
 * The entries of locks in a table beside that of the locks, a row each. The store creates the table if it is missing and the store may. It
 * goes on without it: then it keeps no histories and no queued calls, and says why.
 */
export class SqlEntries<Table> extends EntryReads implements LockEntries {
  /** Whether this store is to write, and not only to read. */
  #writes = false;
  #isReady = false;
  #opening: Promise<string | undefined> | undefined;
  #tidied = -Infinity;
  #tidying: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    private readonly options: { readonly migrate: boolean; readonly clock: Clock },
  ) {
    super(dialect.entries);
  }

  /** A store that was not opened only reads: to it, a missing table is as good as an empty one. */
  protected select(text: string, values: readonly unknown[], isLoose = false): Promise<readonly Row[]> {
    const orNone = (error: unknown): readonly Row[] =>
      isLoose && !this.#writes && this.dialect.failure(error) === 'table' ? [] : this.#failed(error);
    return this.operations.beside(() => this.entries.read(text, values).catch(orNone));
  }

  /** Makes the table ready. @returns why nothing can be written; `undefined` if it can */
  init(): Promise<string | undefined> {
    this.#writes = true;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #open(): Promise<string | undefined> {
    const problem = await this.operations.run(() => this.#prepare());
    this.#isReady = problem === undefined;
    return problem;
  }

  /** Creates the table if it is missing, and tries it with statements that read and write nothing. */
  async #prepare(creates = this.options.migrate): Promise<string | undefined> {
    const { entries } = this;
    const { columns } = entries;
    const nothing = "WHERE id = '' AND 1 = 0";
    try {
      await entries.read(
        `INSERT INTO {entries} (${columns}) SELECT ${columns} FROM {entries} ${nothing}`,
        [],
      );
      await entries.read(`UPDATE {entries} SET body = '' ${nothing}`, []);
      await entries.read(`DELETE FROM {entries} ${nothing}`, []);
      return undefined;
    } catch (error) {
      const problem = this.#problemOf(error);
      if (!creates || this.dialect.failure(error) !== 'table') return problem;
    }
    try {
      for (const statement of entries.creation) await this.dialect.migrate(statement);
    } catch (error) {
      return this.#problemOf(error);
    }
    return this.#prepare(false);
  }

  /** Why the table cannot be used. @throws the error, if it says nothing of that */
  #problemOf(error: unknown): string {
    const failure = error instanceof SchedulerLockError ? undefined : this.dialect.failure(error);
    if (failure !== 'table' && failure !== 'forbidden') throw error;
    return (
      `The table ${this.entries.table} cannot be used (${describeFailure(error)}), so neither histories nor queued calls are kept. If it ` +
      `lacks a column, add that, or drop the table with what is in it. Then run this as a user who may:\n${this.dialect.setup()}`
    );
  }

  /** The database may have been away when the application started, and somebody may have run the SQL meanwhile. */
  async #whenReady(): Promise<void> {
    const problem = this.#isReady ? undefined : await this.init();
    if (problem !== undefined) throw refusal(problem);
  }

  /** Resolves when nothing is being deleted. */
  async close(): Promise<void> {
    await this.#tidying;
  }

  async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    if (entries.length === 0) return [];
    await this.#whenReady();
    const rows = entries.map(rowOf);
    const written = await this.#write(rows);
    this.#tidy();
    const left = rows.filter(({ slot }, i) => slot !== null && written[i] === false);
    if (left.length === 0) return written;
    try {
      if ((await this.#freeSlots(left)) === 0) return written;
      const again = await this.#write(left);
      return rows.map((row, i) => written[i] === true || again[left.indexOf(row)] === true);
    } catch (error) {
      throw written.includes(true) ? partly(error) : error;
    }
  }

  forPeople<T>(read: () => Promise<T>): Promise<T> {
    return this.operations.forPeople(this.entries.table, read());
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    if (seen.length === 0) return 0;
    const { entries } = this;
    await this.#whenReady();
    // By version, of which there are few. With pairs of version and digest, MariaDB would look at all rows, and PostgreSQL takes no thousands of pairs.
    const digests = new Map<string, string[]>();
    for (const one of seen) {
      const same = digests.get(one.version) ?? [];
      same.push(digestOf(one));
      digests.set(one.version, same);
    }
    const which = [...digests.values()].map((some) => `(version = ? AND digest IN (${marks(some)}))`);
    const values = [...digests].flatMap(([version, some]) => [version, ...some]);
    const text = `DELETE FROM {entries} WHERE ${which.join(' OR ')}`;
    return this.#run(() => entries.write(text, values));
  }

  /**
   * One statement writes entries that may be written over the same. If the database refuses one of many, writes the halves: that one counts as
   * not written, and stops no other.
   */
  async #write(rows: readonly EntryRow[]): Promise<boolean[]> {
    const kinds = [...new Set(rows.map(kindOf))];
    if (kinds.length === 1)
      try {
        return await this.entries.put(rows, (statement) => this.#run(statement, rows[0]?.name));
      } catch (error) {
        if (!(error instanceof LockStateError) || rows.length === 1) throw error;
      }
    const half = Math.ceil(rows.length / 2);
    const parts =
      kinds.length === 1
        ? [rows.slice(0, half), rows.slice(half)]
        : kinds.map((kind) => rows.filter((row) => kindOf(row) === kind));
    const written = new Set<EntryRow>();
    for (const some of parts)
      try {
        const answers = await this.#write(some);
        for (const [i, row] of some.entries()) if (answers[i] === true) written.add(row);
      } catch (error) {
        if (!(error instanceof LockStateError)) throw written.size > 0 ? partly(error) : error;
      }
    return rows.map((row) => written.has(row));
  }

  /** Deletes what is over, and still in the slots of these. Returns how many there were. */
  #freeSlots(rows: readonly EntryRow[]): Promise<number> {
    const { entries } = this;
    const slots = rows.flatMap(({ slot }) => slot ?? []);
    const text = `DELETE FROM {entries} WHERE slot IN (${marks(slots)}) AND expires_at <= ${entries.now}`;
    return this.#run(() => entries.write(text, slots));
  }

  /** Runs a statement on this table only. */
  #run<T>(statement: () => Promise<T>, lock?: string): Promise<T> {
    return this.operations.run(() => statement().catch(this.#failed), lock);
  }

  readonly #failed = (error: unknown): never => {
    const problem = this.#problemOf(error);
    // The next write looks again.
    this.#isReady = false;
    throw refusal(problem);
  };

  /** Deletes what is over, in the background, unless the last time is recent. */
  #tidy(): void {
    const now = this.options.clock.monotonic();
    if (now - this.#tidied < TIDY) return;
    this.#tidied = now;
    const { entries } = this;
    const text = `DELETE FROM {entries} WHERE expires_at < ${entries.now} - ${OVER}`;
    // If it fails, the next time does it.
    this.#tidying = this.#run(() => entries.write(text, [])).catch(() => undefined);
  }
}

const refusal = (problem: string): StoreUnavailableError =>
  new StoreUnavailableError(problem, { outcome: 'not-applied', refused: true });

const rowOf = ({ lock, id, slot, job, keep, ...rest }: NewEntry): EntryRow => ({
  ...rest,
  digest: digestOf({ lock, id }),
  name: lock,
  id,
  slot: slot === undefined ? null : digestOf({ lock, id: slot }),
  job: job ?? null,
  keep: Math.ceil(keep),
});

const kindOf = ({ over }: EntryRow): string =>
  over === 'any' || over.includes(null) ? JSON.stringify(over) : 'seen';
