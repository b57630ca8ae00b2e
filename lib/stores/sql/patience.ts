import type { Clock } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import type { Migration } from './migration.js';
import type { TableCreation } from './table-creation.js';

/** How often it is looked whether a migration has ended whose answer was lost with its connection, ms. */
const LOOK_EVERY = 10_000;

/** Waits for what is under way; not for a migration, which takes as long as it takes. */
export class Patience<S> {
  /** When it was looked last whether the migration has ended. */
  #lookedAt = 0;

  /** @param look finds the statements of a table that can be used */
  constructor(
    private readonly clock: Clock,
    private readonly creation: Pick<TableCreation<S>, 'underWay'>,
    private readonly look: () => Promise<S>,
  ) {}

  /**
   * Waits for the statements.
   *
   * @param limit how long to wait for a migration, ms; it goes on even so
   * @throws StoreUnavailableError if the migration takes longer
   */
  wait(pending: Promise<S>, limit: number): Promise<S> {
    const start = this.clock.monotonic();
    return new Promise((resolve, reject) => {
      let over = false;
      const check = (): void => {
        const now = this.clock.monotonic();
        const migration = this.creation.underWay;
        const left = limit - (now - Math.min(start, migration?.since ?? start));
        if (left <= 0 && migration !== undefined) reject(this.#stillMigrating(migration));
        else timer = this.clock.setTimer(check, left > 0 ? left : limit);
      };
      let timer: { cancel(): void } | undefined;
      const end = (): void => {
        over = true;
        timer?.cancel();
      };
      pending.then(
        (statements) => (end(), resolve(statements)),
        (error: Error) => (end(), reject(error)),
      );
      if (!over) check();
    });
  }

  #stillMigrating(migration: Migration): StoreUnavailableError {
    const now = this.clock.monotonic();
    if (now - Math.max(this.#lookedAt, migration.since) >= LOOK_EVERY) {
      this.#lookedAt = now;
      void this.#lookMeanwhile(migration);
    }
    return new StoreUnavailableError(migration.describe(), { outcome: 'not-applied' });
  }

  /** Whether the table has become what it is to be, though nobody was told. */
  async #lookMeanwhile(migration: Migration): Promise<void> {
    const statements = await this.look().catch(() => undefined);
    if (statements !== undefined) migration.finish();
  }
}
