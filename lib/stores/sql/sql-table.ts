import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';

/** Several instances that start at once may make each other's migration fail, each at most once per statement. */
const MIGRATION_TRIES = 20;

/** The table cannot be used, with what to do about it. */
export class TableError extends Error {}

/**
 * The table of a store: looked at once, and made if it is not there and the store may.
 *
 * Never made anew: with a table that vanishes under running instances all leases that live are forgotten. An empty one in its
 * place would let others win while the holders still run; without one nobody wins until somebody decides.
 */
export class SqlTable<S> {
  readonly #dialect: SqlDialect<S>;
  readonly #migrate: boolean;
  #pending: Promise<S> | undefined;
  #ready: S | undefined;
  #seen = false;

  constructor(dialect: SqlDialect<S>, options: { migrate: boolean }) {
    this.#dialect = dialect;
    this.#migrate = options.migrate;
  }

  /** The statements, if the table has been looked at. */
  get ready(): S | undefined {
    return this.#ready;
  }

  /**
   * The statements for the table, which has been looked at once: at the start, or when the database is first reached.
   *
   * @throws TableError if it cannot be used
   */
  statements(): Promise<S> {
    return (this.#pending ??= this.#kept(this.#migrate && !this.#seen ? this.#create() : this.#look()));
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

  async #kept(statements: Promise<S>): Promise<S> {
    try {
      const ready = await statements;
      this.#ready = ready;
      this.#seen = true;
      return ready;
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  async #look(): Promise<S> {
    const look = await this.#dialect.look();
    if ('statements' in look) return look.statements;
    if ('problem' in look) throw new TableError(look.problem);
    const help = this.#seen
      ? 'It was there before, and the leases that lived in it are forgotten: an empty one would let others win while their ' +
        'holders still run. When their jobs have ended, start an instance that may create it, call migrate(), or run this:'
      : 'Run this, or leave it to the store (migrate: true):';
    throw new TableError(`${look.missing} ${help}\n${this.#sql()}`);
  }

  async #create(): Promise<S> {
    let failed: unknown;
    for (let tries = 0; tries < MIGRATION_TRIES; tries++) {
      // A migration that is not needed would wait for, and hold up, everybody who uses the table.
      const look = await this.#dialect.look();
      if (!('missing' in look)) return this.#look();
      try {
        for (const statement of this.#dialect.migration()) await this.#dialect.run(statement);
      } catch (error) {
        failed = error;
        // Another instance is doing the same at this moment: the next look may find it done.
        if (this.#dialect.failure(error) === 'conflict') continue;
        if (this.#dialect.failure(error) !== 'denied') throw error;
        throw new TableError(
          `${look.missing} It could not be created: ${describeFailure(error)}. Put that right, or run this as a user who may:\n${this.#sql()}`,
        );
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
