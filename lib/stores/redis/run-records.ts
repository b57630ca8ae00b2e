import { systemClock } from '../../base/clock.js';
import { Gatherer, RECORDS_WAIT } from '../../rules/entries/gatherer.js';
import type { RunRecords } from '../../rules/entries/keeping.js';
import type { Caller } from '../../contract/fast-port.js';
import type { LeaseRef, ReleaseOptions } from '../../contract/lock-store.js';
import { NOTHING_RAN } from '../../contract/allowances.js';
import { RECORD_BAD, RECORD_RUN } from './history-scripts.js';
import type { LeaseCall, LeaseCommands } from './lease-commands.js';
import { runArguments } from './records.js';
import type { RedisConnection } from './redis-connection.js';

/** The most records that are under way: ten commands on a server. */
const CONCURRENCY = 500;
/** How many records wait at most: more than the runs of a process that end at one moment. They take up to 10 MB while Redis does not answer. */
const MOST_WAITING = 10_000;

/** The record of a run. */
interface Ended extends LeaseCall<void> {
  readonly hasCompleted: boolean;
  readonly isLate: boolean;
}

const read = (): void => undefined;
/** A record that cannot be kept is lost. */
const told: Caller<void> = { answered: () => undefined, failed: () => undefined };

/** Keeps the records of runs, a moment after their releases: those of many locks with one command. */
export class RedisRunRecords implements RunRecords {
  readonly #records: Gatherer<Ended>;

  constructor(
    private readonly connection: RedisConnection,
    private readonly commands: LeaseCommands,
  ) {
    this.#records = new Gatherer(systemClock, {
      pause: RECORDS_WAIT,
      atOnce: CONCURRENCY,
      most: MOST_WAITING,
      replaces: (record, waiting) => waiting.isLate && !record.isLate,
      write: (records) => this.#write(records),
    });
  }

  ended(
    lease: LeaseRef,
    { outcome = 'completed', record }: Pick<ReleaseOptions, 'outcome' | 'record'>,
    isLate: boolean,
  ): void {
    // A lease without a fencing token had a grant that was never answered.
    if (record === undefined || outcome === NOTHING_RAN || lease.fencingToken === 0) return;
    const { name, fencingToken } = lease;
    const args = runArguments(lease, outcome, record, isLate);
    const hasCompleted = outcome === 'completed';
    this.#records.add(`${fencingToken} ${name}`, { name, args, read, told, hasCompleted, isLate });
  }

  /** Resolves when all that was to be kept is kept, or lost. */
  flush(): Promise<void> {
    return this.#records.flush();
  }

  async #write(records: readonly Ended[]): Promise<void> {
    await this.connection.connected();
    const completed = records.filter(({ hasCompleted }) => hasCompleted);
    const others = records.filter(({ hasCompleted }) => !hasCompleted);
    await Promise.all([
      ...this.commands.many(RECORD_RUN, completed),
      ...this.commands.many(RECORD_BAD, others),
    ]);
  }
}
