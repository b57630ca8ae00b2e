import { LockStateError, type SchedulerLockError, StoreUnavailableError } from '../../errors.js';
import type { ExtendResult, LeaseRef } from '../lock-store.js';
import { AGAIN, mayBeForgotten, NO_ROW, readMissedRenewal, type Renewed } from './answers.js';
import type { SqlDialect } from './dialect.js';

/** One renewal of many leases. Each lease is judged alone. */
export class Renewal<Table> {
  readonly #results: ExtendResult[] = [];
  /** The leases that are not judged yet. */
  #left: [index: number, lease: LeaseRef][];

  /**
   * @param late whether it is time to answer, even if some leases are not judged
   * @param failed turns an error into the one that a caller gets for a lock
   */
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly leases: readonly LeaseRef[],
    private readonly late: () => boolean,
    private readonly failed: (error: unknown, lock: string) => SchedulerLockError,
  ) {
    this.#left = [...leases.entries()];
  }

  get done(): boolean {
    return this.#left.length === 0;
  }

  /** Judges the leases that are left, except those whose rows other transactions have locked. */
  async try(table: Table): Promise<void> {
    const asked = this.#left;
    const leases = asked.map(([, lease]) => lease);
    const rows = await this.#renew(table, leases);
    this.#left = [];
    for (const [i, [index, lease]] of asked.entries()) {
      const row = rows[i] ?? NO_ROW;
      const result = judged(lease, row);
      if (result === AGAIN) this.#left.push([index, lease]);
      else this.#results[index] = result.held ? result : await this.#restored(table, lease, row, result);
    }
  }

  /**
   * The result of each lease.
   *
   * @param error why the last try failed, if not because of locked rows
   */
  results(error?: SchedulerLockError): ExtendResult[] {
    return this.leases.map(
      (lease, index) => this.#results[index] ?? { held: null, error: error ?? this.#isLocked(lease) },
    );
  }

  /** If a batch cannot be renewed because one of its rows is locked, renews its halves, and so on. */
  async #renew(table: Table, batch: readonly LeaseRef[]): Promise<Renewed[]> {
    try {
      return await this.dialect.renew(table, batch);
    } catch (error) {
      if (this.dialect.failure(error) !== 'locked') throw error;
    }
    const half = Math.ceil(batch.length / 2);
    const renewed: Renewed[] = [];
    for (const part of batch.length > 1 ? [batch.slice(0, half), batch.slice(half)] : [])
      if (!this.late()) renewed.push(...(await this.#renew(table, part)));
    return [...renewed, ...batch.slice(renewed.length).map((): Renewed => AGAIN)];
  }

  /**
   * Restores a lease that the database may have forgotten. One at a time: there are few of them, unless the database was just
   * replaced.
   */
  async #restored(table: Table, lease: LeaseRef, row: Renewed, missed: ExtendResult): Promise<ExtendResult> {
    if (row === true || row === AGAIN || !mayBeForgotten(lease, row)) return missed;
    try {
      if (this.late()) throw noTime();
      if (await this.dialect.writeBack(table, lease, row.by)) return { held: true, restored: true };
      // The database knows a newer lease, or another client was faster.
      if (missed.held === false && missed.reason === 'taken') return missed;
      const [now = NO_ROW] = await this.#renew(table, [lease]);
      const result = judged(lease, now);
      return result === AGAIN ? { held: null, error: this.#isLocked(lease) } : result;
    } catch (error) {
      return { held: null, error: this.failed(error, lease.name) };
    }
  }

  #isLocked({ name }: LeaseRef): LockStateError {
    return new LockStateError(
      name,
      `another transaction has locked its row in ${this.dialect.table}, so its lease was not renewed. End that transaction.`,
    );
  }
}

function judged(lease: LeaseRef, row: Renewed): ExtendResult | typeof AGAIN {
  if (row === AGAIN) return AGAIN;
  return row === true ? { held: true } : readMissedRenewal(lease, row);
}

function noTime(): Error {
  return new StoreUnavailableError(
    'There was no time left to write a lease back that the database has forgotten.',
    { outcome: 'not-applied' },
  );
}
