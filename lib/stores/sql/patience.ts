import type { Clock } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import type { Migration } from './migration.js';
import type { TableCreation } from './table-creation.js';

/** How often to check whether a migration has ended whose answer was lost with its connection, ms. */
const LOOK_EVERY = 10_000;

/** Waits for pending statements, but for a migration only up to a limit. */
export class Patience<Table> {
  /** When it last checked whether the migration has ended, monotonic. */
  #lookedAt = 0;

  /** @param look finds the statements of a table that can be used */
  constructor(
    private readonly clock: Clock,
    private readonly creation: Pick<TableCreation<Table>, 'underWay'>,
    private readonly look: () => Promise<Table>,
  ) {}

  /**
   * Waits for the statements.
   *
   * @param limit how long to wait for a migration, ms; the migration goes on after that
   * @throws StoreUnavailableError if the migration takes longer
   */
  wait(pending: Promise<Table>, limit: number): Promise<Table> {
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

  /** Checks whether the table is complete by now, although no answer has arrived. */
  async #lookMeanwhile(migration: Migration): Promise<void> {
    const statements = await this.look().catch(() => undefined);
    if (statements !== undefined) migration.finish();
  }
}
