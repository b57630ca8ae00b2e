import { SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import type { Change, DocumentsRead, LockDocuments, Renewal } from '../../contract/port.js';
import type { SqlDialect, Written } from './dialect.js';
import type { Operations } from './operations.js';
import type { SqlTable } from './sql-table.js';

/** The documents of locks in a table, a row each. */
export class SqlDocuments<Table> implements LockDocuments {
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    private readonly table: Pick<SqlTable<Table>, 'ready'>,
  ) {}

  /** Judged by the columns of the table; by the name alone if the store could not look at the table yet. */
  nameProblem(name: string, table: Table | undefined = this.table.ready): string | undefined {
    return this.dialect.nameProblem(table, name);
  }

  /** @param forPeople who need no right to write */
  async read(names: readonly string[] | 'all', forPeople = false): Promise<DocumentsRead> {
    const look = () => this.operations.run((table) => this.#read(table, names), undefined, forPeople);
    try {
      // The connection may have been the reason. Many attempts share a look, which is to fail none of them.
      return await look().catch((error: unknown) =>
        isUnknown(error) && !forPeople ? look() : Promise.reject(error),
      );
    } catch (error) {
      if (!isUnknown(error)) throw error;
      // A look changes nothing.
      throw new StoreUnavailableError(error.message, { outcome: 'not-applied', refused: error.refused });
    }
  }

  async write(changes: readonly Change[]): Promise<Written[]> {
    // As they are locked in one order, no two batches wait for each other.
    const sorted = changes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const lock = changes.length === 1 ? changes[0]?.name : undefined;
    const written = new Map<Change, Written>();
    for (const isNew of [false, true]) {
      const some = sorted.filter(({ seen }) => (seen === null) === isNew);
      if (some.length === 0) continue;
      const send = (table: Table, part: readonly Change[]) => this.dialect.write(table, part);
      const answers = await this.#run(some, send, lock).catch((error: unknown) => {
        // Of the whole batch the error would say that nothing was written.
        if (written.size === 0 || isUnknown(error)) throw error;
        return some.map(() => false);
      });
      for (const [i, change] of some.entries()) written.set(change, answers[i]);
    }
    return changes.map((change) => written.get(change));
  }

  async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    if (renewals.length === 0) return [];
    return this.#run(renewals, (table, some) => this.dialect.renew(table, some));
  }

  /** A name that the table cannot keep would make the whole statement fail. */
  async #read(table: Table, names: readonly string[] | 'all'): Promise<DocumentsRead> {
    if (names === 'all') return this.dialect.read(table, names);
    const unkept = names.flatMap((name) => {
      const problem = this.nameProblem(name, table);
      const told = `the lock "${name}": ${problem}`;
      return problem === undefined ? [] : [[name, new SchedulerLockConfigError([told])] as const];
    });
    const { problems = [], ...found } = await this.dialect.read(
      table,
      unkept.length === 0 ? names : names.filter((name) => !unkept.some(([each]) => each === name)),
    );
    return { ...found, problems: new Map([...problems, ...unkept]) };
  }

  #run<T, Answer extends Written>(
    all: readonly T[],
    send: (table: Table, some: readonly T[]) => Promise<Answer[]>,
    lock?: string,
  ): Promise<(Answer | false)[]> {
    return this.operations.run((table) => this.#halved(all, (some) => send(table, some)), lock);
  }

  /**
   * If one row of a batch stops the others, sends its halves, and halves of those. What was not written comes again by itself, and gets its
   * error then.
   */
  async #halved<T, Answer extends Written>(
    batch: readonly T[],
    send: (some: readonly T[]) => Promise<Answer[]>,
  ): Promise<(Answer | false)[]> {
    try {
      return await send(batch);
    } catch (error) {
      const failure = this.dialect.failure(error);
      if (failure === 'conflict' || (failure === 'locked' && batch.length === 1))
        return batch.map(() => false);
      if (batch.length === 1 || (failure !== 'locked' && failure !== 'lock')) throw error;
    }
    const half = Math.ceil(batch.length / 2);
    const answers: (Answer | false)[] = [];
    for (const part of [batch.slice(0, half), batch.slice(half)])
      try {
        answers.push(...(await this.#halved(part, send)));
      } catch (error) {
        if (this.dialect.failure(error) === 'unknown') throw error;
        answers.push(...part.map(() => false as const));
      }
    return answers;
  }
}

const isUnknown = (error: unknown): error is StoreUnavailableError =>
  error instanceof StoreUnavailableError && error.outcome === 'unknown';
