import { mergedArguments } from '../queued-arguments.js';
import type { Clock } from '../../clock.js';
import {
  DEAD_KEPT,
  type DeadLetter,
  type DeliveredCall,
  type Enqueued,
  QUEUED_CALLS_KEPT,
  type QueuedCallStore,
  LOOK_FOR_QUEUED,
  type LeftCalls,
  type NewQueuedCall,
  type NextOptions,
  type NextResult,
} from '../queued-call-store.js';
import { isAttended } from '../rules.js';
import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';
import type { LockInfo } from '../lock-info.js';
import type { EntryHistory } from '../../store/side/history.js';
import type { MemoryHints } from './hints.js';
import type { MemoryLocks } from './locks.js';

/** A queued call, and how far it got. */
interface StoredCall extends NewQueuedCall {
  args: string;
  merged: number;
  readonly place: number;
  readonly queuedAt: number;
  delivery: number;
  /** The token of the lease that has taken it. */
  taken: string | undefined;
  /** Whether no lease has taken it yet: then later calls with its key merge with it. */
  open: boolean;
  /** When the time for which it is stored began. */
  keptSince: number;
}

/** A dead letter, with its queued call. */
interface Dead {
  readonly queuedCall: StoredCall;
  readonly letter: DeadLetter;
}

interface Queue {
  /** In their order. */
  calls: StoredCall[];
  /** Newest first. */
  dead: Dead[];
}

/** Queued calls in the memory of this process. */
export class MemoryQueuedCalls implements QueuedCallStore {
  readonly #queues = new Map<string, Queue>();

  constructor(
    private readonly locks: MemoryLocks,
    private readonly hints: MemoryHints,
    private readonly history: EntryHistory,
    private readonly clock: Clock,
  ) {}

