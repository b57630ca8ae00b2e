import { type Clock, systemClock } from '../../clock.js';
import { Gatherer, RECORDS_WAIT } from '../../store/side/gatherer.js';
import type { RunRecords } from '../../store/side/keeping.js';
import type { LeaseRef, ReleaseOptions } from '../lock-store.js';
import { NOTHING_RAN } from '../rules.js';
import { RECORD } from './history-scripts.js';
import { LeaseCalls, type LeaseCommands } from './lease-commands.js';
import { runArguments } from './records.js';

/** The most records that are under way: ten commands on a server. */
const AT_ONCE = 500;
/** How many records wait at most: more than the runs of a process that end at one moment. They take up to 10 MB while Redis is away. */
const MOST_WAITING = 10_000;

/** The record of a run. */
interface Ended {
  readonly name: string;
  readonly isLate: boolean;
  /** Of its script. */
  readonly args: readonly string[];
}

/** Keeps the records of runs, a moment after their releases: those of many locks with one command. */
export class RedisRunRecords implements RunRecords {
  readonly #records: Gatherer<Ended>;
  readonly #calls: LeaseCalls<void>;

  constructor(commands: LeaseCommands, clock: Clock = systemClock) {
    this.#calls = new LeaseCalls<void>(commands, RECORD, () => undefined, false);
    this.#records = new Gatherer(clock, {
      pause: RECORDS_WAIT,
      atOnce: AT_ONCE,
      most: MOST_WAITING,
      replaces: (record, waiting) => waiting.isLate && !record.isLate,
      write: async (records) => void (await Promise.all(records.map((record) => this.#write(record)))),
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
    const args = runArguments(lease, outcome, { ...record, isLate });
    this.#records.add(`${fencingToken} ${name}`, { name, isLate, args });
  }

  /** Resolves when all that was to be kept is kept, or lost. */
  flush(): Promise<void> {
    return this.#records.flush();
  }

  /** Never rejects. */
  #write({ name, args }: Ended): Promise<void> {
    return new Promise((resolve) =>
      this.#calls.call(name, args, { answered: () => resolve(), failed: () => resolve() }),
    );
  }
}
