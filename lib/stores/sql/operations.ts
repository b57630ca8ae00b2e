import { type Clock, noLongerThan } from '../../base/clock.js';
import { LockStateError, SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { SqlDialect } from './dialect.js';
import { cureOf, describeFailure, errorsIn, isNotConnected, type SqlFailure } from './failure.js';
import { type SqlTable, TableError } from './sql-table.js';

/** How often a statement is tried if other clients caused its rollback. Each time, another client has made progress. */
const TRIES = 10;
/** The longest pause before the next try, ms: a few statements long, so that colliding clients move apart. */
const MAX_RETRY_DELAY = 50;
/** For how long a statement is tried again if it is rolled back each time, ms: half as long as a caller waits by default. */
const TRYING = 1_000;

/** How long people wait for a read of a table, ms: somebody may have locked it. */
const READ_LIMIT = 3_000;

/** Carries out operations on the tables of a store: tries again after conflicts, and turns errors of the driver into those for callers. */
export class Operations<Table> {
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly table: SqlTable<Table>,
    private readonly clock: Clock,
  ) {}

  /** @param lock the one of the operation @param reads whether it needs no right to write */
  run<T>(operation: (table: Table) => Promise<T>, lock?: string, reads = false): Promise<T> {
    const { table } = this;
    const usable = (): Promise<Table> => (reads ? table.whenReadable() : table.whenReady());
    return this.#repeat(async () => operation(table.ready ?? (await usable())), lock);
  }

  /** Reads other tables than that of the locks, whatever is wrong with that one: the look at it finds their schema. */
  beside<T>(read: () => Promise<T>): Promise<T> {
    const known = (): Promise<unknown> => this.table.whenReadable().catch(unlessTable);
    return this.#repeat(() => known().then(read));
  }

  /** A read for people, whose error names the table. @param limit milliseconds */
  async forPeople<T>(table: string, read: Promise<T>, limit: number = READ_LIMIT): Promise<T> {
    const refusal = (message: string): StoreUnavailableError =>
      new StoreUnavailableError(message, { outcome: 'not-applied', refused: true });
    const named = read.then(
      (found) => ({ found }),
      (error: unknown) => {
        if (!(error instanceof StoreUnavailableError) || error.message.includes(table)) throw error;
        throw refusal(`The table ${table} cannot be read. ${error.message}`);
      },
    );
    const answer = await noLongerThan(limit, named, this.clock);
    if (answer !== undefined) return answer.found;
    throw refusal(
      `The table ${table} has not answered within ${limit / 1_000} s. Somebody may have locked it (LOCK TABLE, ALTER TABLE).`,
    );
  }

  async #repeat<T>(ask: () => Promise<T>, lock?: string): Promise<T> {
    const until = this.clock.monotonic() + TRYING;
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        if (this.#kindOf(error) !== 'conflict') throw this.failed(error, lock);
        // Colliding clients would collide again if they all came back at once.
        const pause = Math.random() * Math.min(2 ** tries, MAX_RETRY_DELAY);
        if (tries === TRIES || this.clock.monotonic() + pause >= until) throw this.failed(error, lock);
        await new Promise<void>((resolve) => this.clock.setTimer(resolve, pause, { keepAlive: true }));
      }
    }
  }

  #kindOf(error: unknown): SqlFailure | undefined {
    return error instanceof SchedulerLockError || error instanceof TableError
      ? undefined
      : this.dialect.failure(error);
  }

  /** The error that a caller gets for a failed call. */
  failed(error: unknown, lock?: string): SchedulerLockError {
    const refusal = (message: string, refused = true): StoreUnavailableError =>
      new StoreUnavailableError(message, { outcome: 'not-applied', refused });
    if (error instanceof TableError) return refusal(error.message);
    if (error instanceof SchedulerLockError) return error;
    const { table } = this.dialect;
    const failure = this.dialect.failure(error);
    const reason = describeFailure(error);
    if (failure === 'lock' && lock !== undefined)
      return new LockStateError(
        lock,
        `the database refused the call: ${reason}. Look at its row in ${table}.`,
      );
    if (failure === 'unknown')
      return new StoreUnavailableError(`The database did not answer: ${reason}.`, { outcome: 'unknown' });
    if (failure === 'table')
      return refusal(
        `The table ${table} is gone, or lacks a column: ${reason}. If it was moved or renamed, move it back. Otherwise the leases in it ` +
          'are forgotten: an empty one would let others win while their holders still run. When their jobs have ended, start an ' +
          `instance that may create it, call migrate(), or run this:\n${this.dialect.setup()}`,
      );
    const what = [...errorsIn(error)].some(isNotConnected) ? 'cannot be reached' : 'refused the call';
    return refusal(
      `The database ${what}: ${reason}.${cureOf(error)}`,
      failure === 'denied' || failure === 'forbidden',
    );
  }
}

function unlessTable(error: unknown): void {
  if (!(error instanceof TableError)) throw error;
}