  async enqueue(queuedCall: NewQueuedCall): Promise<Enqueued> {
    const queue = this.#queue(queuedCall.name);
    const { id, job, key } = queuedCall;
    const same = (one: StoredCall): boolean =>
      one.id === id || (key !== undefined && one.open && one.job === job && one.key === key);
    const known = queue.calls.find(same);
    if (known !== undefined) {
      const isOther = known.id !== id;
      const args = mergedArguments(known.args, queuedCall.args);
      if (isOther) Object.assign(known, { args, merged: known.merged + 1 });
      return { queued: true, place: known.place, merged: known.merged, ...(isOther && { id: known.id }) };
    }
    if (queue.calls.length >= queuedCall.max) return { queued: false };
    const place = this.locks.newPlace(queuedCall.priority);
    const now = this.clock.now();
    const times = { queuedAt: now, keptSince: now };
    this.#insert(queue, {
      ...queuedCall,
      ...times,
      merged: 0,
      place,
      delivery: 0,
      taken: undefined,
      open: true,
    });
    return { queued: true, place, merged: 0 };
  }

  async next(lease: LeaseRef, { outcome, record, takes }: NextOptions): Promise<NextResult> {
    const { name, token } = lease;
    const queue = this.#queue(name);
    const dead: DeadLetter[] = [];
    const newer = this.locks.newer(lease);
    if (newer !== undefined) {
      // The same `next` again: answers with what it took the first time.
      const queuedCall = queue.calls.find(({ taken }) => taken === token);
      if (queuedCall === undefined) return { held: false, dead };
      return { held: true, queuedCall: delivered(queuedCall), fencingToken: newer, dead };
    }
    if (outcome !== undefined) {
      this.end(lease, outcome);
      this.history.ended(lease, outcome, record);
    }
    if (!this.locks.isHeld(lease)) return { held: false, dead };
    for (const queuedCall of queue.calls.slice()) {
      const taker = takes.find(({ job }) => job === queuedCall.job);
      if (taker === undefined) continue;
      if (queuedCall.taken !== token && queuedCall.delivery > queuedCall.redeliver) {
        dead.push(this.#bury(queue, queuedCall, 'interrupted'));
        continue;
      }
      const first = this.locks.firstPlace(name);
      if (first !== undefined && first < queuedCall.place)
        return { held: true, place: queuedCall.place, dead };
      return this.#take(queuedCall, lease, taker, dead);
    }
    return { held: true, dead };
  }

  /** The lease goes on with a queued call. */
  #take(
    queuedCall: StoredCall,
    lease: LeaseRef,
    taker: NextOptions['takes'][number],
    dead: readonly DeadLetter[],
  ): NextResult {
    const fencingToken = this.locks.renew(lease, taker);
    if (fencingToken === undefined) return { held: false, dead };
    const { token } = lease;
    // If the lease has taken it already, this is the same `next` again, whose answer was lost.
    if (queuedCall.taken !== token)
      Object.assign(queuedCall, { taken: token, delivery: queuedCall.delivery + 1, open: false });
    return { held: true, queuedCall: delivered(queuedCall), fencingToken, dead };
  }

  async left(jobs: readonly string[]): Promise<LeftCalls[]> {
    return [...this.#queues].flatMap(([name, { calls }]) => {
      const first = calls.find(({ job }) => jobs.includes(job));
      if (first === undefined) return [];
      const isLeft = this.locks.isFree(name) || !isAttended(first, this.locks.firstPlace(name));
      return isLeft ? [{ name, place: first.place }] : [];
    });
  }

  async redeliver(name: string, id?: string): Promise<number> {
    const queue = this.#queue(name);
    const dead = queue.dead.filter(({ letter }) => id === undefined || letter.id === id);
    queue.dead = queue.dead.filter((letter) => !dead.includes(letter));
    const again = { delivery: 0, taken: undefined, keptSince: this.clock.now() };
    for (const { queuedCall } of dead) this.#insert(queue, { ...queuedCall, ...again });
    return dead.length;
  }

  async announce(): Promise<void> {
    this.hints.announce(LOOK_FOR_QUEUED);
  }

  /** The run of a lease's queued call has ended. */
  end({ name, token, queuedCall: id }: LeaseRef, outcome: ReleaseOutcome): void {
    const queue = this.#queues.get(name);
    const queuedCall = queue?.calls.find((one) => one.id === id && one.taken === token);
    if (queue === undefined || queuedCall === undefined) return;
    if (outcome === 'completed') queue.calls.splice(queue.calls.indexOf(queuedCall), 1);
    else if (outcome === 'failed' || outcome === 'timed-out') this.#bury(queue, queuedCall, outcome);
    else queuedCall.taken = undefined;
  }

  /** The queued calls and dead letters of a lock, for people. */
  of(name: string): Pick<LockInfo, 'queued' | 'dead'> {
    const { calls = [], dead = [] } = this.#queues.get(name) ?? {};
    return {
      ...(calls.length === 0 ? undefined : { queued: calls.length }),
      ...(dead.length === 0 ? undefined : { dead: dead.map(({ letter }) => letter) }),
    };
  }

  #queue(name: string): Queue {
    const now = this.clock.now();
    const queue = this.#queues.get(name) ?? { calls: [], dead: [] };
    queue.calls = queue.calls.filter(({ keptSince }) => keptSince + QUEUED_CALLS_KEPT > now);
    queue.dead = queue.dead.filter(({ letter }) => letter.at + QUEUED_CALLS_KEPT > now);
    this.#queues.set(name, queue);
    return queue;
  }

  #insert({ calls }: Queue, queuedCall: StoredCall): void {
    const after = calls.findIndex(({ place }) => place > queuedCall.place);
    calls.splice(after < 0 ? calls.length : after, 0, queuedCall);
  }

  #bury(queue: Queue, queuedCall: StoredCall, reason: DeadLetter['reason']): DeadLetter {
    queue.calls.splice(queue.calls.indexOf(queuedCall), 1);
    const { id, job, key, delivery } = queuedCall;
    const letter = {
      id,
      job,
      ...(key === undefined ? undefined : { key }),
      deliveries: delivery,
      reason,
      at: this.clock.now(),
    };
    queue.dead.unshift({ queuedCall, letter });
    queue.dead.splice(DEAD_KEPT);
    return letter;
  }
}

function delivered({ id, job, key, args, delivery, queuedAt, merged }: StoredCall): DeliveredCall {
  return { id, job, ...(key === undefined ? undefined : { key }), args, delivery, queuedAt, merged };
}
