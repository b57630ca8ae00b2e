import type { Clock } from '../../clock.js';
import { SchedulerLockConfigError, SchedulerLockError } from '../../errors.js';
import { QUEUED_CALLS_KEPT } from '../queued-call-store.js';
import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';
import type { AGAIN, Operations } from './operations.js';
import { COLUMNS } from './queued-call-row.js';
import { tries } from './tries.js';

/** How often queued calls that are too old are deleted, ms. */
const TIDY = 3_600_000;

/** The table of the queued calls. The store looks at it before the first use, creates it if it is missing, and deletes old rows. */
export class QueuedCallsTable<Table> {
  #tidied = -Infinity;
  /** Whether the table is there, as far as is known. */
  #ready = false;

  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    private readonly options: { readonly migrate: boolean; readonly clock: Clock },
  ) {}

  /**
   * Looks at the table, and creates it if it is missing, unless `migrate` is false.
   *
   * @throws SchedulerLockConfigError if the table is still missing, or if the user may not use it
   */
  async init(): Promise<void> {
    await this.operations.run(() => this.#prepare());
    this.#ready = true;
  }

  async run<T>(operation: () => Promise<T | typeof AGAIN>, lock?: string): Promise<T> {
    // The database may have been away when the application started.
    if (!this.#ready) await this.init();
    return this.operations.run(operation, lock === undefined ? {} : { lock });
  }

  /** Deletes queued calls and dead letters that are too old, once in a while. */
  async tidy(): Promise<void> {
    const now = this.options.clock.monotonic();
    if (now - this.#tidied < TIDY) return;
    const { queuedCalls } = this.dialect;
    await queuedCalls.write(
      `DELETE FROM {t} WHERE coalesce(dead_at, queued_at) < ${queuedCalls.now} - ${QUEUED_CALLS_KEPT}`,
      [],
    );
    this.#tidied = now;
  }

  /** Looks first: if the table exists, the user needs no right to create it. */
  async #prepare(): Promise<void> {
    const { dialect, options } = this;
    try {
      const isThere = await this.#look().then(
        () => true,
        (error: unknown) => {
          if (!options.migrate || dialect.failure(error) !== 'table') throw error;
          return false;
        },
      );
      if (!isThere) for (const statement of dialect.queuedCalls.creation) await dialect.migrate(statement);
    } catch (error) {
      const failure = error instanceof SchedulerLockError ? undefined : dialect.failure(error);
      if (failure !== 'table' && failure !== 'forbidden') throw error;
      const what =
        failure === 'table'
          ? 'is missing, or lacks columns'
          : `cannot be created or used by this user: ${describeFailure(error)}`;
      throw new SchedulerLockConfigError([
        `store: the table ${dialect.queuedCalls.table} for queued calls ${what}. Run this as a user who may:\n${dialect.setup()}`,
      ]);
    }
  }

  async #look(): Promise<void> {
    const columns = `${COLUMNS}, slot, args`;
    for (const statement of tries('{t}', { columns, key: 'id', text: 'args' }))
      await this.dialect.queuedCalls.read(statement, []);
  }
}
