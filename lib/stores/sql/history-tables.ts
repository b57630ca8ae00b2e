import { StoreUnavailableError } from '../../errors.js';
import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';
import type { Operations } from './operations.js';
import { tries } from './tries.js';

/** A table of histories. If one cannot be used, the other still can: beats need only the table of the instances. */
export type Part = 'runs' | 'instances';

const PARTS = {
  runs: { columns: 'name, entry, kind, noted_at, expires_at, data', key: 'name', text: 'data' },
  instances: { columns: 'id, catalogue, seen_at, data', key: 'id', text: 'data' },
} as const;

/** What the store does not keep without a table. */
const LOST: Readonly<Record<Part, string>> = { runs: 'runs', instances: 'histories' };

/**
 * The two tables of histories. The store looks at them when it needs them, and creates them if they are missing and it may. It goes on
 * without them: then it keeps no histories, and says why.
 */
export class HistoryTables<Table> {
  #ready = false;
  /** Whether this store is to keep histories, and not only to read them. */
  #keeps = false;
  readonly #problems: Partial<Record<Part, string | undefined>>;

  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    private readonly migrate: boolean,
  ) {
    const { unusable } = dialect.history;
    this.#problems = { runs: unusable, instances: unusable };
  }

  /** Why no runs can be kept, as far as is known. */
  get problem(): string | undefined {
    return this.#problems.runs;
  }

  /**
   * Looks at both tables, and creates what is missing, unless `migrate` is false.
   *
   * @returns why there can be no histories; `undefined` if the table of the instances can be used
   */
  async init(): Promise<string | undefined> {
    if (this.dialect.history.unusable !== undefined) return this.dialect.history.unusable;
    this.#keeps = true;
    await this.operations.run(() => this.#prepare());
    this.#ready = Object.values(this.#problems).every((problem) => problem === undefined);
    return this.#problems.instances;
  }

  /** Looks at the tables again, unless both can be used. Rejects if this table cannot be used. */
  async whenReady(part: Part): Promise<void> {
    if (this.#ready) return;
    // The database may have been away when the application started, or somebody has repaired it.
    await this.init();
    const problem = this.#problems[part];
    if (problem !== undefined) throw refusal(problem);
  }

  /**
   * Call this when a statement on a table has failed: remembers whether the table is the reason.
   *
   * @returns the error for the caller
   */
  failed(error: unknown, part: Part): unknown {
    const problem = this.#problemOf(error, part);
    if (problem === undefined) return error;
    this.#ready = false;
    this.#problems[part] = problem;
    return refusal(problem);
  }

  /**
   * Call this when the table of the runs was read. If the table had a problem, somebody has repaired it: looks whether the store can keep
   * runs again. A store that only reads, such as that of the shell, does not try to write. Never rejects.
   */
  async runsWereRead(): Promise<void> {
    if (!this.#keeps || this.problem === undefined) return;
    await this.operations.run(() => this.#look('runs')).catch(() => undefined);
  }

  async #prepare(): Promise<void> {
    const errors = await Promise.all([this.#look('runs'), this.#look('instances')]);
    if (!this.migrate || !errors.some((error) => error && this.dialect.failure(error) === 'table')) return;
    for (const statement of this.dialect.history.creation) {
      const refused = await this.#create(statement);
      if (refused === undefined) continue;
      for (const part of ['runs', 'instances'] as const)
        this.#problems[part] &&= this.#missing(refused, part);
      return;
    }
    await Promise.all([this.#look('runs'), this.#look('instances')]);
  }

  /** Resolves to the error, if this user may create nothing. */
  async #create(statement: string): Promise<unknown> {
    try {
      await this.dialect.migrate(statement);
    } catch (error) {
      const failure = this.dialect.failure(error);
      if (failure === 'forbidden') return error;
      // An index needs a column that its table lacks. The other statements can still succeed.
      if (failure !== 'table') throw error;
    }
    return undefined;
  }

  /** Tries statements that write nothing: they show what this user may do. Notes the problem of the table, and resolves to its error. */
  async #look(part: Part): Promise<unknown> {
    const { history } = this.dialect;
    try {
      for (const statement of tries(`{${part}}`, PARTS[part])) await history.read(statement, []);
      this.#problems[part] = undefined;
      return undefined;
    } catch (error) {
      const problem = this.#problemOf(error, part);
      if (problem === undefined) throw error;
      this.#problems[part] = problem;
      return error;
    }
  }

  #problemOf(error: unknown, part: Part): string | undefined {
    const failure = this.dialect.failure(error);
    if (failure === 'table') return this.#missing(error, part);
    if (failure !== 'forbidden') return undefined;
    return `The user may not use the table ${this.dialect.history[part]} (${describeFailure(error)}), so no ${LOST[part]} are kept. Run this as a user who may:\n${this.dialect.setup()}`;
  }

  #missing(error: unknown, part: Part): string {
    return (
      `The table ${this.dialect.history[part]} is missing, or lacks columns (${describeFailure(error)}), so no ${LOST[part]} are kept. ` +
      `Run this:\n${this.dialect.setup()}`
    );
  }
}

export const refusal = (problem: string): StoreUnavailableError =>
  new StoreUnavailableError(problem, { outcome: 'not-applied', refused: true });
