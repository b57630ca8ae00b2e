import type { Clock } from '../../base/clock.js';
import {
  LockStateError,
  SchedulerLockConfigError,
  SchedulerLockError,
  StoreUnavailableError,
} from '../../base/errors.js';
import type { SqlDialect } from './dialect.js';
import { cureOf, describeFailure, errorsIn, isNotConnected, type SqlFailure } from './failure.js';
import { OutageGate } from './outage-gate.js';
import type { SqlTable } from './sql-table.js';
import { TableError } from './table-judgement.js';

/**
 * How often a statement is tried if other clients caused its rollback, or if its answer explains nothing because the row changed
 * meanwhile. Each time, another client has made progress.
 */
const TRIES = 10;
/** The longest pause before the next try, ms: a few statements long, so that colliding clients move apart. */
const MAX_RETRY_DELAY = 50;
/** For how long a statement is tried again if it is rolled back each time, ms: half as long as a caller waits by default. */
const TRYING = 1_000;

/** The answer of an operation that found its rows changed: the operation is tried again. */
export const AGAIN = Symbol('ask again');

/** How an operation is run. */
interface HowToRun {
  /** The one lock of the operation. */
  readonly lock?: string;
  /**
   * Whether the operation is for leases that may be live. Such operations go on with an incomplete table, as long as their statements do
   * not need the missing part.
   */
  readonly ofLease?: boolean;
  /** Whether the operation only reads: then the user needs no right to write the table. */
  readonly reads?: boolean;
}

/** Carries out operations on the tables of a store: tries again after conflicts, and turns errors of the driver into those for callers. */
export class Operations<Table> {
  readonly #gate: OutageGate;

  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly table: SqlTable<Table>,
    private readonly clock: Clock,
  ) {
    this.#gate = new OutageGate(clock);
  }

  /** Runs an operation until its answer is conclusive. */
  run<T>(operation: (table: Table) => Promise<T | typeof AGAIN>, how: HowToRun = {}): Promise<T> {
    return this.#repeat((lookedAgain) => this.#ask(operation, lookedAgain ? {} : how), how);
  }

  /** Reads other tables than that of the locks, whatever is wrong with that one. */
  beside<T>(read: () => Promise<T>): Promise<T> {
    const ask = (): Promise<T> =>
      this.#gated(async () => {
        // The look at the table of the locks finds the schema of the other tables.
        await this.table.whenReadable().catch((error: unknown) => {
          if (!(error instanceof TableError)) throw error;
        });
        return read();
      });
    return this.#repeat<T>(ask, {});
  }

  async #repeat<T>(ask: (lookedAgain: boolean) => Promise<T | typeof AGAIN>, how: HowToRun): Promise<T> {
    const { lock } = how;
    const until = this.clock.monotonic() + TRYING;
    let conflict: unknown;
    let lookedAgain = false;
    for (let tries = 1; tries <= TRIES; tries++) {
      try {
        const result = await ask(lookedAgain);
        if (result !== AGAIN) return result;
        conflict = undefined;
      } catch (error) {
        if (!lookedAgain && this.#isOfTable(error, how)) {
          // Another look at the table shows what is missing or too short, or that somebody has just repaired the table.
          this.table.forget();
          lookedAgain = true;
          continue;
        }
        if (this.#kindOf(error) !== 'conflict') throw this.#refusal(error, how);
        conflict = error;
        if (!(await this.#mayTryAgain(tries, until))) break;
      }
    }
    if (conflict !== undefined) throw this.failed(conflict, lock);
    throw new StoreUnavailableError(
      `The row changed ${TRIES} times while the database was asked about it, so nothing was changed.`,
      { outcome: 'not-applied' },
    );
  }

  #kindOf(error: unknown): SqlFailure | undefined {
    return error instanceof SchedulerLockError ? undefined : this.dialect.failure(error);
  }

  #isOfTable(error: unknown, { ofLease = false }: HowToRun): boolean {
    const failure = this.#kindOf(error);
    return failure === 'table' || (failure === 'too-long' && !ofLease);
  }

  #refusal(error: unknown, { lock, ofLease = false }: HowToRun): SchedulerLockError {
    const isUnkept = this.#kindOf(error) === 'too-long' && !ofLease;
    return isUnkept && lock !== undefined ? this.unkept(lock) : this.failed(error, lock);
  }

  /**
   * Pauses before one more try: colliding clients would collide again if they all came back at once.
   *
   * @param until when it is too late for one more try, monotonic
   * @returns whether to try once more
   */
  async #mayTryAgain(tries: number, until: number): Promise<boolean> {
    const pause = Math.random() * Math.min(2 ** tries, MAX_RETRY_DELAY);
    if (tries === TRIES || this.clock.monotonic() + pause >= until) return false;
    await new Promise<void>((resolve) => this.clock.setTimer(resolve, pause, { keepAlive: true }));
    return true;
  }

  #ask<T>(operation: (table: Table) => Promise<T>, { ofLease = false, reads = false }: HowToRun): Promise<T> {
    return this.#gated(() => {
      const ready = this.table.ready ?? (ofLease ? this.table.known : undefined);
      if (ready !== undefined) return operation(ready);
      return (reads ? this.table.whenReadable() : this.table.whenReady()).then(operation);
    });
  }

  async #gated<T>(ask: () => Promise<T>): Promise<T> {
    const late = this.#gate.enter();
    if (late !== undefined) await late;
    try {
      return await ask();
    } finally {
      this.#gate.leave();
    }
  }

  /** Why the table cannot keep a name; also `undefined` if nothing is known of the table yet. */
  nameProblem(name: string, table: Table | undefined = this.table.known): string | undefined {
    const problem = this.dialect.unreadable(name);
    return problem ?? (table === undefined ? undefined : this.dialect.nameProblem(table, name));
  }

  /** Lets the next try look at the table again: somebody may have changed it. */
  lookAgain(): typeof AGAIN {
    this.table.forget();
    return AGAIN;
  }

  /** The error for a name that the table cannot keep: nothing was written. */
  unkept(lock: string): SchedulerLockConfigError {
    const problem =
      this.nameProblem(lock) ??
      `the column name of ${this.dialect.table} has no room for this name. Give a shorter name.`;
    return new SchedulerLockConfigError([`the lock "${lock}": ${problem}`]);
  }

  /** The error that a caller gets for a failed call. */
  failed(error: unknown, lock?: string): SchedulerLockError {
    if (error instanceof TableError) {
      return new StoreUnavailableError(error.message, { outcome: 'not-applied', refused: true });
    }
    if (error instanceof SchedulerLockError) return error;
    const failure = this.dialect.failure(error);
    const reason = describeFailure(error);
    if ((failure === 'lock' || failure === 'too-long') && lock !== undefined) {
      return new LockStateError(
        lock,
        `the database refused the call: ${reason}. Look at its row in ${this.dialect.table}.`,
      );
    }
    if (failure === 'table') this.table.forget();
    if (failure === 'unknown') {
      return new StoreUnavailableError(`The database did not answer: ${reason}.`, { outcome: 'unknown' });
    }
    const what = [...errorsIn(error)].some(isNotConnected) ? 'cannot be reached' : 'refused the call';
    const refused = failure === 'table' || failure === 'denied' || failure === 'forbidden';
    const message = `The database ${what}: ${reason}.${cureOf(error)}`;
    return new StoreUnavailableError(message, { outcome: 'not-applied', refused });
  }
}
