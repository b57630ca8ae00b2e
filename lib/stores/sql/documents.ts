import { SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { Change, DocumentsRead, LockDocuments, Renewal } from '../../contract/port.js';
import type { SqlDialect, Written } from './dialect.js';
import type { Operations } from './operations.js';

/** The documents of locks in a table, a row each. */
export class SqlDocuments<Table> implements LockDocuments {
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
  ) {}

  nameProblem(name: string): string | undefined {
    return this.dialect.nameProblem(undefined, name);
  }

  /** @param forPeople who need no right to write: tells them of an error of the table */
  async read(
    names: readonly string[] | 'all',
    forPeople?: (error: unknown) => unknown,
  ): Promise<DocumentsRead> {
    const read = (table: Table): Promise<DocumentsRead> =>
      this.#read(table, names).catch((error: unknown) => {
        throw forPeople === undefined ? error : forPeople(error);
      });
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
    return this.#run(renewals, {}, (table, all) => this.dialect.renew(table, all));
  }

  /** A name that the table cannot keep would make the whole statement fail. */
  async #read(table: Table, names: readonly string[] | 'all'): Promise<DocumentsRead> {
    const isKept = (name: string): boolean => this.operations.nameProblem(name, table) === undefined;
    if (names === 'all' || names.every(isKept)) return this.dialect.read(table, names);
    const found = await this.dialect.read(table, names.filter(isKept));
    const problems = new Map(found.problems);
    for (const name of names) if (!isKept(name)) problems.set(name, this.operations.unkept(name, table));
    return { ...found, problems };
  }

  #run<T, Answer extends Written>(
    all: readonly T[],
    how: { readonly lock?: string },
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
