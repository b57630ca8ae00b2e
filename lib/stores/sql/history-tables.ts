import { StoreUnavailableError } from '../../errors.js';
import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';
import { giveUp, type Operations } from './operations.js';
import { tries } from './tries.js';

/**
 * The two tables of histories: looked at when they are needed, and created if they are missing and the store may create them. The store
 * goes on without them: then it keeps no histories, and says why.
 */
export class HistoryTables<Table> {
  #ready = false;
  #problem: string | undefined;

  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    private readonly migrate: boolean,
  ) {
    this.#problem = dialect.history.unusable;
  }

  /** Why nothing can be kept, as far as is known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Looks, and creates what is missing, unless `migrate` is false. Resolves to the problem that is left. */
  async init(): Promise<string | undefined> {
    if (this.dialect.history.unusable !== undefined) return this.dialect.history.unusable;
    this.#problem = await this.operations.run(() => this.#prepare(), giveUp);
    this.#ready = this.#problem === undefined;
    return this.#problem;
  }

  /** Looks unless all is well. Rejects if nothing can be kept. */
  async whenReady(): Promise<void> {
    if (this.#ready) return;
    // The database may have been away when the application started, or somebody has repaired it.
    const problem = await this.init();
    if (problem !== undefined) throw refusal(problem);
  }

  /**
   * A statement has failed: remembers if that was because of the tables.
   *
   * @returns the error for the caller
   */
  failed(error: unknown): unknown {
    const problem = this.#problemOf(error);
    if (problem === undefined) return error;
    this.#ready = false;
    this.#problem = problem;
    return refusal(problem);
  }

  async #prepare(): Promise<string | undefined> {
    const error = await this.#look();
    if (error === undefined) return undefined;
    if (!this.migrate || this.dialect.failure(error) !== 'table') return this.#problemOf(error);
    try {
      for (const statement of this.dialect.history.creation) await this.dialect.migrate(statement);
    } catch (refused) {
      if (this.dialect.failure(refused) === 'forbidden') return this.#missing(refused);
      throw refused;
    }
    const left = await this.#look();
    return left === undefined ? undefined : this.#problemOf(left);
  }

  /** Resolves to the error that the tables cause. Statements that write nothing show what this user may do. */
  async #look(): Promise<unknown> {
    const { history } = this.dialect;
    try {
      for (const [table, columns, key] of [
        ['{runs}', 'name, entry, kind, noted_at, expires_at, data', 'name'],
        ['{instances}', 'id, catalogue, seen_at, data', 'id'],
      ] as const) {
        for (const statement of tries(table, { columns, key, text: 'data' }))
          await history.read(statement, []);
      }
      return undefined;
    } catch (error) {
      if (this.#problemOf(error) === undefined) throw error;
      return error;
    }
  }

  #problemOf(error: unknown): string | undefined {
    const { runs, instances } = this.dialect.history;
    const failure = this.dialect.failure(error);
    if (failure === 'table') return this.#missing(error);
    if (failure !== 'forbidden') return undefined;
    return `The user may not use the tables ${runs} and ${instances} (${describeFailure(error)}), so no histories are kept. Run this as a user who may:\n${this.dialect.setup()}`;
  }

  #missing(error: unknown): string {
    const { runs, instances } = this.dialect.history;
    return (
      `The tables ${runs} and ${instances} are missing, or lack columns (${describeFailure(error)}), so no histories are kept. ` +
      `Run this:\n${this.dialect.setup()}`
    );
  }
}

const refusal = (problem: string): StoreUnavailableError =>
  new StoreUnavailableError(problem, { outcome: 'not-applied', refused: true });
