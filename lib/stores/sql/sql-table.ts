import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';

/** Several instances that start at once may make each other's migration fail, each at most once per statement. */
const MIGRATION_TRIES = 20;

/** The table cannot be used, with what to do about it. */
export class TableError extends Error {}

/** The table of a store: looked at once, and made if it is not there and the store may. */
export class SqlTable<S> {
  readonly #dialect: SqlDialect<S>;
  readonly #migrate: boolean;
  #statements: Promise<S> | undefined;

  constructor(dialect: SqlDialect<S>, options: { migrate: boolean }) {
    this.#dialect = dialect;
    this.#migrate = options.migrate;
  }

  /**
   * The statements for the table, which has been looked at once: at the start, or when the database is first reached.
   *
   * @throws TableError if it cannot be used
   */
  statements(): Promise<S> {
    return (this.#statements ??= this.#kept(this.#migrate ? this.#create() : this.#look()));
  }

  /** Creates the table, or adds what is missing, whether the store is to do so by itself or not. @throws TableError */
  async migrate(): Promise<void> {
    this.#statements = this.#kept(this.#create());
    await this.#statements;
  }

  /** The next call looks at the table again, and says what is missing. */
  forget(): void {
    this.#statements = undefined;
  }

  #kept(statements: Promise<S>): Promise<S> {
    return statements.catch((error: unknown) => {
      this.forget();
      throw error;
    });
  }

  async #look(): Promise<S> {
    const look = await this.#dialect.look();
    if ('statements' in look) return look.statements;
    if ('problem' in look) throw new TableError(look.problem);
    throw new TableError(
      `${look.missing} Run this, or leave it to the store (migrate: true):\n${this.#sql()}`,
    );
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
