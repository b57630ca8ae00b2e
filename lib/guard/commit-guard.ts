/*
 * lib/guard: what a job's own database remembers of its runs, so that the work of a tick is committed once, and never late.
 * May not enter: stores, Nest, a driver. A transaction is known by its shape.
 */
import {
  AlreadyCommittedError,
  LockNotHeldError,
  LockSupersededError,
  SchedulerLockConfigError,
} from '../base/errors.js';
import { show, unknownNames } from '../base/wording.js';
import { currentLock, type Lock } from '../lock/current-lock.js';
import { type Dialect, type Key, MYSQL, POSTGRES } from './statements.js';
import { type GuardedTransaction, misused, type Query, queryOf } from './transactions.js';

/** What speaks the SQL of the job's database. MariaDB is `mysql`. */
export type GuardDialect = 'postgres' | 'mysql';

/** Options of a {@link CommitGuard}. */
export interface CommitGuardOptions {
  /** Of the job's database. */
  readonly dialect: GuardDialect;
  /**
   * Name of its table, `schema.table` if need be. Two fleets that work in one database need one each.
   *
   * @default 'scheduler_lock_commits'
   */
  readonly table?: string | undefined;
}

/** Options of {@link CommitGuard.commit}. */
export interface CommitOptions {
  /**
   * Names the transaction, if a run has several: up to 64 characters. Each step is committed once per tick.
   *
   * @default the run has one transaction
   */
  readonly step?: string | undefined;
}

const DIALECTS: Readonly<Record<GuardDialect, Dialect>> = { postgres: POSTGRES, mysql: MYSQL };
const NAMES = ['dialect', 'table'];
const MAX_STEP = 64;

/**
 * Lets the work of a tick be committed once, in the database that the job writes to, wherever its lock is kept. The table of the guard
 * has to be in that database: see {@link CommitGuard.sql} and {@link CommitGuard.createTable}.
 *
 * ```ts
 * await dataSource.transaction(async (tx) => {
 *   await guard.commit(tx);
 *   await tx.insert(Invoice, invoices);
 * });
 * ```
 */
export class CommitGuard {
  readonly #dialect: Dialect;
  readonly #table: string;
  /** The steps that a run has committed, or tried to. */
  readonly #steps = new WeakMap<Lock, string>();

  /** @throws SchedulerLockConfigError for options that cannot work */
  constructor(options: CommitGuardOptions) {
    const { dialect, table = 'scheduler_lock_commits' } = options;
    const problems = unknownNames(options, NAMES);
    if (!Object.hasOwn(DIALECTS, dialect))
      problems.push(`dialect: got ${show(dialect)}. Give 'postgres' or 'mysql'.`);
    if (typeof table !== 'string' || !/^[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)?$/u.test(table))
      problems.push(`table: got ${show(table)}. Give a name of letters, digits, _ and -, or schema.table.`);
    if (problems.length > 0)
      throw new SchedulerLockConfigError(problems.map((problem) => `CommitGuard: ${problem}`));
    this.#dialect = DIALECTS[dialect];
    this.#table = this.#dialect.quote(table);
  }

  /** The statement that creates the table, for a migration. It does nothing if the table is there. */
  get sql(): string {
    return this.#dialect.creation(this.#table);
  }

  /**
   * Creates the table, if it is not there: at the start, and not in a transaction.
   *
   * @param client a pool, a client, or what {@link CommitGuard.commit} takes
   */
  async createTable(client: GuardedTransaction): Promise<void> {
    const query = queryOf(client, this.#dialect.numbered, true);
    // Of two processes that create a table at once, PostgreSQL lets one fail.
    await query(this.sql, []).catch(() => query(this.sql, []));
  }

  /**
   * To be called inside of the job's transaction, best as its first statement: notes that this run commits. It waits for the transaction
   * of an earlier run that is still open. What it notes is committed, or rolled back, with the rest.
   *
   * A tick commits once, or once for each step. A run without a tick (a call by hand, an interval) goes by its fencing token alone.
   *
   * @param tx the transaction in which the job works
   * @throws AlreadyCommittedError if the tick has committed before. If it leaves the job, the run has completed
   * @throws LockSupersededError if a newer lease of the lock, or a newer tick of the job, has committed
   * @throws LockLostError if the lease is lost
   * @throws LockNotHeldError outside of a job, after its end, and under `onStoreError: 'run'`
   * @throws SchedulerLockConfigError if `tx` is no open transaction, as far as that can be seen, or nothing that is known
   */
  async commit(tx: GuardedTransaction, { step = '' }: CommitOptions = {}): Promise<void> {
    const lock = held();
    lock.assertLocked();
    this.#check(lock, step);
    const query = queryOf(tx, this.#dialect.numbered);
    await this.#commit(query, lock, step);
  }

  /** A run that names one of its transactions has to name all: else the one without a name would be the whole tick. */
  #check(lock: Lock, step: string): void {
    if (typeof step !== 'string' || step.length > MAX_STEP)
      throw misused(`step: got ${show(step)}. Give a text of at most ${MAX_STEP} characters.`);
    const before = this.#steps.get(lock) ?? step;
    if ((before === '') !== (step === ''))
      throw misused('the run has commits with a step and without one. Give each of its transactions a step.');
    this.#steps.set(lock, step);
  }

  async #commit(query: Query, lock: Lock, step: string): Promise<void> {
    const [dialect, table] = [this.#dialect, this.#table];
    const { name, job = '', tick, fencingToken: token = 0 } = lock;
    // One row is of the lock: the newest of its leases that has committed, whatever its job. It is locked until the transaction ends.
    const ofLock: Key = [name, '', ''];
    const { fence, transaction } = await dialect.claim(query, table, ofLock, String(token));
    if (fence > token) throw new LockSupersededError(name, token, fence, 'lease');
    const row = { fence: String(token), transaction };
    if (tick === undefined) return dialect.note(query, table, ofLock, { ...row, tick: null });
    // And one of each job and step: its newest tick.
    const ofJob: Key = [name, job, step];
    const last = await dialect.claim(query, table, ofJob, '0');
    if (last.tick === tick) throw new AlreadyCommittedError(name, job, tick, step, last.fence === token);
    if (last.tick !== undefined && last.tick > tick)
      throw new LockSupersededError(name, token, last.fence, 'tick');
    return dialect.note(query, table, ofJob, { ...row, tick: String(tick) });
  }
}

function held(): Lock {
  try {
    return currentLock();
  } catch {
    throw new LockNotHeldError(
      'guard.commit(): no lock is held here. Call it inside a method with @SchedulerLock(), or inside the function given to ' +
        'SchedulerLockService.run().',
    );
  }
}
