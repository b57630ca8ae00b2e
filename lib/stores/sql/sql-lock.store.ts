/*
 * lib/stores/sql: what the stores in databases share: a row for each lock, and tables beside it.
 * May not enter: SQL that only one kind of database understands.
 */
import { type Clock, systemClock } from '../../base/clock.js';
import { LockStateError, SchedulerLockConfigError, SchedulerLockError } from '../../base/errors.js';
import { DocumentLockStore } from '../../rules/documents/document-lock-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import { type SqlDialect, TRY_LIMIT } from './dialect.js';
import { SqlDocuments } from './documents.js';
import { SqlEntries } from './entries.js';
import { cureOf, describeFailure } from './failure.js';
import { Operations } from './operations.js';
import { SqlTable, TableError } from './sql-table.js';

/** Leases in a table of a database, a row each. The rules are those of {@link DocumentLockStore}; the database's clock decides. */
export class SqlLockStore<Table> extends DocumentLockStore {
  readonly #entries: SqlEntries<Table>;
  readonly #dialect: SqlDialect<Table>;
  readonly #table: SqlTable<Table>;
  readonly #operations: Operations<Table>;
  readonly #documents: SqlDocuments<Table>;

  /** @internal */
  constructor(
    dialect: SqlDialect<Table>,
    { migrate, clock = systemClock }: { migrate: boolean; clock?: Clock },
  ) {
    const table = new SqlTable(dialect, { migrate, clock });
    const operations = new Operations(dialect, table, clock);
    const documents = new SqlDocuments(dialect, operations, table);
    const entries = new SqlEntries(dialect, operations, { migrate, clock });
    super(documents, {
      clock,
      entries,
      locked: (name) => isLocked(name, dialect.table),
      forPeople: (read) => entries.forPeople(read),
    });
    this.#dialect = dialect;
    this.#table = table;
    this.#operations = operations;
    this.#documents = documents;
    this.#entries = entries;
  }

  /** The table, with its schema as soon as that is known. */
  get label(): string {
    return `the table ${this.#dialect.table} of ${this.#dialect.kind}`;
  }

  /**
   * Looks at the table, and creates it or adds what is missing unless `migrate` is false. Then tries to read and to write it.
   *
   * @throws SchedulerLockConfigError if the table cannot be used (the message says what to do), or if the database rejects the
   *   credentials
   * @throws StoreUnavailableError if the database cannot be reached now
   */
  async init(): Promise<void> {
    try {
      await this.#table.whenReady();
    } catch (error) {
      const isDenied = !(error instanceof TableError) && this.#dialect.failure(error) === 'denied';
      if (!isDenied) throw this.#startError(error);
      const reason = `${describeFailure(error)}.${cureOf(error)}`;
      throw new SchedulerLockConfigError([`store: the database refused: ${reason}`]);
    }
  }

  /** After {@link init}: which settings a pool lacks that work without, until a connection or a statement hangs; `undefined`: none. */
  async warning(): Promise<string | undefined> {
    return this.#dialect.warning?.();
  }

  /**
   * Creates the table, or adds the missing columns to one that ShedLock has created. Does nothing if the table is complete. Any
   * number of instances may call `migrate()` at once. While others use the table, `migrate()` tries again for some seconds.
   *
   * @throws SchedulerLockConfigError if the table cannot be used after the migration
   * @throws StoreUnavailableError if the database cannot be reached or refuses
   */
  async migrate(): Promise<void> {
    await this.#table.migrate().catch((error: unknown) => {
      throw this.#startError(error);
    });
  }

  #startError(error: unknown): SchedulerLockError {
    if (error instanceof TableError) return new SchedulerLockConfigError([`store: ${error.message}`]);
    return this.#operations.failed(error);
  }

  /** Writes the records of ended runs that still wait. The store has nothing else open. The pool is yours, and stays open. */
  override async close(): Promise<void> {
    await super.close();
    await this.#entries.close();
  }

  /** Closes connections of a pool that do not answer. Clients other than pools have to close such connections themselves. */
  reconnect(silence?: number): void {
    this.#dialect.reconnect(silence);
  }

  override async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    if (names?.length === 0) return [];
    const read = this.#documents.read(names === undefined ? 'all' : [...new Set(names)], true);
    // To read all rows of a large table may take long.
    const limit = names === undefined ? TRY_LIMIT : undefined;
    return this.shown(await this.#operations.forPeople(this.#dialect.table, read, limit));
  }
}

const isLocked = (name: string, table: string): LockStateError =>
  new LockStateError(
    name,
    `another transaction has locked its row in ${table}, so nothing was changed. End that transaction.`,
  );
