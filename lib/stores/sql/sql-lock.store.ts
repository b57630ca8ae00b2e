/*
 * lib/stores/sql: what the stores in databases share: a row for each lock, and tables beside it.
 * May not enter: SQL that only one kind of database understands.
 */
import { type Clock, systemClock } from '../../clock.js';
import {
  LockStateError,
  SchedulerLockConfigError,
  SchedulerLockError,
  StoreUnavailableError,
} from '../../errors.js';
import type { FastPort } from '../fast-port.js';
import { isWaiting } from '../line.js';
import type { QueuedCallStore } from '../queued-call-store.js';
import type { HistoryStore } from '../history-store.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendOptions,
  ExtendResult,
  HintChannel,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseOutcome,
  ReleaseResult,
} from '../lock-store.js';
import type { LockInfo } from '../lock-info.js';
import { NOTHING_RAN } from '../rules.js';
import {
  AGAIN,
  isPassedOver,
  mayBeForgotten,
  readAttempt,
  readMissedRelease,
  type SeenLock,
} from './answers.js';
import { Attempts, type GoOn } from './attempts.js';
import type { GivenBack, SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';
import { SqlQueuedCalls } from './queued-calls.js';
import { QueuedCallsReads } from './queued-calls-reads.js';
import { SqlHistory } from './history.js';
import type { EntryRow } from './history-dialect.js';
import { lineInfo, SqlLines } from './lines.js';
import { LimitedReads } from './limited-reads.js';
import { lockInfo, type LockRow } from './lock-row.js';
import { giveUp, Operations, TRYING } from './operations.js';
import { Renewal } from './renewal.js';
import { SqlTable } from './sql-table.js';
import { TableError } from './table-judgement.js';

/** How long `init` waits for a migration, ms: less than the application waits for `init`, so that the error can name the migration. */
const INIT_WAIT = 8_000;

/**
 * Leases in a table of a database. Each change of a row is one statement, in a transaction of its own, on the database's clock. The
 * statement itself reads the row and decides. {@link Attempts} may refuse attempts by the rows that it has read.
 */
export class SqlLockStore<Table> implements LockStore {
  readonly queuedCalls: QueuedCallStore;
  readonly history: Required<HistoryStore>;
  readonly #queuedCalls: SqlQueuedCalls<Table>;
  readonly #queuedCallsReads: QueuedCallsReads<Table>;
  readonly #history: SqlHistory<Table>;
  readonly #dialect: SqlDialect<Table>;
  readonly #table: SqlTable<Table>;
  readonly #operations: Operations<Table>;
  readonly #clock: Clock;
  /** Reads for people have a limit of time. */
  readonly #reads: LimitedReads;
  readonly #lines: SqlLines<Table>;
  readonly #attempts = new Attempts(
    (names) => this.#readRows(names),
    (request, goOn) => this.#attempt(request, goOn),
  );

  /** @internal */
  constructor(
    dialect: SqlDialect<Table>,
    { migrate, clock = systemClock }: { migrate: boolean; clock?: Clock },
  ) {
    this.#dialect = dialect;
    this.#lines = new SqlLines(dialect);
    this.#table = new SqlTable(dialect, { migrate, clock });
    this.#operations = new Operations(dialect, this.#table, clock);
    this.#clock = clock;
    this.#reads = new LimitedReads(clock, (error) => dialect.failure(error));
    const common = { reads: this.#reads, migrate, clock };
    const history = new SqlHistory(dialect, this.#operations, common);
    this.history = this.#history = history;
    this.queuedCalls = this.#queuedCalls = new SqlQueuedCalls(dialect, this.#operations, history, common);
    this.#queuedCallsReads = new QueuedCallsReads(dialect, this.#operations, this.#reads);
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

  /** Judged by the columns of the table; `undefined` if the store could not look at the table yet. */
  nameProblem(name: string): string | undefined {
    return this.#operations.nameProblem(name);
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return new Promise((answered, failed) => this.#attempts.acquire(request, { answered, failed }));
  }

  /** Does not send an attempt whose caller has given up. @internal */
  readonly fastPort: FastPort = {
    standsFor: METHODS,
    acquire: (request, told) => this.#attempts.acquire(request, told),
    release: (lease, options, told) =>
      void this.release(lease, options).then(
        (result) => told.answered(result),
        (error: unknown) => told.failed(error as Error),
      ),
  };

  /** Closes connections of a pool that do not answer. Clients other than pools have to close such connections themselves. */
  reconnect(silence?: number): void {
    this.#dialect.reconnect(silence);
  }

  /** `undefined` if the database sends no hints: then calls in line find out by asking. */
  hints(process: string, called: (token: string) => void): HintChannel | undefined {
    return this.#dialect.hints?.(process, called);
  }

  /** One attempt by itself. */
  #attempt(request: AcquireRequest, goOn: GoOn): Promise<AcquireResult> {
    // A first attempt mostly finds a free lock, so it does not read the line first.
    let isFirst = request.wait?.place === undefined && request.wait?.notBefore === undefined;
    return this.#operations.run<AcquireResult>(
      async (table) => {
        if (isWaiting(request) && !isFirst) return this.#lines.attempt(table, request, goOn);
        const row = await this.#dialect.attempt(table, request, { goOn });
        if (isPassedOver(request, row)) return this.#lines.call(table, request.name);
        isFirst = false;
        return isWaiting(request) && row.granted === null ? AGAIN : readAttempt(request, row);
      },
      // The lock had a new holder each time, so another holder has the lock.
      () => ({ acquired: false, reason: 'held' }),
      { lock: request.name, limit: Math.min(TRYING, request.ttl / 3), goOn },
    );
  }

  async extend(leases: readonly LeaseRef[], { limit = TRYING }: ExtendOptions = {}): Promise<ExtendResult[]> {
    if (leases.length === 0) return [];
    const begun = this.#clock.monotonic();
    const passed = (): number => this.#clock.monotonic() - begun;
    const late = (): boolean => passed() >= limit / 2;
    const failed = (error: unknown, lock: string): SchedulerLockError => this.#operations.failed(error, lock);
    const renewal = new Renewal(this.#dialect, leases, late, failed);
    for (let tries = 1; ; tries++) {
      try {
        await this.#operations.run((table) => renewal.try(table), giveUp, {
          limit: limit - passed(),
          ofLease: true,
        });
      } catch (error) {
        if (tries === 1) throw error;
        // Earlier tries have renewed other leases.
        return renewal.results(error as SchedulerLockError);
      }
      const isOver = renewal.done || !(await this.#operations.mayTryAgain(tries, begun + limit / 2));
      if (isOver) return renewal.results();
    }
  }

  release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const { outcome = 'completed', keepFor = 0, record } = options;
    return this.#operations.run(
      async (table): Promise<ReleaseResult | typeof AGAIN> => {
        if (lease.queuedCall !== undefined) await this.#queuedCalls.end(lease, outcome);
        if (lease.wait !== undefined && outcome === NOTHING_RAN) await this.#lines.leave(table, lease);
        const giveBack = (run?: EntryRow): Promise<GivenBack | SeenLock> =>
          this.#dialect.giveBack(table, lease, { outcome, keepFor }, run);
        const row = await (record === undefined
          ? giveBack()
          : this.#history.withRelease(lease, { outcome, record }, giveBack));
        if (!('live' in row)) return this.#missedRelease(table, lease, { row, outcome });
        // The lease is released even if this fails: the first in line also asks by itself.
        if (row.live && row.line === true) await this.#lines.call(table, lease.name).catch(() => undefined);
        return row.live ? { released: true } : { released: false, reason: 'expired' };
      },
      giveUp,
      { lock: lease.name, ofLease: true },
    );
  }

  async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    if (names?.length === 0) return [];
    const { table: shown } = this.#dialect;
    const tell = (error: unknown): never => {
      throw this.#reads.refused(shown, error);
    };
    const read = (): Promise<LockRow[]> =>
      this.#operations.run((table) => this.#dialect.rows(table, names).catch(tell), giveUp, { reads: true });
    // To read all rows of a large table may take long.
    const rows = await this.#reads.within(shown, read, names === undefined ? Infinity : undefined);
    const queuedCalls = await this.#queuedCallsReads.of(names);
    return rows.map((row) => ({ ...lockInfo(row), ...lineInfo(row), ...queuedCalls(row.name) }));
  }

  /** Reads the rows of some locks at once. */
  async #readRows(names: readonly [string, ...string[]]): Promise<LockRow[]> {
    try {
      return await this.#operations.run((table) => this.#dialect.rows(table, names), giveUp, {
        lock: names[0],
      });
    } catch (error) {
      // One of the names may be the reason.
      if (error instanceof LockStateError) return [];
      const { message, outcome, refused } = error as StoreUnavailableError;
      // The connection may be the reason: the attempts find out by themselves.
      if (outcome === 'unknown') return [];
      throw new StoreUnavailableError(message, { outcome: 'not-applied', refused });
    }
  }

  async #missedRelease(
    table: Table,
    lease: LeaseRef,
    { row, outcome }: { row: SeenLock; outcome: ReleaseOutcome },
  ): Promise<ReleaseResult | typeof AGAIN> {
    const result = readMissedRelease(lease, row);
    // 1. Records the end, so that no late renewal restores the lease.
    // 2. Not for a lease whose grant was never answered (fencing token 0): such a lease can never be restored, and its end could hide a
    //    live lease.
    if (result === AGAIN || lease.fencingToken === 0 || !mayBeForgotten(lease, row)) return result;
    const recorded = await this.#dialect.writeBack(table, lease, row.by, outcome);
    return recorded ? { released: false, reason: 'expired' } : result;
  }
}

const METHODS = { acquire: SqlLockStore.prototype.acquire, release: SqlLockStore.prototype.release };
