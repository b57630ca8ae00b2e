import type { Clock } from '../../base/clock.js';
import { SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import { placeAt } from '../../contract/line.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { LeaseRef, ReleaseOutcome } from '../../contract/lock-store.js';
import {
  type CallOptions,
  DEAD_KEPT,
  type DeadLetter,
  type Enqueued,
  type LeftCalls,
  LOOK_FOR_QUEUED,
  type NewQueuedCall,
  type NextOptions,
  type NextResult,
  type QueuedCallStore,
} from '../../contract/queued-call-store.js';
import { isAttended, isThrough, STEP_OF_PRIORITY } from '../../contract/allowances.js';
import type { Entry, LockEntries, NewEntry } from './entries.js';
import type { Moments } from './lines.js';
import type { EntryHistory, EntryHistoryOptions } from './history.js';
import {
  CALL,
  type Calls,
  DEAD,
  deadEntry,
  delivered,
  firstCall,
  keyOfCall,
  letterOf,
  mergedEntry,
  newEntry,
  openedEntry,
  openSlot,
  placeOf,
  revivedEntry,
  type StoredCall,
  storedCalls,
  takenBy,
  takenEntry,
} from './queue-entries.js';
import type { QueueLocks, TakenLock } from './queue-locks.js';
import { partsOf } from './together.js';
import { AGAIN, Tries, Turns } from './tries.js';

/** How many locks one call of the place asks for. */
const MOST_LOCKS = 1_000;
/** For so many locks dead letters are read at once: each may have a hundred. */
const LETTERS_AT_ONCE = 30;
/** After so many ms, less than half as long as callers wait by default, a call that has lost a race counts as merged by those who were faster, and came later. */
const RACES = 800;
/** So many calls of a lock may be on their way at once: a queue with room for fewer is counted once more. */
const ON_THE_WAY = 100;

/** What {@link EntryQueue} needs besides entries. */
export interface QueueParts {
  readonly locks: QueueLocks;
  readonly history: Pick<EntryHistory, 'ended'>;
  /** When calls come: the same as for calls in line. */
  readonly moments: Moments;
  readonly clock: Clock;
  /** Bounds a read for people. @default not at all */
  readonly forPeople?: EntryHistoryOptions['forPeople'];
  /** Sends a hint to every process that hears hints. Absent: nobody hears any. */
  readonly announce?: ((text: string) => void | Promise<void>) | undefined;
}

/** The fields of a lock that show its queued calls. */
export type QueuedCallsInfo = Pick<LockInfo, 'queued' | 'dead' | 'unknown'>;

/**
 * Rule 15: queued calls, over entries of locks. Only the holder of a lock takes its queued calls, so a few calls of the database, one after
 * another, do what has to look like one operation: each writes over what was seen.
 */
export class EntryQueue implements QueuedCallStore {
  readonly #turns: Turns<NewQueuedCall, Enqueued>;
  /** Whether calls can be kept, as far as is known. */
  #isOpen = false;

  constructor(
    private readonly entries: LockEntries,
    private readonly parts: QueueParts,
  ) {
    this.#turns = new Turns(parts.clock);
  }

  async announce(): Promise<void> {
    await this.parts.announce?.(LOOK_FOR_QUEUED);
  }

  /** @throws SchedulerLockConfigError if the database can keep no entries, or deletes none: then no queued call would ever end */
  async init(): Promise<void> {
    const problem = (await this.entries.init?.()) ?? (await this.#deletes());
    if (problem !== undefined)
      throw new SchedulerLockConfigError([`store: calls can neither wait in line nor be queued. ${problem}`]);
    this.#isOpen = true;
  }

  async enqueue(queuedCall: NewQueuedCall, { limit }: CallOptions = {}): Promise<Enqueued> {
    const tries = new Tries(this.parts.clock, 'not-applied', limit);
    // The database was away at the start, or who queues the call runs none.
    if (!this.#isOpen) await this.init();
    const { name, max } = queuedCall;
    const slot = openSlot(queuedCall);
    const enqueue = (all: Calls) => tries.of((isAgain) => this.#enqueue(all, tries, isAgain));
    // Calls that fill a small queue would only get in each other's way.
    if (max <= ON_THE_WAY) return this.#turns.take(JSON.stringify([name]), () => enqueue([queuedCall]));
    if (slot === undefined) return enqueue([queuedCall]);
    // Calls that become one share a write: those that come while the one before is under way.
    const { all, index, answer } = await this.#turns.join(JSON.stringify([name, slot]), queuedCall, enqueue);
    if (!answer.queued || index === 0) return answer;
    return { ...answer, merged: answer.merged + index, id: answer.id ?? all[0].id };
  }

  async next(lease: LeaseRef, { outcome, record, takes, limit }: NextOptions): Promise<NextResult> {
    const tries = new Tries(this.parts.clock, 'unknown', limit);
    let result: NextResult | undefined;
    try {
      return (result = await new Delivery(this.entries, this.parts.locks, lease, takes, tries).next(outcome));
    } finally {
      if (outcome && record) this.parts.history.ended(lease, { outcome, record }, result?.held !== true);
    }
  }

  async left(jobs: readonly string[]): Promise<LeftCalls[]> {
    const { locks, clock } = this.parts;
    const left: LeftCalls[] = [];
    for (const sums of partsOf(await this.entries.sums({ kinds: [CALL], jobs }), MOST_LOCKS)) {
      const taken = await locks.taken(sums.map(({ lock }) => lock)).catch((error: unknown) => {
        if (left.length === 0) throw error;
      });
      // What was found is run, and the next look tries the others.
      if (taken === undefined) break;
      for (const { lock: name, place } of sums) {
        const { paused = false, draining } = taken.get(name) ?? {};
        const mayRun = !paused || isThrough(place, clock.now());
        if (mayRun && !isAttended({ place }, draining)) left.push({ name, place });
      }
    }
    return left;
  }

  async redeliver(name: string, id?: string): Promise<number> {
    const ids = id === undefined ? {} : { ids: [keyOfCall(name, id).id] };
    const letters = await storedCalls(this.entries, { lock: name, kinds: [DEAD], ...ids });
    if (letters.length === 0) return 0;
    const written = await this.entries.put(letters.map(revivedEntry));
    return written.filter((isWritten) => isWritten).length;
  }

  /** The run of the queued call of a lease has ended; nothing to wait for if it has none. */
  end(lease: LeaseRef, outcome: ReleaseOutcome): Promise<void> | undefined {
    return lease.queuedCall === undefined ? undefined : endRun(this.entries, lease, outcome);
  }

  /**
   * The queued calls and dead letters of these locks, for people.
   *
   * @returns a function that gives the fields of a lock. If the database refuses the read, `unknown` says why, for each lock
   */
  async shown(locks: readonly string[]): Promise<(lock: string) => QueuedCallsInfo> {
    const { forPeople = (read) => read() } = this.parts;
    try {
      const infos = await forPeople(() => this.#infos(locks));
      return (lock) => infos.get(lock) ?? {};
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || !error.refused) throw error;
      const unknown = { unknown: error.message };
      return () => unknown;
    }
  }

  async #infos(locks: readonly string[]): Promise<ReadonlyMap<string, QueuedCallsInfo>> {
    const infos = new Map<string, QueuedCallsInfo>();
    for (const some of partsOf(locks, MOST_LOCKS)) {
      const sums = await this.entries.sums({ locks: some, kinds: [CALL, DEAD] });
      for (const { lock, kind, count } of sums) if (kind === CALL) infos.set(lock, { queued: count });
      const dead = sums.filter(({ kind }) => kind === DEAD).map(({ lock }) => lock);
      for (const together of partsOf(dead, LETTERS_AT_ONCE)) {
        const letters = await Promise.all(together.map((lock) => this.#letters(lock)));
        together.forEach((lock, i) => infos.set(lock, { ...infos.get(lock), ...letters[i] }));
      }
    }
    return infos;
  }

  /** Why nothing can be deleted, if the database refuses it. */
  async #deletes(): Promise<string | undefined> {
    try {
      await this.entries.drop([{ lock: '', id: 'none', version: '' }]);
      return undefined;
    } catch (error) {
      // Keys are made by a function of the user, which need not support this name.
      if (error instanceof SchedulerLockConfigError) return undefined;
      if (error instanceof StoreUnavailableError && error.refused) return error.message;
      throw error;
    }
  }

  async #letters(lock: string): Promise<{ dead?: readonly DeadLetter[] }> {
    const newest = { lock, kinds: [DEAD], newest: true, limit: DEAD_KEPT } as const;
    const dead = (await storedCalls(this.entries, newest)).flatMap((call) =>
      call.dead === undefined ? [] : [letterOf(call, call.dead, call.entry.at)],
    );
    return dead.length === 0 ? {} : { dead };
  }

  /** @param isAgain whether others were faster before */
  async #enqueue(all: Calls, tries: Tries, isAgain: boolean): Promise<Enqueued | typeof AGAIN> {
    const [queuedCall] = all;
    const { name: lock, id, max } = queuedCall;
    const slot = openSlot(queuedCall);
    const call = slot && (await firstCall(this.entries, { lock, slots: [slot] }));
    if (call) return this.#merge(call, all, tries, isAgain);
    const { now, entries: last } = await this.entries.list(lastOf(lock));
    const [waiting] = last.length === 0 ? [] : await this.entries.sums({ locks: [lock], kinds: [CALL] });
    const count = waiting?.count ?? 0;
    if (count < max) {
      const place = await this.#placeFor(queuedCall, now, last);
      const entry = newEntry(all, now, place);
      const [written] = await this.entries.put([entry], tries.left());
      if (written === true)
        return (await this.#isTooMany(entry, count, max)) ? AGAIN : { queued: true, place, merged: 0 };
    }
    // The same call, sent again; or another one with its key was faster.
    const [same] = await storedCalls(this.entries, { lock, ids: [keyOfCall(lock, id).id] });
    if (same !== undefined) return keptAs(same);
    return count < max ? AGAIN : { queued: false };
  }

  /** @param call waits, and has the same key */
  async #merge(
    call: StoredCall,
    all: Calls,
    tries: Tries,
    isAgain: boolean,
  ): Promise<Enqueued | typeof AGAIN> {
    const { id } = call;
    const kept = keptAs(call);
    if (id === all[0].id) return kept;
    // Each time another call was merged, which came later: its arguments are the newer ones, and a run begins after this.
    if (isAgain && tries.duration >= RACES) return { ...kept, id };
    const [written] = await this.entries.put([mergedEntry(call, all)], tries.left());
    // In between, a holder took the call, or another call was merged into it.
    return written === true ? { ...kept, merged: kept.merged + 1, id } : AGAIN;
  }

  /**
   * Takes a call back that others have left no room for meanwhile. Whoever writes last counts all others, so no more stay than there may be.
   *
   * @param before how many there were before it was written
   * @returns whether it was taken back, or is gone: no holder has taken it in between, and no call was merged into it
   */
  async #isTooMany(entry: NewEntry, before: number, max: number): Promise<boolean> {
    if (before + ON_THE_WAY < max) return false;
    const { lock, id } = entry;
    // If nobody can count, the call may stay: one too many is better than one of which nobody knows.
    const [waiting] = await this.entries.sums({ locks: [lock], kinds: [CALL] }).catch(() => []);
    if (waiting === undefined || waiting.count <= max) return false;
    try {
      if ((await this.entries.drop([entry])) > 0) return true;
      // A client may have sent the same twice, and this is the second answer.
      return (await this.entries.list({ lock, ids: [id], bare: true })).entries.length === 0;
    } catch (cause) {
      // It may be queued, and it may not.
      throw new StoreUnavailableError((cause as Error).message, { outcome: 'unknown', cause });
    }
  }

  /**
   * The place of a call: behind the last one of its priority, also one of another process from before the clock was set back.
   *
   * @param last the last call of all
   */
  async #placeFor(
    { name: lock, priority }: NewQueuedCall,
    now: number,
    [last]: readonly Entry[],
  ): Promise<number> {
    const place = placeAt(this.parts.moments.at(now), priority);
    // Calls of a lower priority stand behind it.
    const before = place + STEP_OF_PRIORITY / 2;
    const isLower = last !== undefined && last.place >= before;
    const [same] = isLower ? (await this.entries.list({ ...lastOf(lock), before })).entries : [last];
    return Math.max(place, (same?.place ?? -Infinity) + 1);
  }
}

