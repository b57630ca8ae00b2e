/*
 * lib/stores/sql: what the stores in databases share: a row for each lock, and tables beside it.
 * May not enter: SQL that only one kind of database understands.
 */
import { type Clock, systemClock } from '../../clock.js';
import { LockStateError, SchedulerLockConfigError, SchedulerLockError } from '../../errors.js';
import { DocumentLockStore } from '../../store/document-lock-store.js';
import { inspect } from '../../store/rules/inspect.js';
import { readableLock } from '../../store/state.js';
import type { QueuedCallStore } from '../queued-call-store.js';
import type { HistoryStore } from '../history-store.js';
import type { HintChannel, LeaseRef, ReleaseOptions } from '../lock-store.js';
import type { LockInfo } from '../lock-info.js';
import type { SqlDialect } from './dialect.js';
import { SqlDocuments } from './documents.js';
import { SqlQueuedCalls } from './queued-calls.js';
import { QueuedCallsReads } from './queued-calls-reads.js';
import { describeFailure } from './failure.js';
import { SqlHistory } from './history.js';
import { LimitedReads } from './limited-reads.js';
import { SqlLocks } from './locks.js';
import { Operations } from './operations.js';
import { SqlTable } from './sql-table.js';
import { TableError } from './table-judgement.js';

/** How long `init` waits for a migration, ms: less than the application waits for `init`, so that the error can name the migration. */
const INIT_WAIT = 8_000;

/** Leases in a table of a database, a row each. The rules are those of {@link DocumentLockStore}; the database's clock decides. */
export class SqlLockStore<Table> extends DocumentLockStore {
  readonly queuedCalls: QueuedCallStore;
  readonly history: Required<HistoryStore>;
  readonly #queuedCalls: SqlQueuedCalls<Table>;
  readonly #queuedCallsReads: QueuedCallsReads<Table>;
  readonly #history: SqlHistory<Table>;
  readonly #dialect: SqlDialect<Table>;
  readonly #table: SqlTable<Table>;
  readonly #operations: Operations<Table>;
  readonly #documents: SqlDocuments<Table>;
  /** Reads for people. */
  readonly #reads: LimitedReads;

  /** @internal */
  constructor(
    dialect: SqlDialect<Table>,
    { migrate, clock = systemClock }: { migrate: boolean; clock?: Clock },
  ) {
    const table = new SqlTable(dialect, { migrate, clock });
    const operations = new Operations(dialect, table, clock);
    const documents = new SqlDocuments(dialect, operations);
    super(documents, {
      clock,
      locked: (name) => isLocked(name, dialect.table),
      hint: ({ process, token }) => void dialect.hint?.(process, token),
    });
    this.#dialect = dialect;
    this.#table = table;
    this.#operations = operations;
    this.#documents = documents;
    this.#reads = new LimitedReads(clock, (error) => dialect.failure(error));
    const common = { locks: new SqlLocks(documents, this), reads: this.#reads, migrate, clock };
    const history = new SqlHistory(dialect, operations, common);
    this.history = this.#history = history;
    this.queuedCalls = this.#queuedCalls = new SqlQueuedCalls(dialect, operations, history, common);
    this.#queuedCallsReads = new QueuedCallsReads(dialect, operations, this.#reads);
  }

  /** Judged by the columns of the table; by the name alone if the store could not look at the table yet. */
  override nameProblem(name: string): string | undefined {
    return this.#operations.nameProblem(name);
  }

  /** The table, with its schema as soon as that is known. */
  get label(): string {
    return `the table ${this.#dialect.table} of ${this.#dialect.kind}`;
  }

  /**
   * Looks at the table, and creates it or adds what is missing unless `migrate` is false.
   *
   * @throws SchedulerLockConfigError if the table cannot be used (the message says what to do), or if the database rejects the
   *   credentials
   * @throws StoreUnavailableError if the database cannot be reached now, or if the migration takes long; the migration goes on
   */
  async init(): Promise<void> {
    this.#table.open();
    try {
      await this.#table.whenReady(INIT_WAIT);
    } catch (error) {
      if (error instanceof TableError) throw new SchedulerLockConfigError([`store: ${error.message}`]);
      if (!(error instanceof SchedulerLockError) && this.#dialect.failure(error) === 'denied') {
        throw new SchedulerLockConfigError([`store: the database refused: ${describeFailure(error)}.`]);
      }
      throw this.#operations.failed(error);
    }
  }

  /**
   * Creates the table, or adds the missing columns to one that ShedLock has created. Does nothing if the table is complete. Any
   * number of instances may call `migrate()` at once. While others use the table, `migrate()` tries again and again. It also waits for a
   * migration that the start of the application has begun.
   *
   * @throws SchedulerLockConfigError if the table cannot be used after the migration
   * @throws StoreUnavailableError if the database cannot be reached or refuses, or if the store is closed meanwhile
   */
  async migrate(): Promise<void> {
    try {
      await this.#table.migrate();
    } catch (error) {
      if (error instanceof TableError) throw new SchedulerLockConfigError([`store: ${error.message}`]);
      throw this.#operations.failed(error);
    }
  }

  /**
   * Writes the records of ended runs that still wait. Ends a migration that is still being tried: a statement that was sent ends by
   * itself, within seconds. The store has nothing else open. The pool is yours, and stays open.
   */
  async close(): Promise<void> {
    this.#table.close();
    await this.#history.close();
  }

  /** Closes connections of a pool that do not answer. Clients other than pools have to close such connections themselves. */
  reconnect(silence?: number): void {
    this.#dialect.reconnect(silence);
  }

  /** `undefined` if the database sends no hints: then calls in line find out by asking. */
  override hints(process: string, called: (token: string) => void): HintChannel | undefined {
    return this.#dialect.hints?.(process, called);
  }

  /** @returns nothing to wait for, unless a queued call has run */
  protected override ending(
    lease: LeaseRef,
    { outcome = 'completed', record }: ReleaseOptions,
  ): Promise<void> | undefined {
    if (record !== undefined) this.#history.ended(lease, { outcome, record });
    return lease.queuedCall === undefined ? undefined : this.#queuedCalls.end(lease, outcome);
  }

  override async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    if (names?.length === 0) return [];
    const { table: shown } = this.#dialect;
    const which = names === undefined ? 'all' : [...new Set(names)];
    const read = () => this.#documents.read(which, (error) => this.#reads.refused(shown, error));
    // To read all rows of a large table may take long.
    const limit = names === undefined ? Infinity : undefined;
    const { now, documents } = await this.#reads.within(shown, read, limit);
    const queuedCalls = await this.#queuedCallsReads.of(names);
    return documents.map((found) => {
      const document = readableLock(found);
      const { name } = found;
      return { ...inspect(name, document, now), ...queuedCalls(name) };
    });
  }
}

const isLocked = (name: string, table: string): LockStateError =>
  new LockStateError(
    name,
    `another transaction has locked its row in ${table}, so nothing was changed. End that transaction.`,
  );
