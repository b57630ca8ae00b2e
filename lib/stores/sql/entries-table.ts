import { SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';
import type { Operations } from './operations.js';

/** Statements that write nothing. They show whether the table of entries has these columns, and whether this user may read and write it. */
export function tries(columns: string): string[] {
  const nothing = "WHERE id = '' AND 1 = 0";
  return [
    `INSERT INTO {entries} (${columns}) SELECT ${columns} FROM {entries} ${nothing}`,
    `UPDATE {entries} SET body = '' ${nothing}`,
    `DELETE FROM {entries} ${nothing}`,
  ];
}

/** The SQL creates a table, and changes none. */
const IF_THERE =
  'If it is there, add what it lacks, or drop it with the histories and queued calls in it. Then run this';

/**
 * The table of entries. The store looks at it when it is to write there, and creates it if it is missing and the store may. The store
 * goes on without it: then it keeps no histories and no queued calls, and says why.
 */
export class EntriesTable<Table> {
  /** Whether this store is to write, and not only to read. */
  #writes = false;
  #isReady = false;
  /** Why the store cannot write, as the last look has found. */
  #problem: string | undefined;
  #looking: Promise<string | undefined> | undefined;

  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    private readonly migrate: boolean,
  ) {}

  /**
   * Looks at the table, and creates it if it is missing, unless `migrate` is false.
   *
   * @returns why nothing can be written; `undefined` if it can
   */
  look(): Promise<string | undefined> {
    this.#writes = true;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /** Whether a table that is missing is as good as an empty one: nobody has told the store to write. */
  isNotNeeded(error: unknown): boolean {
    return !this.#writes && this.dialect.failure(error) === 'table';
  }

  /** Before a write. Rejects if the last look has found that the store cannot write. */
  async whenReady(): Promise<void> {
    // The database may have been away when the application started.
    const isKnown = this.#looking === undefined && (this.#isReady || this.#problem !== undefined);
    if (!isKnown) await this.look();
    if (this.#problem !== undefined) throw refusal(this.#problem);
  }

  /**
   * Call this when a statement has failed: if the table is the reason, the next write looks at it again.
   *
   * @returns the error for the caller
   */
  failed(error: unknown): unknown {
    const problem = this.#problemOf(error);
    if (problem === undefined) return error;
    this.#isReady = false;
    return refusal(problem);
  }

  /** Call this when a read has failed. Resolves when the store has mended the table; or else rejects with the error for the caller. */
  async mended(error: unknown): Promise<void> {
    if (this.#isReady || !this.#writes) throw error;
    const problem = await this.look();
    if (problem !== undefined) throw refusal(problem);
  }

  /** Call this when the table was read: if the table had a problem, somebody may have repaired it. */
  wasRead(): void {
    if (this.#writes && this.#problem !== undefined) void this.look().catch(() => undefined);
  }

  async #look(): Promise<string | undefined> {
    const { unusable } = this.dialect.entries;
    this.#problem = unusable ?? (await this.operations.run(() => this.#prepare()));
    this.#isReady = this.#problem === undefined;
    return this.#problem;
  }

  async #prepare(): Promise<string | undefined> {
    const { dialect } = this;
    const error = await this.#try();
    const isMissing = error !== undefined && dialect.failure(error) === 'table';
    if (!isMissing || !this.migrate) return this.#problemOf(error);
    for (const statement of dialect.entries.creation) {
      const refused = await this.#create(statement);
      if (refused !== undefined)
        return this.#missing(
          `, and could not be created: ${describeFailure(refused)}. So`,
          'Run this as a user who may',
        );
    }
    return this.#problemOf(await this.#try());
  }

  /** Resolves to the error, if this user may create nothing. */
  async #create(statement: string): Promise<unknown> {
    try {
      await this.dialect.migrate(statement);
    } catch (error) {
      const failure = this.dialect.failure(error);
      if (failure === 'forbidden') return error;
      // An index needs a column that the table lacks.
      if (failure !== 'table') throw error;
    }
    return undefined;
  }

  /** Resolves to the error, if it is of the table. */
  async #try(): Promise<unknown> {
    const { entries } = this.dialect;
    try {
      for (const statement of tries(entries.columns)) await entries.read(statement, []);
      return undefined;
    } catch (error) {
      if (this.#problemOf(error) === undefined) throw error;
      return error;
    }
  }

  #problemOf(error: unknown): string | undefined {
    const failure =
      error === undefined || error instanceof SchedulerLockError ? undefined : this.dialect.failure(error);
    if (failure === 'table') return this.#missing(` (${describeFailure(error)}), so`, IF_THERE);
    if (failure !== 'forbidden') return undefined;
    return `The user may not use the table ${this.dialect.entries.table} (${describeFailure(error)}), so neither histories nor queued calls are kept. Run this as a user who may:\n${this.dialect.setup()}`;
  }

  /** @param help what to do, as the beginning of a sentence that ends with the SQL */
  #missing(why: string, help: string): string {
    return (
      `The table ${this.dialect.entries.table} is missing, or lacks columns${why} neither histories nor queued calls are kept. ` +
      `${help}:\n${this.dialect.setup()}`
    );
  }
}

export const refusal = (problem: string): StoreUnavailableError =>
  new StoreUnavailableError(problem, { outcome: 'not-applied', refused: true });
