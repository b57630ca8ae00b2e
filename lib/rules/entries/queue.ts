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
import { mergedArguments } from '../../contract/queued-arguments.js';
import { isAttended, STEP_OF_PRIORITY } from '../../contract/allowances.js';
import type { Entry, LockEntries, NewEntry } from './entries.js';
import type { Moments } from './lines.js';
import { Deliveries } from './deliveries.js';
import type { EntryHistory, ReadForPeople } from './history.js';
import {
  CALL,
  DEAD,
  firstCall,
  keyOfCall,
  letterOf,
  mergedEntry,
  newEntry,
  openSlot,
  placeOf,
  revivedEntry,
  storedCalls,
} from './queue-entries.js';
import type { QueueLocks } from './queue-locks.js';
import { AGAIN, type Left, Tries } from './tries.js';

/** How many locks one look at queued calls asks for, or finds. */
const MOST_LOCKS = 1_000;
/** After so many ms, less than half as long as callers wait by default, a call that has lost a race counts as merged by those who were faster, and came later. */
const RACES = 800;
/** So many calls of a lock may be on their way at once: a queue with room for fewer is counted once more. */
const ON_THE_WAY = 100;
/** The dead letters of how many locks are read at once. */
const LETTERS_AT_ONCE = 30;

/** What {@link EntryQueue} needs besides entries. */
export interface QueueParts {
  readonly locks: QueueLocks;
  readonly history: Pick<EntryHistory, 'ended'>;
  /** When calls come: the same as for calls in line. */
  readonly moments: Moments;
  readonly clock: Clock;
  /** Bounds a read for people. @default not at all */
  readonly forPeople?: ReadForPeople | undefined;
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
  readonly #tries: Tries;
  readonly #deliveries: Deliveries;
  /** Calls that become one, and wait until the one before them is written. */
  readonly #gathering = new Map<
    string,
    { readonly all: NewQueuedCall[]; readonly result: Promise<Enqueued> }
  >();
  /** The lock behind which the next look for queued calls begins. */
  #lookedAt: string | undefined;
  /** Whether calls can be kept, as far as is known. */
  #isOpen = false;

