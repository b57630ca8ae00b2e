import { SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { Change, DocumentsRead, LockDocuments, Renewal } from '../../contract/port.js';
import type { SqlDialect, Written } from './dialect.js';
import { AGAIN, type Operations } from './operations.js';

/** The documents of locks in a table, a row each. */
export class SqlDocuments<Table> implements LockDocuments {
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
  ) {}

  /** Whether the table has room for a name is judged by each read: somebody may have made it wider meanwhile. */
  nameProblem(name: string): string | undefined {
    return this.dialect.unreadable(name);
  }

  /** @param forPeople who need no right to write: tells them of an error of the table */
  async read(
    names: readonly string[] | 'all',
    forPeople?: (error: unknown) => unknown,
  ): Promise<DocumentsRead> {
    let lookedAgain = forPeople !== undefined;
    const read = async (table: Table): Promise<DocumentsRead | typeof AGAIN> => {
      const unkept = this.#unkept(table, names);
      if (unkept.length > 0 && !lookedAgain) {
        lookedAgain = true;
        return this.operations.lookAgain();
      }
      try {
        return await this.#read(table, names, unkept);
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

  write(changes: readonly Change[]): Promise<Written[]> {
    const [first] = changes;
    if (first === undefined || changes.length > 1) return this.#writeMany(changes);
    return this.#run(changes, { lock: first.name }, (table, all) => this.dialect.write(table, all));
  }

  async #writeMany(changes: readonly Change[]): Promise<Written[]> {
    // As they are locked in one order, no two batches wait for each other.
    const sorted = changes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const written = new Map<Change, Written>();
    for (const isNew of [false, true]) {
      const some = sorted.filter(({ seen }) => (seen === null) === isNew);
      if (some.length === 0) continue;
      const write = () => this.#run(some, {}, (table, all) => this.dialect.write(table, all));
      const answers = await this.#more([...written.values()], some, write);
      for (const [i, change] of some.entries()) written.set(change, answers[i]);
    }
    return changes.map((change) => written.get(change));
  }

  async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    if (renewals.length === 0) return [];
    // Leases go on with an incomplete table.
    return this.#run(renewals, { ofLease: true }, (table, all) => this.dialect.renew(table, all));
  }

  /** The names that the table cannot keep. */
  #unkept(table: Table, names: readonly string[] | 'all'): string[] {
    if (names === 'all') return [];
    return names.filter((name) => this.operations.nameProblem(name, table) !== undefined);
  }

  /** @param unkept names that would make the whole statement fail */
  async #read(
    table: Table,
    names: readonly string[] | 'all',
    unkept: readonly string[],
  ): Promise<DocumentsRead> {
    if (names === 'all' || unkept.length === 0) return this.dialect.read(table, names);
    const problems = new Map<string, SchedulerLockError>();
    for (const name of unkept) problems.set(name, this.operations.unkept(name));
    const found = await this.dialect.read(
      table,
      names.filter((name) => !problems.has(name)),
    );
    return { ...found, problems: new Map([...(found.problems ?? []), ...problems]) };
  }

  #run<T, Answer extends Written>(
    all: readonly T[],
    how: { readonly lock?: string; readonly ofLease?: boolean },
    send: (table: Table, some: readonly T[]) => Promise<Answer[]>,
  ): Promise<(Answer | false)[]> {
    const isAlone = all.length === 1;
    return this.operations.run((table) => this.#halved(all, isAlone, (some) => send(table, some)), how);
  }

  /**
   * If one row of a batch stops the others, sends its halves, and halves of those. A row that the database refuses counts as not written
   * unless it is alone: it comes again by itself, and gets its error then.
   */
  async #halved<T, Answer extends Written>(
    batch: readonly T[],
    isAlone: boolean,
    send: (some: readonly T[]) => Promise<Answer[]>,
  ): Promise<(Answer | false)[]> {
    try {
      return await send(batch);
    } catch (error) {
      const failure = this.dialect.failure(error);
      const isOfRow = failure === 'locked' || failure === 'lock';
      const isLeftOut = batch.length === 1 && (failure === 'locked' || (failure === 'lock' && !isAlone));
      if (failure === 'conflict' || isLeftOut) return batch.map(() => false);
      if (batch.length === 1 || !isOfRow) throw error;
    }
    const half = Math.ceil(batch.length / 2);
    const first = await this.#halved(batch.slice(0, half), isAlone, send);
    const rest = batch.slice(half);
    return [...first, ...(await this.#more(first, rest, () => this.#halved(rest, isAlone, send)))];
  }

  /**
   * Goes on with a batch of which some is written. What certainly was not is answered so: the error of a statement would say of the whole
   * batch that it was not.
   */
  async #more<T, Answer extends Written>(
    done: readonly Written[],
    rest: readonly T[],
    send: () => Promise<Answer[]>,
  ): Promise<(Answer | false)[]> {
    try {
      return await send();
    } catch (error) {
      const mayBeWritten =
        error instanceof SchedulerLockError ? isUnknown(error) : this.dialect.failure(error) === 'unknown';
      if (mayBeWritten || done.every((written) => written === false)) throw error;
      return rest.map(() => false);
    }
  }
}

const isUnknown = (error: unknown): error is StoreUnavailableError =>
  error instanceof StoreUnavailableError && error.outcome === 'unknown';