/** Finds the last queued call of a lock. */
const lastOf = (lock: string) => ({ lock, kinds: [CALL], bare: true, newest: true, limit: 1 }) as const;

const keptAs = (call: StoredCall) => ({ queued: true, place: placeOf(call), merged: call.merged }) as const;

/** A holder asks for the next queued call: see `QueuedCallStore.next`. */
class Delivery {
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
    if (call !== undefined) await this.entries.put([openedEntry({ ...call, delivery: call.delivery - 1 })]);
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
    if (lock.paused === true && !isThrough(place, call.now)) {
      if (call.taken === this.lease.token) await this.#putBack();
      return { held: true, dead };
    }
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
      const through = isThrough(call.entry.place, call.now);
      mayBeGranted = true;
      const fencingToken = await this.locks.regrant(lease, { job, ttl, through }, limit);
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
async function endRun(
  entries: LockEntries,
  { name, token, queuedCall }: LeaseRef,
  outcome: ReleaseOutcome,
): Promise<void> {
  if (queuedCall === undefined) return;
  const key = keyOfCall(name, queuedCall);
  if (outcome === 'completed' || outcome === 'hollow')
    return void (await entries.drop([{ ...key, version: takenBy(token) }]));
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
  const beyond = { lock, kinds: [DEAD], newest: true, skip: DEAD_KEPT } as const;
  const { entries: oldest } = await entries.list(beyond);
  if (oldest.length > 0) await entries.drop(oldest);
  return [letterOf(call, reason, call.now)];
}
