import { StoreUnavailableError } from '../base/errors.js';
import type { HistoryStore, InstanceRecord } from '../contract/history-store.js';
import type { LockStore } from '../contract/lock-store.js';
import type { LockInfo } from '../contract/lock-info.js';
import { withoutSql } from '../base/wording.js';
import { given } from '../base/shared.js';
import { FleetJobs, jobsOf, type Member } from './fleet-jobs.js';
import { isUp, type LockFacts, stateOf } from './join.js';
import type { InstanceInfo, Unreadable } from './types.js';

/** What the store knows about its instances. */
export interface Fleet {
  /** Those that are up first, and of these the newest; then those that were seen last. */
  readonly told: readonly Member[];
  readonly jobs: FleetJobs;
  /** The store's time. */
  readonly time: number;
}

/** How many locks to ask for in one call, or at the same time: Redis reads the histories of ten in one command. */
const LOCKS_PER_INSPECT = 100;
const ASKED_AT_ONCE = 10;

/** How many of the instances that are no longer up count: those seen last. */
const GONE = 200;

/** Whether a store answers, but refuses to show this part: it may show the rest. */
export const isRefusal = (error: unknown): error is StoreUnavailableError =>
  error instanceof StoreUnavailableError && error.refused;

/** Reads from a store what is known of jobs. */
export class Reader {
  /** How many records were left out of the newest answers. */
  readonly #unreadable = { instances: 0, runs: 0 };
  #time: number | undefined;
  /** What the store refused to show when it was last asked, and why. */
  readonly #refusals = new Map<string, string>();

  constructor(
    private readonly history: HistoryStore,
    private readonly inspect: LockStore['inspect'],
  ) {}

  /** The store's time when it last listed instances, epoch ms; `undefined` before that, and if it listed none. */
  get time(): number | undefined {
    return this.#time;
  }

  /** What the newest answers have left out. */
  get unreadable(): Unreadable {
    return { ...this.#unreadable, parts: [...new Set(this.#refusals.values())] };
  }

  async fleet(): Promise<Fleet> {
    let unreadable = 0;
    const answer = this.history.instances(() => void unreadable++);
    const records = await this.#unlessRefused('instances', answer);
    if (records instanceof StoreUnavailableError) throw records;
    this.#unreadable.instances = unreadable;
    const told = toldOf(records);
    this.#time = records[0]?.time;
    return { told, jobs: new FleetJobs(told), time: this.#time ?? 0 };
  }

  /** @param limitOf how many runs and misses of a lock at most; 0: only how the lock is now */
  async locks(
    names: readonly string[],
    limitOf: (name: string) => number = () => 0,
  ): Promise<Map<string, LockFacts>> {
    const found = await this.#unlessRefused('locks', this.#locks(names));
    const [locks, refused] = found instanceof StoreUnavailableError ? [undefined, found] : [found];
    let unreadable = 0;
    let runsRefused: Error | undefined;
    // First the lock, then its history: in the other order, a run that ends in between would be in neither answer.
    const facts = await fewAtOnce(names, async (name): Promise<[string, LockFacts]> => {
      const query = { name, limit: limitOf(name), onUnreadable: () => void unreadable++ };
      const read = query.limit === 0 ? [] : await orRefusal(this.history.entries(query));
      const isRefused = read instanceof StoreUnavailableError;
      if (isRefused) runsRefused = read;
      const entries = isRefused ? [] : read;
      const refusal = refused ?? (isRefused ? read : undefined);
      return [name, { entries, ...given({ lock: locks?.get(name), refusal }) }];
    });
    if (names.length === 0 || names.some((name) => limitOf(name) > 0)) {
      this.#unreadable.runs = unreadable;
      this.#told('runs', runsRefused);
    }
    return new Map(facts);
  }

  async #locks(names: readonly string[]): Promise<Map<string, LockInfo>> {
    const locks = new Map<string, LockInfo>();
    for (let from = 0; from < names.length; from += LOCKS_PER_INSPECT)
      for (const lock of await this.inspect(names.slice(from, from + LOCKS_PER_INSPECT)))
        locks.set(lock.name, lock);
    return locks;
  }

  async #unlessRefused<T>(part: string, answer: Promise<T>): Promise<T | StoreUnavailableError> {
    const told = await orRefusal(answer);
    this.#told(part, told instanceof StoreUnavailableError ? told : undefined);
    return told;
  }

  #told(part: string, refusal: Error | undefined): void {
    if (refusal === undefined) this.#refusals.delete(part);
    else this.#refusals.set(part, withoutSql(refusal.message));
  }
}

const orRefusal = <T>(answer: Promise<T>): Promise<T | StoreUnavailableError> =>
  answer.catch((error: unknown) => {
    if (!isRefusal(error)) throw error;
    return error;
  });

/** An instance with its jobs. */
export const instanceOf = (one: Member): InstanceInfo => ({ ...one.info, jobs: jobsOf(one) });

/** The instances that are up, and those that were seen last. */
export function toldOf(records: readonly InstanceRecord[]): Member[] {
  const told = records.map((record) => ({ info: infoOf(record), jobs: record.jobs })).sort(newestFirst);
  const most = told.filter(({ info }) => isUp(info)).length + GONE;
  const lists = new Set<unknown>();
  // The last one that had a list of jobs stays: nobody else may know them.
  return told.filter(({ jobs }, index) => {
    const isLast = !lists.has(jobs);
    lists.add(jobs);
    return index < most || isLast;
  });
}

// Objects with all fields of their own: a look reads each some hundred times.
function infoOf(record: InstanceRecord): Member['info'] {
  const { instance, startedAt, seenAt, leads, application, version, clockOffset } = record;
  const { stopped, added, hung, kept } = record;
  const more = given({ application, version, clockOffset, stopped, added, hung, kept });
  return { instance, startedAt, seenAt, leads, ...more, state: stateOf(record) };
}

function newestFirst({ info: one }: Member, { info: other }: Member): number {
  const rank = (info: Member['info']): number => (isUp(info) ? info.startedAt : info.seenAt);
  return Number(isUp(other)) - Number(isUp(one)) || rank(other) - rank(one);
}

/** Asks for all, but never for more than a few at the same time. */
async function fewAtOnce<T>(names: readonly string[], ask: (name: string) => Promise<T>): Promise<T[]> {
  const answers: T[] = [];
  const left = names.values();
  const askOn = async (): Promise<void> => {
    for (const name of left) answers.push(await ask(name));
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askOn));
  return answers;
}
