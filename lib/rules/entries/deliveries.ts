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
import type { QueueLocks, TakenLock } from './queue-locks.js';
import { AGAIN, type Tries } from './tries.js';

/** How many dead letters one clean-up deletes at most. */
const MOST_DROPPED = 100;

/** A holder asks for the next queued call: see `QueuedCallStore.next`. */
export class Delivery {
  /** What became a dead letter before the call that is delivered. */
  readonly #dead: DeadLetter[] = [];

  constructor(
    private readonly entries: LockEntries,
    private readonly locks: QueueLocks,
    private readonly lease: LeaseRef,
    private readonly takes: NextOptions['takes'],
    private readonly tries: Tries,
  ) {}

  /** @param outcome how the run of the lease's queued call has ended, if one has: the first try notes that */
  next(outcome: ReleaseOutcome | undefined): Promise<NextResult> {
    return this.tries.of((isAgain) => this.#next(isAgain, isAgain ? undefined : outcome));
  }

  async #next(isAgain: boolean, outcome?: ReleaseOutcome): Promise<NextResult | typeof AGAIN> {
    const { entries, lease } = this;
    // One that has completed only leaves: the look at the next one need not wait for that.
    const looksAhead = outcome === undefined || outcome === 'completed';
    const [, locks, ahead] = await Promise.all([
      outcome === 'completed' && endRun(entries, lease, outcome),
      this.locks.taken([lease.name]),
      looksAhead ? this.#look(isAgain, outcome && lease.queuedCall) : undefined,
    ]);
    const lock = locks.get(lease.name) ?? {};
    const fencingToken = this.#fencingToken(lock);
    if (fencingToken > lease.fencingToken) return this.#takenBefore(fencingToken);
    if (!looksAhead) await endRun(entries, lease, outcome);
    if (fencingToken === lease.fencingToken)
      return this.#deliver(lock, looksAhead ? ahead : await this.#first());
    // The lease is over. If it ran out while it took a queued call, nobody has got that.
    if (isAgain) await this.#putBack();
    return { held: false, dead: this.#dead };
  }

  /** That of the newest lease with the token; NaN if it is not live. */
  #fencingToken({ lease }: TakenLock): number {
    return lease?.token === this.lease.token ? lease.fencingToken : NaN;
  }

