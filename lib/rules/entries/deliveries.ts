import { StoreUnavailableError } from '../../base/errors.js';
import type { LeaseRef, ReleaseOutcome } from '../../contract/lock-store.js';
import {
  DEAD_KEPT,
  type DeadLetter,
  type NextOptions,
  type NextResult,
} from '../../contract/queued-call-store.js';
import type { LockEntries } from './entries.js';
import {
  CALL,
  DEAD,
  deadEntry,
  delivered,
  firstCall,
  keyOfCall,
  letterOf,
  openedEntry,
  type StoredCall,
  takenBy,
  takenEntry,
} from './queue-entries.js';
import type { FirstInLine } from './lines.js';
import type { QueueLocks } from './queue-locks.js';
import { AGAIN, type Left } from './tries.js';

/** How many dead letters one clean-up deletes at most. */
const MOST_DROPPED = 100;

/** For whom a queued call is delivered, and what has become a dead letter before. */
interface Delivering extends Pick<NextOptions, 'takes'> {
  readonly left: Left;
  readonly dead: DeadLetter[];
}

/** Whether a queued call was delivered too often, and not to this lease. */
const isSpent = ({ taken, delivery, redeliver }: StoredCall, { token }: LeaseRef): boolean =>
  taken !== token && delivery > redeliver;

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
    { outcome, takes, left }: Pick<NextOptions, 'outcome' | 'takes'> & { readonly left: Left },
  ): (isAgain: boolean) => Promise<NextResult | typeof AGAIN> {
    const dead: DeadLetter[] = [];
    return async (isAgain) => {
      // The first try has ended the run.
      const ends = isAgain ? undefined : outcome;
      // One that has completed only leaves: the look at the next one need not wait for that.
      const looksAhead = ends === undefined || ends === 'completed';
      const leaving = ends === undefined ? undefined : lease.queuedCall;
      // The try before this one may have taken a call, and another one may have come before that since.
      const look = async () =>
        (isAgain ? await this.#own(lease, takes) : undefined) ?? this.#first(lease.name, takes, leaving);
      const [, { fencingToken, line }, ahead] = await Promise.all([
        ends === 'completed' && this.end(lease, ends),
        this.#held(lease),
        looksAhead ? look() : undefined,
      ]);
      if (fencingToken > lease.fencingToken) return this.#takenBefore(lease, fencingToken);
      if (!looksAhead) await this.end(lease, ends);
      if (fencingToken !== lease.fencingToken) {
        // The lease is over. If it ran out while it took a queued call, nobody has got that.
        if (isAgain) await this.#putBack(lease);
        return { held: false, dead };
      }
      const first = looksAhead ? ahead : await this.#first(lease.name, takes);
      return this.#deliver(lease, line, first, { takes, left, dead });
    };
  }

  /** The run of the queued call of a lease, if it has one, has ended. */
  async end({ name, token, queuedCall }: LeaseRef, outcome: ReleaseOutcome): Promise<void> {
    if (queuedCall === undefined) return;
    const key = keyOfCall(name, queuedCall);
    if (outcome === 'completed') return void (await this.entries.drop([{ ...key, version: takenBy(token) }]));
    const call = await firstCall(this.entries, { lock: name, ids: [key.id], kinds: [CALL] });
    if (call?.taken !== token) return;
    if (outcome === 'failed' || outcome === 'timed-out') await this.#bury(call, outcome);
    else await this.entries.put([openedEntry(call)]);
  }

  /** The fencing token that the token of a lease has, NaN if none is live; and who is first in line. */
  async #held({ name, token }: LeaseRef): Promise<{ fencingToken: number; line: FirstInLine }> {
    const { lease, ...line } = (await this.locks.taken([name])).get(name) ?? {};
    return { fencingToken: lease?.token === token ? lease.fencingToken : NaN, line };
  }

  /** The answer was lost, and the holder asks again: the lease has got another fencing token with its queued call. */
  async #takenBefore(lease: LeaseRef, fencingToken: number): Promise<NextResult> {
    const call = await this.#own(lease);
    if (call === undefined) return { held: false, dead: [] };
    return { held: true, queuedCall: delivered(call), fencingToken, dead: [] };
  }

  /** The queued call that a lease has. @param takes if it is of one of these jobs */
  #own({ name: lock, token }: LeaseRef, takes?: NextOptions['takes']): Promise<StoredCall | undefined> {
    const jobs = takes && { jobs: takes.map(({ job }) => job) };
    return firstCall(this.entries, { lock, slots: [takenBy(token)], ...jobs });
  }

  /** A queued call was taken by a lease, and nobody has got it: that counts no delivery. */
  async #putBack(lease: LeaseRef): Promise<void> {
    const call = await this.#own(lease);
    if (call !== undefined) await this.entries.put([openedEntry({ ...call, delivery: call.delivery - 1 })]);
  }

  /** The first queued call of some jobs. @param but one that does not count: it leaves just now */
  async #first(lock: string, takes: NextOptions['takes'], but?: string): Promise<StoredCall | undefined> {
    if (takes.length === 0) return undefined;
    const query = { lock, kinds: [CALL], jobs: takes.map(({ job }) => job) };
    if (but === undefined) return firstCall(this.entries, { ...query, limit: 1 });
    return firstCall(this.entries, { ...query, limit: 2 }, keyOfCall(lock, but).id);
  }

  /**
   * The lease goes on with a queued call. Those before it that were delivered too often become dead letters.
   *
   * @param line who is first in line
   * @param first the first queued call
   */
  async #deliver(
    lease: LeaseRef,
    line: FirstInLine,
    first: StoredCall | undefined,
    delivering: Delivering,
  ): Promise<NextResult | typeof AGAIN> {
    const { takes, dead } = delivering;
    let call = first;
    while (call !== undefined && isSpent(call, lease)) {
      dead.push(...(await this.#bury(call, 'interrupted')));
      call = await this.#first(lease.name, takes);
    }
    if (call === undefined) return { held: true, dead };
    const { place } = call.entry;
    if (await this.#isBehind(lease.name, line, place)) return { held: true, place, dead };
    return this.#take(lease, call, delivering);
  }

  /**
   * Whether a call in line goes before a queued call. Another one that runs queued calls does so only if there is one before this for which
   * this holder has no job: else the two would take turns, one call each.
   */
  async #isBehind(lock: string, { waiting, draining }: FirstInLine, place: number): Promise<boolean> {
    if (waiting !== undefined && waiting < place) return true;
    if (draining === undefined || draining >= place) return false;
    const before = await this.entries.list({ lock, kinds: [CALL], before: place, bare: true, limit: 1 });
    return before.entries.length > 0;
  }

  /** The lease goes on with a queued call. */
  async #take(
    lease: LeaseRef,
    call: StoredCall,
    { takes, left, dead }: Delivering,
  ): Promise<NextResult | typeof AGAIN> {
    const { job } = call;
    const ttl = takes.find((each) => each.job === job)?.ttl ?? lease.ttl;
    const isTakenNow = call.taken === lease.token;
    let mayBeGranted = false;
    try {
      if (!isTakenNow) {
        const [written] = await this.entries.put([takenEntry(call, lease.token)], left());
        // Another call was merged into it, or another holder has taken it, so the lease has run out.
        if (written !== true) return AGAIN;
      }
      const limit = left();
      mayBeGranted = true;
      const fencingToken = await this.locks.regrant(lease, { job, ttl }, limit);
      // The lease has run out meanwhile, and the next holder takes the queued call. Or the same was asked twice.
      if (fencingToken === undefined) return AGAIN;
      return { held: true, queuedCall: delivered(call, isTakenNow ? 0 : 1), fencingToken, dead };
    } catch (error) {
      const isNotGranted = error instanceof StoreUnavailableError && error.outcome === 'not-applied';
      if (!mayBeGranted || isNotGranted) await this.#putBack(lease).catch(() => undefined);
      throw error;
    }
  }

  /** Makes a queued call a dead letter. Returns nothing if another holder has done so. */
  async #bury(call: StoredCall, reason: DeadLetter['reason']): Promise<DeadLetter[]> {
    const [written] = await this.entries.put([deadEntry(call, reason)]);
    if (written !== true) return [];
    await this.#trim(call.entry.lock);
    return [letterOf(call, reason, call.now)];
  }

  /** Deletes all but the newest dead letters of a lock. */
  async #trim(lock: string): Promise<void> {
    const beyond = { skip: DEAD_KEPT, limit: MOST_DROPPED };
    const { entries } = await this.entries.list({ lock, kinds: [DEAD], newest: true, ...beyond });
    if (entries.length > 0) await this.entries.drop(entries);
  }
}
