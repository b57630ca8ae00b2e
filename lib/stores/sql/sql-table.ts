import { type Clock, systemClock } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';

/** Several instances that start at once may make each other's migration fail, each at most once per statement. */
const MIGRATION_TRIES = 20;
/** How long a call waits for a migration, ms: less than a caller waits by default, so that it is told what it waits for. */
const PATIENCE = 1_000;
/** How often it is looked whether a migration has ended whose answer was lost with its connection, ms. */
const LOOK_EVERY = 10_000;

/** The table cannot be used, with what to do about it. */
export class TableError extends Error {}

/** What is to be said of a table that was complete before. */
const WAS_THERE = {
  table:
    'It was there before, and the leases that lived in it are forgotten: an empty one would let others win while their ' +
    'holders still run. When their jobs have ended, start an instance that may create it, call migrate(), or run this:',
  columns:
    'It had that before, and what was in it is forgotten (fencing tokens, which ticks have run); if the table was made anew, so are the ' +
    'leases that lived in it. When the jobs that run have ended, start an instance that may alter it, call migrate(), or run this:',
} as const;

/** A migration that is under way; times are monotonic. */
interface Migration {
  readonly since: number;
  /** When it was looked last whether it has ended. */
  lookedAt: number;
  readonly missing: string;
}

/**
 * The table of a store: looked at once, and made if it is not there and the store may.
 *
 * Never made anew: with a table that vanishes under running instances all leases that live are forgotten. An empty one in its
 * place would let others win while the holders still run; without one nobody wins until somebody decides.
 */
export class SqlTable<S> {
  readonly #dialect: SqlDialect<S>;
  readonly #migrate: boolean;
  readonly #clock: Clock;
  #pending: Promise<S> | undefined;
  #ready: S | undefined;
  #known: S | undefined;
  #migration: Migration | undefined;

  constructor(dialect: SqlDialect<S>, options: { migrate: boolean; clock?: Clock }) {
    this.#dialect = dialect;
    this.#migrate = options.migrate;
    this.#clock = options.clock ?? systemClock;
  }

  /** The statements, if the table has been looked at. */
  get ready(): S | undefined {
    return this.#ready;
  }

  /** The statements that were found last, also if something is missing by now: not all of them need it. */
  get known(): S | undefined {
    return this.#known;
  }

  get #seen(): boolean {
    return this.#known !== undefined;
  }

  /**
   * The statements for the table, which has been looked at once: at the start, or when the database is first reached.
   *
   * @param patience how long to wait for a migration, ms; it goes on even so
   * @throws TableError if it cannot be used
   * @throws StoreUnavailableError if its migration takes longer
   */
  statements(patience: number = PATIENCE): Promise<S> {
    this.#pending ??= this.#kept(this.#migrate && !this.#seen ? this.#create() : this.#look());
    return this.#within(this.#pending, patience);
  }

  /** Creates the table, or adds what is missing, whether the store is to do so by itself or not. @throws TableError */
  async migrate(): Promise<void> {
    this.#pending = this.#kept(this.#create());
    await this.#pending;
  }

  /** The next call looks at the table again, and says what is missing. */
  forget(): void {
    this.#pending = undefined;
    this.#ready = undefined;
  }

  #kept(statements: Promise<S>): Promise<S> {
    const kept = statements.then(
      (ready) => {
        this.#ready = ready;
        this.#known = ready;
        return ready;
      },
      (error: unknown) => {
        // Nobody has found out meanwhile that the table is there all the same.
        if (this.#pending === kept) this.forget();
        throw error;
      },
    );
    return kept;
  }

  /** Waits for what is under way; not for a migration, which takes as long as it takes. */
  #within(pending: Promise<S>, patience: number): Promise<S> {
    const start = this.#clock.monotonic();
    return new Promise((resolve, reject) => {
      let over = false;
      const check = (): void => {
        const now = this.#clock.monotonic();
        const left = patience - (now - Math.min(start, this.#migration?.since ?? start));
        if (left <= 0 && this.#migration !== undefined) reject(this.#stillMigrating(this.#migration));
        else timer = this.#clock.setTimer(check, left > 0 ? left : patience);
      };
      let timer: { cancel(): void } | undefined;
      const end = (): void => {
        over = true;
        timer?.cancel();
      };
      pending.then(
        (statements) => (end(), resolve(statements)),
        (error: Error) => (end(), reject(error)),
      );
      if (!over) check();
    });
  }

  #stillMigrating(migration: Migration): StoreUnavailableError {
    const { since, lookedAt, missing } = migration;
    const now = this.#clock.monotonic();
    if (now - lookedAt >= LOOK_EVERY) {
      migration.lookedAt = now;
      void this.#lookMeanwhile();
    }
    return new StoreUnavailableError(
      `${missing} Its migration has been running for ${Math.round((now - since) / 1_000)} s, and no lock can be taken until it is done. ` +
        'It has to wait for every transaction that uses the table.',
      { outcome: 'not-applied' },
    );
  }

  /** Whether the table has become what it is to be, though nobody was told. */
  async #lookMeanwhile(): Promise<void> {
    const statements = await this.#look().catch(() => undefined);
    if (statements === undefined || this.#migration === undefined) return;
    this.#migration = undefined;
    this.#pending = this.#kept(Promise.resolve(statements));
  }

  async #look(): Promise<S> {
    const look = await this.#dialect.look();
    if ('statements' in look) return look.statements;
    if ('problem' in look) throw new TableError(look.problem);
    const help = this.#seen ? WAS_THERE[look.lacks] : 'Run this, or leave it to the store (migrate: true):';
    throw new TableError(`${look.missing} ${help}\n${this.#sql()}`);
  }

  async #create(): Promise<S> {
    let failed: unknown;
    for (let tries = 0; tries < MIGRATION_TRIES; tries++) {
      // A migration that is not needed would wait for, and hold up, everybody who uses the table.
      const look = await this.#dialect.look();
      if (!('missing' in look)) return this.#look();
      const since = this.#clock.monotonic();
      this.#migration ??= { since, lookedAt: since, missing: look.missing };
      try {
        for (const statement of this.#dialect.migration()) await this.#dialect.migrate(statement);
      } catch (error) {
        failed = error;
        // Another instance is doing the same at this moment: the next look may find it done.
        if (this.#dialect.failure(error) === 'conflict') continue;
        if (this.#dialect.failure(error) !== 'denied') throw error;
        throw new TableError(
          `${look.missing} It could not be created: ${describeFailure(error)}. Put that right, or run this as a user who may:\n${this.#sql()}`,
        );
      } finally {
        this.#migration = undefined;
      }
    }
    throw failed ?? new TableError(`The table ${this.#dialect.table} could not be created:\n${this.#sql()}`);
  }

  /** The migration, to be run by hand. */
  #sql(): string {
    return this.#dialect
      .migration()
      .map((statement) => `${statement};`)
      .join('\n');
  }
}
