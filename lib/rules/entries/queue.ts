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
import { isAttended } from '../../contract/allowances.js';
import type { LockEntries, NewEntry } from './entries.js';
import type { Moments } from './lines.js';
import type { EntryHistory, EntryHistoryOptions } from './history.js';
import {
  CALL,
  DEAD,
  deadEntry,
  delivered,
  firstCall,
  keyOfCall,
  letterOf,
  merged,
  newCall,
  openedEntry,
  openSlot,
  placeOf,
  readCalls,
  revivedEntry,
  type StoredCall,
  storedCalls,
  takenBy,
  takenEntry,
  waitingEntry,
} from './queue-entries.js';
import type { QueueLocks, TakenLock } from './queue-locks.js';
import { partsOf } from './together.js';
import { AGAIN, Tries, Turns } from './tries.js';

/** How many locks one look at queued calls asks for, or finds. */
const MOST_LOCKS = 1_000;
/** After so many ms, less than half as long as callers wait by default, a call that has lost a race counts as merged by those who were faster, and came later. */
const RACES = 800;
/** So many calls of a lock may be on their way at once: a queue with room for fewer is counted once more. */
const ON_THE_WAY = 100;
/** How many dead letters one clean-up deletes at most. */
const MOST_DROPPED = 100;
/** The dead letters of how many locks are read at once. */
const LETTERS_AT_ONCE = 30;

/** What {@link EntryQueue} needs besides entries. */
export interface QueueParts extends Pick<EntryHistoryOptions, 'forPeople'> {
  readonly locks: QueueLocks;
  readonly history: Pick<EntryHistory, 'ended'>;
  /** When calls come: the same as for calls in line. */
  readonly moments: Moments;
  readonly clock: Clock;
  /** Sends a hint to every process that hears hints. Absent: nobody hears any. */
  readonly announce?: ((text: string) => void | Promise<void>) | undefined;
}

/** A call that is to be queued. */
interface Asking {
  readonly call: NewQueuedCall;
  readonly tries: Tries;
  /** Whether others were faster before. */
  readonly isAgain: boolean;
}

type QueuedCallsInfo = Pick<LockInfo, 'queued' | 'dead' | 'unknown'>;

/** Rule 15: queued calls, over entries of locks. Only a lock's holder takes them, in a few writes, each over what was seen, which look like one. */
export class EntryQueue implements QueuedCallStore {
  readonly #turns: Turns<Asking, Enqueued | typeof AGAIN>;
  /** The lock behind which the next look for queued calls begins. */
  #lookedAt: string | undefined;
  /** Whether calls can be kept, as far as is known. */
  #isOpen = false;

