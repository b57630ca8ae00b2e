import type { Clock } from '../../clock.js';
import type { SqlDialect } from './dialect.js';
import { Migration } from './migration.js';
import { notAllowed, TableError } from './table-error.js';

/** Creates the table, or adds what is missing. Concurrent callers share one migration. */
export class TableCreation<Table> {
  #migration: Migration | undefined;
  #result: Promise<Table> | undefined;

  /** @param look finds the statements of a table that can be used */
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly clock: Clock,
    private readonly look: () => Promise<Table>,
  ) {}

  /** The migration that is under way; `undefined` also while it only looks whether anything is missing. */
  get underWay(): Migration | undefined {
    return this.#migration?.missing === undefined ? undefined : this.#migration;
  }

  /**
   * Resolves to the statements once nothing is missing: joins the migration that is under way, or begins one.
   *
   * @throws TableError if the table cannot be used even so, or may not be created
   */
  run(): Promise<Table> {
    if (this.#result !== undefined) return this.#result;
    const result = this.#run(new Migration(this.dialect, this.clock)).finally(() => {
      this.#result = undefined;
    });
    return (this.#result = result);
  }

  /** Ends the migration that is under way; a statement of it that was sent ends by itself. */
  stop(): void {
    this.#migration?.stop();
  }

  async #run(migration: Migration): Promise<Table> {
    this.#migration = migration;
    try {
      await migration.run();
      return await this.look();
    } catch (error) {
      const { missing } = migration;
      const denied = !(error instanceof TableError) && this.dialect.failure(error) === 'denied';
      if (missing === undefined || !denied) throw error;
      throw notAllowed(missing, error);
    } finally {
      this.#migration = undefined;
    }
  }
}
