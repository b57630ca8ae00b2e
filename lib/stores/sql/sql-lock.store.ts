import { type Clock, systemClock } from '../../clock.js';
import {
  LockStateError,
  SchedulerLockConfigError,
  SchedulerLockError,
  StoreUnavailableError,
} from '../../errors.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendOptions,
  ExtendResult,
  LeaseRef,
  LockInfo,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../lock-store.js';
import { AGAIN, readAttempt, readMissedRelease, readMissedRenewal, unsettled } from './answers.js';
import type { SqlDialect } from './dialect.js';
import { describeFailure, errorsIn, isNotConnected } from './failure.js';
import { OutageGate } from './outage-gate.js';
import { SqlTable } from './sql-table.js';
import { TableError } from './table-error.js';

/**
 * How often a statement is tried that was rolled back because of others, or whose answer explains nothing because the row
 * changed meanwhile. Each time somebody else has got on.
 */
const TRIES = 10;
/** The longest pause after a statement was rolled back, ms: a few statements long, so that those who collided part. */
const LONGEST_PAUSE = 50;
/** How long a start waits for a migration, ms: less than it waits for a store, so that it is told what it waits for. */
const START_PATIENCE = 8_000;
/** How long a statement is tried that is rolled back again and again, ms: half as long as a caller waits by default. */
const TRYING = 1_000;

/**
 * Leases in a table of a database. An operation is one statement, in a transaction of its own, on the database's clock;
 * what the row says is read and decided there.
 */
export class SqlLockStore<S> implements LockStore {
  readonly label: string;
  readonly #dialect: SqlDialect<S>;
  readonly #table: SqlTable<S>;
  readonly #gate: OutageGate;
  readonly #clock: Clock;

  /** @internal */
  constructor(dialect: SqlDialect<S>, { migrate, clock = systemClock }: { migrate: boolean; clock?: Clock }) {
    this.label = `the table ${dialect.table} of ${dialect.kind}`;
    this.#dialect = dialect;
    this.#table = new SqlTable(dialect, { migrate, clock });
    this.#gate = new OutageGate(clock);
    this.#clock = clock;
  }

  /**
   * Looks at the table, and creates it or adds what is missing unless `migrate` is false.
   *
   * @throws SchedulerLockConfigError if the table cannot be used, with what to do; if the database rejects the credentials
   * @throws StoreUnavailableError if the database cannot be reached now, or if its migration takes long; that goes on
   */
  async init(): Promise<void> {
    this.#table.open();
    try {
      await this.#table.statements(START_PATIENCE);
    } catch (error) {
      if (error instanceof TableError) throw new SchedulerLockConfigError([`store: ${error.message}`]);
      if (!(error instanceof SchedulerLockError) && this.#dialect.failure(error) === 'denied') {
        throw new SchedulerLockConfigError([`store: the database refused: ${describeFailure(error)}.`]);
      }
      throw this.#failed(error);
    }
  }

  /**
   * Creates the table, or adds to one that ShedLock has created the columns that are missing. Does nothing if all is there.
   * Any number of instances may call it at once. While others use the table it is tried again and again, and waited for; a
   * migration that the start has begun is waited for, too.
   *
   * @throws SchedulerLockConfigError if the table cannot be used even so
   * @throws StoreUnavailableError if the database cannot be reached, or refuses, or if the store is closed meanwhile
   */
  async migrate(): Promise<void> {
    try {
      await this.#table.migrate();
    } catch (error) {
      if (error instanceof TableError) throw new SchedulerLockConfigError([`store: ${error.message}`]);
      throw this.#failed(error);
    }
  }

  /**
   * Ends a migration that is still being tried: a statement of it that was sent ends by itself, within seconds. Nothing else is open,
   * and the pool is yours.
   */
  async close(): Promise<void> {
    this.#table.close();
  }

  /** By what the table was seen to have room for; nothing is known of one that could not be looked at yet. */
  nameProblem(name: string): string | undefined {
    const { known } = this.#table;
    return known === undefined ? undefined : this.#dialect.nameProblem(known, name);
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return this.#run<AcquireResult>(
      async (statements) => readAttempt(request, await this.#dialect.attempt(statements, request)),
      // It changed hands between any two looks, so somebody has it.
      () => ({ acquired: false, reason: 'held' }),
      { lock: request.name, limit: Math.min(TRYING, request.ttl / 3) },
    );
  }