  /** The answer was lost, and the holder asks again: the lease has got another fencing token with its queued call. */
  async #takenBefore(fencingToken: number): Promise<NextResult> {
    const call = await this.#own();
    if (call === undefined) return { held: false, dead: [] };
    return { held: true, queuedCall: delivered(call), fencingToken, dead: [] };
  }

  get #jobs(): string[] {
    return this.takes.map(({ job }) => job);
  }

  /** The queued call that the lease has. @param jobs if it is of one of these */
  #own(jobs?: string[]): Promise<StoredCall | undefined> {
    const { name: lock, token } = this.lease;
    return firstCall(this.entries, { lock, slots: [takenBy(token)], ...(jobs && { jobs }) });
  }

  /** A queued call was taken by the lease, and nobody has got it: that counts no delivery. */
  async #putBack(): Promise<void> {
    const call = await this.#own();
    if (call === undefined) return;
    await this.entries.put([openedEntry({ ...call, delivery: call.delivery - 1 })]);
  }

  /** The try before this one may have taken a call, and another one may have come before that since. */
  async #look(isAgain: boolean, leaving?: string): Promise<StoredCall | undefined> {
    return (isAgain ? await this.#own(this.#jobs) : undefined) ?? this.#first(leaving);
  }

  /** The first queued call. @param leaving one that does not count: it leaves just now */
  async #first(leaving?: string): Promise<StoredCall | undefined> {
    if (this.takes.length === 0) return undefined;
    const { name: lock } = this.lease;
    const query = { lock, kinds: [CALL], jobs: this.#jobs, limit: leaving === undefined ? 1 : 2 };
    return firstCall(this.entries, query, leaving && keyOfCall(lock, leaving).id);
  }

  /** The lease goes on with the first queued call. Those that were delivered too often become dead letters. */
  async #deliver(lock: TakenLock, first: StoredCall | undefined): Promise<NextResult | typeof AGAIN> {
    const dead = this.#dead;
    let call = first;
    while (call !== undefined && call.taken !== this.lease.token && call.delivery > call.redeliver) {
      dead.push(...(await bury(this.entries, call, 'interrupted')));
      call = await this.#first();
    }
    if (call === undefined) return { held: true, dead };
    const { place } = call.entry;
    return (await this.#isBehind(lock, place)) ? { held: true, place, dead } : this.#take(call);
  }

  /**
   * Whether a call in line goes before a queued call. Another one that runs queued calls does so only if there is one before this for which
   * this holder has no job: else the two would take turns, one call each.
   */
  async #isBehind({ waiting, draining }: TakenLock, before: number): Promise<boolean> {
    if (waiting !== undefined && waiting < before) return true;
    if (draining === undefined || draining >= before) return false;
    const query = { lock: this.lease.name, kinds: [CALL], before, bare: true, limit: 1 } as const;
    return (await this.entries.list(query)).entries.length > 0;
  }

  async #take(call: StoredCall): Promise<NextResult | typeof AGAIN> {
    const { lease, tries } = this;
    const { job } = call;
    const ttl = this.takes.find((each) => each.job === job)?.ttl ?? lease.ttl;
    const isTakenNow = call.taken === lease.token;
    let mayBeGranted = false;
    try {
      if (!isTakenNow) {
        const [written] = await this.entries.put([takenEntry(call, lease.token)], tries.left());
        // Another call was merged into it, or another holder has taken it, so the lease has run out.
        if (written !== true) return AGAIN;
      }
      const limit = tries.left();
      mayBeGranted = true;
      const fencingToken = await this.locks.regrant(lease, { job, ttl }, limit);
      // The lease has run out meanwhile, and the next holder takes the queued call. Or the same was asked twice.
      if (fencingToken === undefined) return AGAIN;
      return { held: true, queuedCall: delivered(call, isTakenNow ? 0 : 1), fencingToken, dead: this.#dead };
    } catch (error) {
      const isNotGranted = error instanceof StoreUnavailableError && error.outcome === 'not-applied';
      if (!mayBeGranted || isNotGranted) await this.#putBack().catch(() => undefined);
      throw error;
    }
  }
}

/** The run of the queued call of a lease, if it has one, has ended. */
export async function endRun(
  entries: LockEntries,
  { name, token, queuedCall }: LeaseRef,
  outcome: ReleaseOutcome,
): Promise<void> {
  if (queuedCall === undefined) return;
  const key = keyOfCall(name, queuedCall);
  if (outcome === 'completed') return void (await entries.drop([{ ...key, version: takenBy(token) }]));
  const call = await firstCall(entries, { lock: name, ids: [key.id], kinds: [CALL] });
  if (call?.taken !== token) return;
  if (outcome === 'failed' || outcome === 'timed-out') await bury(entries, call, outcome);
  else await entries.put([openedEntry(call)]);
}

/** Makes a queued call a dead letter, and deletes all but the newest ones of its lock. Returns nothing if another holder has done so. */
async function bury(
  entries: LockEntries,
  call: StoredCall,
  reason: DeadLetter['reason'],
): Promise<DeadLetter[]> {
  const [written] = await entries.put([deadEntry(call, reason)]);
  if (written !== true) return [];
  const { lock } = call.entry;
  const beyond = { lock, kinds: [DEAD], newest: true, skip: DEAD_KEPT, limit: MOST_DROPPED } as const;
  const { entries: oldest } = await entries.list(beyond);
  if (oldest.length > 0) await entries.drop(oldest);
  return [letterOf(call, reason, call.now)];
}