  constructor(
    private readonly entries: LockEntries,
    private readonly parts: QueueParts,
  ) {
    this.#turns = new Turns(parts.clock, (lock, all) => this.#enqueue(lock, all));
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

  async enqueue(call: NewQueuedCall, { limit }: CallOptions = {}): Promise<Enqueued> {
    const tries = new Tries(this.parts.clock, 'not-applied', limit);
    // The database was away at the start, or who queues the call runs none.
    if (!this.#isOpen) await this.init();
    return tries.of((isAgain) => this.#turns.take(call.name, { call, tries, isAgain }));
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
    const after = this.#lookedAt === undefined ? {} : { after: this.#lookedAt };
    const sums = await this.entries.sums({ kinds: [CALL], jobs, limit: MOST_LOCKS, ...after });
    this.#lookedAt = sums.length < MOST_LOCKS ? undefined : sums.at(-1)?.lock;
    if (sums.length === 0) return [];
    const taken = await this.parts.locks.taken(sums.map(({ lock }) => lock));
    return sums.flatMap(({ lock: name, place }) => {
      const lock = taken.get(name);
      return lock !== undefined && isAttended({ place }, lock.draining) ? [] : { name, place };
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
    return lease.queuedCall === undefined ? undefined : endRun(this.entries, lease, outcome);
  }

  /** The fields of these locks that show queued calls and dead letters. If the database refuses the read, `unknown` says why, for each lock. */
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
      for (const few of partsOf(dead, LETTERS_AT_ONCE)) {
        const letters = await Promise.all(few.map((lock) => this.#letters(lock)));
        few.forEach((lock, i) => infos.set(lock, { ...infos.get(lock), ...letters[i] }));
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

  /** Calls of one lock are queued together. */
  async #enqueue(lock: string, all: readonly Asking[]): Promise<(Enqueued | typeof AGAIN)[]> {
    const slots = [...new Set(all.flatMap(({ call }) => openSlot(call) ?? []))];
    const ids = all.map(({ call }) => keyOfCall(lock, call.id).id);
    const [{ now, calls: sent }, open, [sum]] = await Promise.all([
      readCalls(this.entries, { lock, ids }),
      slots.length === 0 ? undefined : readCalls(this.entries, { lock, slots }),
      this.entries.sums({ locks: [lock], kinds: [CALL] }),
    ]);
    const known = new Map(sent.map((call) => [call.id, call]));
    for (const call of open?.calls ?? []) known.set(openSlot(call) ?? call.id, call);
    let [{ count } = { count: 0 }, most] = [sum, 0];
    const wanted = new Map<string, NewEntry>();
    const answers = all.map(({ call, tries, isAgain }): { key: string; answer: Enqueued | typeof AGAIN } => {
      const key = (known.has(call.id) ? undefined : openSlot(call)) ?? call.id;
      const before = known.get(key);
      // Each time another call was merged, which came later: its arguments are the newer ones, and a run begins after this.
      const hasLost = isAgain && tries.duration >= RACES;
      if (before !== undefined && (hasLost || before.id === call.id)) return { key, answer: keptAs(before) };
      if (tries.isOver) return { key, answer: AGAIN };
      if (before === undefined && count >= call.max) return { key, answer: { queued: false } };
      if (before === undefined) [count, most] = [count + 1, Math.max(most, call.max)];
      const place = placeAt(this.parts.moments.at(now), call.priority);
      const after = before === undefined ? newCall(call, now, place) : merged(before, call);
      known.set(key, after);
      wanted.set(key, waitingEntry(after));
      return { key, answer: keptAs(after) };
    });
    const limit = all.find(({ tries }) => !tries.isOver)?.tries.left();
    const lost = wanted.size === 0 ? [] : await this.#write(wanted, limit);
    if (most > 0 && count + ON_THE_WAY > most) lost.push(...(await this.#takeBack(lock, wanted, most)));
    return answers.map(({ key, answer }) => (lost.includes(key) ? AGAIN : answer));
  }

  /** @returns which are not written: a holder took them, or another instance was faster */
  async #write(wanted: ReadonlyMap<string, NewEntry>, limit: number | undefined): Promise<string[]> {
    const written = await this.entries.put([...wanted.values()], limit);
    return [...wanted.keys()].filter((_, i) => written[i] !== true);
  }

  /** Takes back calls for which others have left no room meanwhile. The next try finds out which of them are still there. */
  async #takeBack(lock: string, entries: ReadonlyMap<string, NewEntry>, max: number): Promise<string[]> {
    const query = { lock, kinds: [CALL], bare: true, skip: max, limit: MOST_LOCKS } as const;
    // If nobody can tell, they may stay: too many are better than some of which nobody knows.
    const read = await this.entries.list(query).catch(() => undefined);
    const beyond = new Set<string | null>(read?.entries.map(({ version }) => version));
    const own = [...entries].filter(([, { over, version }]) => over[0] === null && beyond.has(version));
    const unsure = new StoreUnavailableError('A call could not be taken back.', { outcome: 'unknown' });
    if (own.length > 0)
      await this.entries.drop(own.map(([, entry]) => entry)).catch(() => Promise.reject(unsure));
    return own.map(([key]) => key);
  }
}

const keptAs = (call: StoredCall) =>
  ({ queued: true, place: placeOf(call), merged: call.merged, id: call.id }) as const;

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
    const fencingToken = fencingTokenOf(lock, lease);
    if (fencingToken > lease.fencingToken) return this.#takenBefore(fencingToken);
    if (!looksAhead) await endRun(entries, lease, outcome);
    if (fencingToken === lease.fencingToken)
      return this.#deliver(lock, looksAhead ? ahead : await this.#first());
    // The lease is over. If it ran out while it took a queued call, nobody has got that.
    if (isAgain) await this.#putBack();
    return { held: false, dead: this.#dead };
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

  /** Whether a call in line goes before. One that runs queued calls only if this holder lacks the job of an earlier one: else they would take turns. */
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

/** That of the newest lease with the token of this one; NaN if it is not live. */
const fencingTokenOf = ({ lease }: TakenLock, { token }: LeaseRef): number =>
  lease?.token === token ? lease.fencingToken : NaN;

/** The run of the queued call of a lease, if it has one, has ended. */
async function endRun(
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

/** Makes a queued call a dead letter, and deletes all but the newest ones. Returns nothing if another holder has done so. */
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
