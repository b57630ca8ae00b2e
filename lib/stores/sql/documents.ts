import { type SchedulerLockError, StoreUnavailableError } from '../../errors.js';
import type { Change, DocumentsRead, LockDocuments, Renewal } from '../../store/port.js';
import type { SqlDialect } from './dialect.js';
import type { Operations } from './operations.js';

/** The documents of locks in a table, a row each. */
export class SqlDocuments<Table> implements LockDocuments {
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
  ) {}

  nameProblem(name: string): string | undefined {
    return this.operations.nameProblem(name);
  }

  /** @param forPeople who need no right to write: tells them of an error of the table */
  async read(
    names: readonly string[] | 'all',
    forPeople?: (error: unknown) => unknown,
  ): Promise<DocumentsRead> {
    const read = async (table: Table): Promise<DocumentsRead> => {
      try {
        return await this.#read(table, names);
      } catch (error) {
        throw forPeople === undefined ? error : forPeople(error);
      }
    };
    const look = () => this.operations.run(read, { reads: forPeople !== undefined });
    try {
      // The connection may have been the reason. Many attempts share a look, which is to fail none of them.
      return await look().catch((error: unknown) =>
        isUnknown(error) && forPeople === undefined ? look() : Promise.reject(error),
      );
    } catch (error) {
      if (!isUnknown(error)) throw error;
      // A look changes nothing.
      throw new StoreUnavailableError(error.message, { outcome: 'not-applied', refused: error.refused });
    }
  }

  async write(changes: readonly Change[]): Promise<boolean[]> {
    const [first] = changes;
    if (first === undefined) return [];
    if (changes.length === 1)
      return this.#run(changes, { lock: first.name }, (table, all) => this.dialect.write(table, all));
    // As they are locked in one order, no two batches wait for each other.
    const sorted = changes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const written = new Map<Change, boolean | undefined>();
    for (const isNew of [false, true]) {
      const some = sorted.filter(({ seen }) => (seen === null) === isNew);
      if (some.length === 0) continue;
      const answers = await this.#run(some, {}, (table, all) => this.dialect.write(table, all));
      for (const [i, change] of some.entries()) written.set(change, answers[i]);
    }
    return changes.map((change) => written.get(change) === true);
  }

  async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    if (renewals.length === 0) return [];
    // Leases go on with an incomplete table.
    return this.#run(renewals, { ofLease: true }, (table, all) => this.dialect.renew(table, all));
  }

  async #read(table: Table, names: readonly string[] | 'all'): Promise<DocumentsRead> {
    if (names === 'all') return this.dialect.read(table, names);
    const problems = new Map<string, SchedulerLockError>();
    for (const name of names)
      if (this.dialect.nameProblem(table, name) !== undefined)
        problems.set(name, this.operations.unkept(name));
    // One that cannot be kept would make the whole statement fail.
    const kept = problems.size === 0 ? names : names.filter((name) => !problems.has(name));
    const found = await this.dialect.read(table, kept);
    return problems.size === 0
      ? found
      : { ...found, problems: new Map([...(found.problems ?? []), ...problems]) };
  }

  #run<T>(
    all: readonly T[],
    how: { readonly lock?: string; readonly ofLease?: boolean },
    send: (table: Table, some: readonly T[]) => Promise<boolean[]>,
  ): Promise<boolean[]> {
    return this.operations.run((table) => this.#halved(all, (some) => send(table, some)), how);
  }

  /** If one row of a batch stops the others, sends its halves, and halves of those. */
  async #halved<T>(
    batch: readonly T[],
    send: (some: readonly T[]) => Promise<boolean[]>,
  ): Promise<boolean[]> {
    try {
      return await send(batch);
    } catch (error) {
      const failure = this.dialect.failure(error);
      if (failure === 'conflict' || (failure === 'locked' && batch.length === 1))
        return batch.map(() => false);
      if (batch.length === 1 || (failure !== 'locked' && failure !== 'lock')) throw error;
    }
    const half = Math.ceil(batch.length / 2);
    const first = await this.#halved(batch.slice(0, half), send);
    return [...first, ...(await this.#halved(batch.slice(half), send))];
  }
}

const isUnknown = (error: unknown): error is StoreUnavailableError =>
  error instanceof StoreUnavailableError && error.outcome === 'unknown';
