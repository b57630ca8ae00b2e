import type { LeaseRef, ReleaseOutcome } from '../../stores/lock-store.js';
import {
  DEAD_KEPT,
  type DeadLetter,
  type NextOptions,
  type NextResult,
} from '../../stores/queued-call-store.js';
import type { EntryQuery, LockEntries } from '../entries.js';
import {
  CALL,
  DEAD,
  deadEntry,
  delivered,
  keyOfCall,
  letterOf,
  openedEntry,
  type StoredCall,
  storedCall,
  takenBy,
  takenEntry,
  unreadableEntry,
} from './queue-entries.js';
import type { QueueLocks, TakenLock } from './queue-locks.js';
import { AGAIN } from './tries.js';

/** How many dead letters one clean-up deletes at most. */
const MOST_DROPPED = 100;

/** A queued call, and the database's time when it was read. */
interface Read {
  readonly call: StoredCall;
  readonly now: number;
}

/** How queued calls are delivered to the holders of their locks, and how they end. */
export class Deliveries {
  constructor(
    private readonly entries: LockEntries,
    private readonly locks: QueueLocks,
  ) {}

  /**
   * See `QueuedCallStore.next`.
   *
   * @returns one try of it
   */
  next(
    lease: LeaseRef,
    { outcome, takes, limit }: Pick<NextOptions, 'outcome' | 'takes' | 'limit'>,
  ): (isAgain: boolean) => Promise<NextResult | typeof AGAIN> {
    const dead: DeadLetter[] = [];
    const { name } = lease;
    // One that has completed only leaves: nothing has to wait for that.
    const isLeaving = outcome === 'completed';
    const isEnding = outcome !== undefined && !isLeaving;
    return async (isAgain) => {
      const [lock, ahead] = await Promise.all([
        this.#held(lease),
        isAgain || isEnding ? undefined : this.#first(name, takes, lease.queuedCall),
        isLeaving && this.end(lease, outcome),
      ]);
      const fencingToken = lock?.lease?.fencingToken ?? NaN;
      const isNewer = fencingToken > lease.fencingToken;
      const own = isAgain || isNewer ? await this.#takenBy(lease) : undefined;
      if (isNewer && own !== undefined)
        return { held: true, queuedCall: delivered(own.call), fencingToken, dead };
      if (isEnding) await this.end(lease, outcome);
      if (!(fencingToken >= lease.fencingToken)) return { held: false, dead };
      const first = isAgain || isEnding ? await this.#first(name, takes) : ahead;
      const read = own ?? (await this.#alive(lease, first, { takes, dead }));
      if (read === undefined) return { held: true, dead };
      const { place } = read.call.entry;
      if ((lock?.first ?? Infinity) < place) return { held: true, place, dead };
      return this.#take({ ...lease, fencingToken }, read, { takes, limit, dead });
    };
  }

  /** The run of the queued call of a lease, if it has one, has ended. */
  async end({ name, token, queuedCall }: LeaseRef, outcome: ReleaseOutcome): Promise<void> {
    if (queuedCall === undefined) return;
    const key = keyOfCall(name, queuedCall);
    if (outcome === 'completed') return void (await this.entries.drop([{ ...key, version: takenBy(token) }]));
    const read = await this.#read({ lock: name, ids: [key.id], kinds: [CALL] });
    if (read?.call.taken !== token) return;
    if (outcome === 'failed' || outcome === 'timed-out') await this.#bury(read, outcome);
    else await this.entries.put([openedEntry(read.call, read.now)]);
  }

  /** The lock, if a lease with the token of this one is live. */
  async #held({ name, token }: LeaseRef): Promise<TakenLock | undefined> {
    const lock = (await this.locks.taken([name])).get(name);
    return lock?.lease?.token === token ? lock : undefined;
  }

  /** The queued call that the lease has taken: the answer was lost, or the same is asked at the same time. */
  #takenBy({ name, token }: LeaseRef): Promise<Read | undefined> {
    return this.#read({ lock: name, slots: [takenBy(token)] });
  }

  /** @param ended a queued call that is about to leave */
  async #first(lock: string, takes: NextOptions['takes'], ended?: string): Promise<Read | undefined> {
    const jobs = takes.map(({ job }) => job);
    if (jobs.length === 0) return undefined;
    const but = ended === undefined ? undefined : keyOfCall(lock, ended).id;
    return this.#read({ lock, kinds: [CALL], jobs, limit: but === undefined ? 1 : 2 }, but);
  }

  /** The first queued call that may be delivered. Those before it that were delivered too often become dead letters. */
  async #alive(
    { name, token }: LeaseRef,
    first: Read | undefined,
    { takes, dead }: Pick<NextOptions, 'takes'> & { readonly dead: DeadLetter[] },
  ): Promise<Read | undefined> {
    let read = first;
    while (read !== undefined && read.call.taken !== token && read.call.delivery > read.call.redeliver) {
      dead.push(...(await this.#bury(read, 'interrupted')));
      read = await this.#first(name, takes);
    }
    return read;
  }

  /** The lease goes on with a queued call. */
  async #take(
    lease: LeaseRef,
    { call, now }: Read,
    { takes, limit, dead }: Pick<NextOptions, 'takes' | 'limit'> & { readonly dead: readonly DeadLetter[] },
  ): Promise<NextResult | typeof AGAIN> {
    const { job } = call;
    const isTakenNow = call.taken === lease.token;
    const ttl = takes.find((each) => each.job === job)?.ttl ?? lease.ttl;
    const [written, fencingToken] = await Promise.all([
      isTakenNow ? [true] : this.entries.put([takenEntry(call, lease.token, now)]),
      this.locks.regrant(lease, { job, ttl }, limit),
    ]);
    // Another call was merged into it, or another holder has taken it. Or the lease has run out, or the same was asked twice.
    if (written[0] !== true || fencingToken === undefined) return AGAIN;
    return { held: true, queuedCall: delivered(call, isTakenNow ? 0 : 1), fencingToken, dead };
  }

  /** Makes a queued call a dead letter. Returns nothing if another holder has done so. */
  async #bury({ call, now }: Read, reason: DeadLetter['reason']): Promise<DeadLetter[]> {
    const [written] = await this.entries.put([deadEntry(call, reason, now)]);
    if (written !== true) return [];
    await this.#trim(call.entry.lock);
    return [letterOf(call, reason, now)];
  }

  /** Deletes all but the newest dead letters of a lock. */
  async #trim(lock: string): Promise<void> {
    const beyond = { skip: DEAD_KEPT, limit: MOST_DROPPED };
    const { entries } = await this.entries.list({ lock, kinds: [DEAD], newest: true, ...beyond });
    if (entries.length > 0) await this.entries.drop(entries);
  }

  /** The first queued call that a query finds. Puts aside what cannot be read. @param but the id of one that does not count */
  async #read(query: EntryQuery, but?: string): Promise<Read | undefined> {
    for (;;) {
      const { now, entries } = await this.entries.list(query);
      const entry = entries.find(({ id }) => id !== but);
      if (entry === undefined) return undefined;
      const call = storedCall(entry);
      if (call !== undefined) return { call, now };
      await this.entries.put([unreadableEntry(entry)]);
    }
  }
}