  async extend(leases: readonly LeaseRef[], { limit }: ExtendOptions = {}): Promise<ExtendResult[]> {
    if (leases.length === 0) return [];
    const results: ExtendResult[] = Array.from({ length: leases.length });
    let left = [...leases.keys()];
    await this.#run<void>(
      async (statements) => {
        const asked = left;
        const batch = asked.flatMap((index) => leases[index] ?? []);
        const rows = await this.#dialect.renew(statements, batch);
        left = [];
        for (const [i, lease] of batch.entries()) {
          const index = asked[i] ?? 0;
          const row = rows[i] ?? { by: null, remaining: null };
          const result = row === true ? ({ held: true } as const) : readMissedRenewal(lease, row);
          if (result === AGAIN) left.push(index);
          else results[index] = result;
        }
        return left.length > 0 ? AGAIN : undefined;
      },
      () => {
        // The others were judged all the same.
        for (const index of left) results[index] = { held: null, error: unsettled(TRIES) };
      },
      { limit, ofLease: true },
    );
    return results;
  }

  release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const { outcome = 'completed', keepFor = 0 } = options;
    return this.#run(
      async (statements): Promise<ReleaseResult | typeof AGAIN> => {
        const row = await this.#dialect.giveBack(statements, lease, { outcome, keepFor });
        if (!('live' in row)) return readMissedRelease(lease, row);
        return row.live ? { released: true } : { released: false, reason: 'expired' };
      },
      giveUp,
      { lock: lease.name, ofLease: true },
    );
  }

  inspect(): Promise<LockInfo[]> {
    return this.#run((statements) => this.#dialect.all(statements), giveUp);
  }

  /**
   * Runs an operation until it has an answer that means something.
   *
   * @param call the one lock it is about; how long the caller waits, ms; whether it is about leases that may live: these go on
   *   with a table that lacks something, as long as their statements do not need it
   */
  async #run<T>(
    operation: (statements: S) => Promise<T | typeof AGAIN>,
    otherwise: () => T,
    {
      lock,
      limit = TRYING,
      ofLease = false,
    }: { lock?: string; limit?: number | undefined; ofLease?: boolean } = {},
  ): Promise<T> {
    const start = this.#clock.monotonic();
    let conflict: unknown;
    let lookedAgain = false;
    for (let tries = 1; tries <= TRIES; tries++) {
      try {
        const result = await this.#ask(operation, ofLease && !lookedAgain ? this.#table.known : undefined);
        if (result !== AGAIN) return result;
        conflict = undefined;
      } catch (error) {
        const failure = error instanceof SchedulerLockError ? undefined : this.#dialect.failure(error);
        if (failure === 'table' && !lookedAgain) {
          // Another look at it says what is missing, or that it has just been put right.
          this.#table.forget();
          lookedAgain = true;
          continue;
        }
        if (failure !== 'conflict') throw this.#failed(error, lock);
        conflict = error;
        const pause = Math.random() * Math.min(2 ** tries, LONGEST_PAUSE);
        if (tries === TRIES || this.#clock.monotonic() - start + pause >= limit) break;
        await this.#pause(pause);
      }
    }
    if (conflict !== undefined) throw this.#failed(conflict, lock);
    return otherwise();
  }

  async #ask<T>(operation: (statements: S) => Promise<T>, known: S | undefined): Promise<T> {
    const late = this.#gate.enter();
    if (late !== undefined) await late;
    try {
      return await operation(this.#table.ready ?? known ?? (await this.#table.statements()));
    } finally {
      this.#gate.leave();
    }
  }

  /** Those who collided would do so again if they came back at once, together. */
  #pause(delay: number): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(resolve, delay, { keepAlive: true }));
  }

  /** What a caller is told of a call that failed. */
  #failed(error: unknown, lock?: string): SchedulerLockError {
    if (error instanceof TableError) {
      return new StoreUnavailableError(error.message, { outcome: 'not-applied', refused: true });
    }
    if (error instanceof SchedulerLockError) return error;
    const failure = this.#dialect.failure(error);
    const reason = describeFailure(error);
    if (failure === 'too-long' && lock !== undefined) {
      const room = `Run this, or give it a shorter name: ${this.#dialect.widening()};`;
      return new LockStateError(
        lock,
        `its name is too long for the column name of ${this.#dialect.table}. ${room}`,
      );
    }
    if (failure === 'lock' && lock !== undefined) {
      return new LockStateError(
        lock,
        `the database refused the call: ${reason}. Look at its row in ${this.#dialect.table}.`,
      );
    }
    if (failure === 'table') this.#table.forget();
    if (failure === 'unknown') {
      return new StoreUnavailableError(`The database did not answer: ${reason}.`, { outcome: 'unknown' });
    }
    const what = [...errorsIn(error)].some(isNotConnected) ? 'cannot be reached' : 'refused the call';
    const refused = failure === 'table' || failure === 'denied';
    return new StoreUnavailableError(`The database ${what}: ${reason}.`, { outcome: 'not-applied', refused });
  }
}

function giveUp(): never {
  throw unsettled(TRIES);
}
