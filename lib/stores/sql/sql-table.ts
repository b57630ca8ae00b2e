import { type Clock, systemClock } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';
import { Migration } from './migration.js';

/** How long a call waits for a migration, ms: less than a caller waits by default, so that it is told what it waits for. */
const PATIENCE = 1_000;
/** How often it is looked whether a migration has ended whose answer was lost with its connection, ms. */
const LOOK_EVERY = 10_000;
/** Of a timer that is cancelled, ms. */
const FOR_EVER = 30 * 86_400_000;

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
  #creation: Promise<S> | undefined;
  /** When it was looked last whether the migration has ended. */
  #lookedAt = 0;
  #closed = false;

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
    const create = this.#migrate && !this.#seen && !this.#closed;
    this.#pending ??= this.#kept(create ? this.#create() : this.#look());
    return this.#within(this.#pending, patience);
  }

  /**
   * Creates the table, or adds what is missing, whether the store is to do so by itself or not. It waits for a migration that is
   * under way, for as long as that takes.
   *
   * @throws TableError if it cannot be used even so
   * @throws StoreUnavailableError if the store is closed meanwhile
   */
  async migrate(): Promise<void> {
    // Somebody waits for it, so the process is not to end in a pause between two tries.
    const awake = this.#clock.setTimer(() => undefined, FOR_EVER, { keepAlive: true });
    try {
      this.#pending = this.#kept(this.#create());
      await this.#pending;
    } finally {
      awake.cancel();
    }
  }

  /** Begins no more migrations by itself, and ends the one that is under way; a statement of it that was sent ends by itself. */
  close(): void {
    this.#closed = true;
    this.#migration?.stop();
  }

  /** Takes back {@link close}. */
  open(): void {
    this.#closed = false;
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
        const migration = this.#migration?.missing === undefined ? undefined : this.#migration;
        const left = patience - (now - Math.min(start, migration?.since ?? start));
        if (left <= 0 && migration !== undefined) reject(this.#stillMigrating(migration));
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
    const now = this.#clock.monotonic();
    if (now - Math.max(this.#lookedAt, migration.since) >= LOOK_EVERY) {
      this.#lookedAt = now;
      void this.#lookMeanwhile(migration);
    }
    return new StoreUnavailableError(migration.describe(), { outcome: 'not-applied' });
  }

  /** Whether the table has become what it is to be, though nobody was told. */
  async #lookMeanwhile(migration: Migration): Promise<void> {
    const statements = await this.#look().catch(() => undefined);
    if (statements !== undefined) migration.finish();
  }

  async #look(): Promise<S> {
    const look = await this.#dialect.look();
    if ('statements' in look) return look.statements;
    if ('problem' in look) throw new TableError(look.problem);
    const help = this.#seen ? WAS_THERE[look.lacks] : 'Run this, or leave it to the store (migrate: true):';
    throw new TableError(`${look.missing} ${help}\n${this.#sql()}`);
  }

  /** There is one migration at a time, whoever asks for it. */
  #create(): Promise<S> {
    if (this.#creation !== undefined) return this.#creation;
    const creation = this.#run(new Migration(this.#dialect, this.#clock)).finally(() => {
      this.#creation = undefined;
    });
    return (this.#creation = creation);
  }

  async #run(migration: Migration): Promise<S> {
    this.#migration = migration;
    try {
      await migration.run();
      return await this.#look();
    } catch (error) {
      const { missing } = migration;
      const denied = !(error instanceof TableError) && this.#dialect.failure(error) === 'denied';
      if (missing === undefined || !denied) throw error;
      throw new TableError(
        `${missing} It could not be created: ${describeFailure(error)}. Put that right, or run this as a user who may:\n${this.#sql()}`,
      );
    } finally {
      this.#migration = undefined;
    }
  }

  /** The migration, to be run by hand. */
  #sql(): string {
    return this.#dialect
      .migration()
      .map((statement) => `${statement};`)
      .join('\n');
  }
}