  constructor(
    private readonly entries: LockEntries,
    private readonly parts: QueueParts,
  ) {
    this.#tries = new Tries(parts.clock);
    this.#deliveries = new Deliveries(entries, parts.locks);
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

  async enqueue(queuedCall: NewQueuedCall, options?: CallOptions): Promise<Enqueued> {
    const left = this.#tries.left('not-applied', options);
    // The database was away at the start, or who queues the call runs none.
    if (!this.#isOpen) await this.init();
    const slot = openSlot(queuedCall);
    const all = [queuedCall];
    const { clock } = this.parts;
    const begun = clock.monotonic();
    const attempt = (isAgain: boolean) =>
      this.#enqueue(all, slot, left, isAgain && clock.monotonic() - begun >= RACES);
    const enqueue = () => this.#tries.of('not-applied', attempt, options);
    // Calls that fill a small queue would only get in each other's way.
    const { name, max } = queuedCall;
    if (max <= ON_THE_WAY) return this.#tries.inTurn([name], enqueue);
    return slot === undefined ? enqueue() : this.#together(name, slot, all, enqueue);
  }

  /** Calls that become one with another share a write: those that come while the one before is under way. */
  async #together(
    name: string,
    slot: string,
    all: NewQueuedCall[],
    enqueue: () => Promise<Enqueued>,
  ): Promise<Enqueued> {
    const key = JSON.stringify([name, slot]);
    const next = this.#gathering.get(key);
    if (next !== undefined) {
      const before = next.all.push(...all) - 1;
      const result = await next.result;
      return result.queued
        ? { ...result, merged: result.merged + before, id: result.id ?? next.all[0]?.id ?? '' }
        : result;
    }
    let hasBegun = false;
    const result = this.#tries.inTurn([name, slot], () => {
      hasBegun = true;
      this.#gathering.delete(key);
      return enqueue();
    });
    if (!hasBegun) this.#gathering.set(key, { all, result });
    return result;
  }

  async next(lease: LeaseRef, { outcome, record, takes, limit }: NextOptions): Promise<NextResult> {
    const left = this.#tries.left('unknown', { limit });
    const next = this.#deliveries.next(lease, { takes, left, ...(outcome && { outcome }) });
    let result: NextResult | undefined;
    try {
      return (result = await this.#tries.of('unknown', next, { limit }));
    } finally {
      if (outcome && record) this.parts.history.ended(lease, { outcome, record }, result?.held !== true);
    }
  }

  async left(jobs: readonly string[]): Promise<LeftCalls[]> {
    const after = this.#lookedAt === undefined ? {} : { after: this.#lookedAt };
    const sums = await this.entries.sums({ kinds: [CALL], jobs, limit: MOST_LOCKS, ...after });
    // The next look goes on behind these.
    this.#lookedAt = sums.length < MOST_LOCKS ? undefined : sums.at(-1)?.lock;
    if (sums.length === 0) return [];
    const taken = await this.parts.locks.taken(sums.map(({ lock }) => lock));
    const left = sums.map(({ lock, place }) => ({ name: lock, place }));
    return left.filter((call) => {
      const lock = taken.get(call.name);
      return lock === undefined || !isAttended(call, lock.draining);
    });
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
    return lease.queuedCall === undefined ? undefined : this.#deliveries.end(lease, outcome);
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
    for (let i = 0; i < locks.length; i += MOST_LOCKS) {
      const which = { locks: locks.slice(i, i + MOST_LOCKS), kinds: [CALL, DEAD] };
      const sums = await this.entries.sums(which);
      for (const { lock, kind, count } of sums) if (kind === CALL) infos.set(lock, { queued: count });
      const dead = sums.filter(({ kind }) => kind === DEAD);
      for (let j = 0; j < dead.length; j += LETTERS_AT_ONCE) {
        const some = dead.slice(j, j + LETTERS_AT_ONCE).map(({ lock }) => lock);
        const letters = await Promise.all(some.map((lock) => this.#letters(lock)));
        for (const [k, lock] of some.entries()) infos.set(lock, { ...infos.get(lock), ...letters[k] });
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

  /** @param hasLost whether others were faster again and again */
  async #enqueue(
    all: readonly NewQueuedCall[],
    slot: string | undefined,
    left: Left,
    hasLost: boolean,
  ): Promise<Enqueued | typeof AGAIN> {
    const [queuedCall] = all as readonly [NewQueuedCall];
    const { name: lock, id, max } = queuedCall;
    const merged = slot === undefined ? undefined : await this.#merge(all, slot, left, hasLost);
    if (merged !== undefined) return merged;
    const { now, entries: last } = await this.entries.list(lastOf(lock));
    const [waiting] = last.length === 0 ? [] : await this.entries.sums({ locks: [lock], kinds: [CALL] });
    const count = waiting?.count ?? 0;
    if (count < max) {
      const place = await this.#placeFor(queuedCall, now, last);
      const entry = newEntry(withNewest(all), now, place, slot, all.length - 1);
      const [written] = await this.entries.put([entry], left());
      if (written === true)
        return (await this.#isTooMany(entry, count, max)) ? AGAIN : { queued: true, place, merged: 0 };
    }
    // The same call, sent again; or another one with its key was faster.
    const [same] = await storedCalls(this.entries, { lock, ids: [keyOfCall(lock, id).id] });
    if (same !== undefined) return { queued: true, place: placeOf(same), merged: same.merged };
    return count < max ? AGAIN : { queued: false };
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
    try {
      const [waiting] = await this.entries.sums({ locks: [lock], kinds: [CALL] });
      if ((waiting?.count ?? 0) <= max) return false;
    } catch {
      // The call is queued, and may stay: one too many is better than one of which nobody knows.
      return false;
    }
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

  /** @returns `undefined` if no call with its key waits */
  async #merge(
    all: readonly NewQueuedCall[],
    slot: string,
    left: Left,
    hasLost: boolean,
  ): Promise<Enqueued | typeof AGAIN | undefined> {
    const [{ name: lock, id }] = all as readonly [NewQueuedCall];
    const call = await firstCall(this.entries, { lock, slots: [slot] });
    if (call === undefined) return undefined;
    const { merged } = call;
    const place = placeOf(call);
    if (call.id === id) return { queued: true, place, merged };
    // Each time another call was merged, which came later: its arguments are the newer ones, and a run begins after this.
    if (hasLost) return { queued: true, place, merged, id: call.id };
    const args = all.map((each) => each.args);
    const [written] = await this.entries.put([mergedEntry(call, slot, args)], left());
    // In between, a holder took the call, or another call was merged into it.
    return written === true ? { queued: true, place, merged: merged + 1, id: call.id } : AGAIN;
  }
}

/** Finds the last queued call of a lock. */
const lastOf = (lock: string) => ({ lock, kinds: [CALL], bare: true, newest: true, limit: 1 }) as const;

/** The first of some calls that become one, with the arguments of the newest. */
const withNewest = ([first, ...others]: readonly NewQueuedCall[]): NewQueuedCall => ({
  ...(first as NewQueuedCall),
  args: others.reduce((args, other) => mergedArguments(args, other.args), (first as NewQueuedCall).args),
});
