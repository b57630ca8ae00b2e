import type { Clock } from '../../clock.js';
import {
  DEAD_KEPT,
  type DeadLetter,
  type DeliveredEvent,
  type Enqueued,
  EVENTS_KEPT,
  type EventStore,
  type LeftEvents,
  type NewEvent,
  type NextOptions,
  type NextResult,
} from '../queued-call-store.js';
import { placeAt } from '../line.js';
import type { LeaseRef, LockInfo, ReleaseOutcome } from '../lock-store.js';
import type { MemoryHistory } from './history.js';
import type { MemoryLines } from './lines.js';
import type { MemoryLocks } from './locks.js';

/** An event of a queue. */
interface Kept extends NewEvent {
  args: string;
  merged: number;
  readonly place: number;
  readonly queuedAt: number;
  delivery: number;
  /** The token of the lease that has taken it. */
  taken: string | undefined;
  /** Whether no lease has taken it yet: then it becomes one with later calls for its key. */
  open: boolean;
  /** From when on the time counts for which it is kept. */
  keptSince: number;
}

/** A dead letter, with its event. */
interface Dead {
  readonly event: Kept;
  readonly letter: DeadLetter;
}

interface Queue {
  /** In their order. */
  events: Kept[];
  /** Newest first. */
  dead: Dead[];
}

/** Events in the memory of this process. */
export class MemoryEvents implements EventStore {
  readonly #queues = new Map<string, Queue>();
  constructor(
    private readonly locks: MemoryLocks,
    private readonly lines: MemoryLines,
    private readonly history: MemoryHistory,
    private readonly clock: Clock,
  ) {}

  async enqueue(event: NewEvent): Promise<Enqueued> {
    const queue = this.#queue(event.name);
    const { id, job, key } = event;
    const same = (one: Kept): boolean =>
      one.id === id || (key !== undefined && one.open && one.job === job && one.key === key);
    const known = queue.events.find(same);
    if (known !== undefined) {
      if (known.id !== id) Object.assign(known, { args: event.args, merged: known.merged + 1 });
      return { queued: true, place: known.place, merged: known.merged };
    }
    if (queue.events.length >= event.max) return { queued: false };
    const place = placeAt(this.lines.newPlace(), event.priority);
    const now = this.clock.now();
    const times = { queuedAt: now, keptSince: now };
    this.#insert(queue, { ...event, ...times, merged: 0, place, delivery: 0, taken: undefined, open: true });
    return { queued: true, place, merged: 0 };
  }

  async next(lease: LeaseRef, { outcome, record, takes }: NextOptions): Promise<NextResult> {
    const { name, token } = lease;
    const queue = this.#queue(name);
    const dead: DeadLetter[] = [];
    const newer = this.locks.newer(lease);
    if (newer !== undefined) {
      // It is asked for again: what was taken then is told again.
      const event = queue.events.find(({ taken }) => taken === token);
      if (event === undefined) return { held: false, dead };
      return { held: true, event: delivered(event), fencingToken: newer, dead };
    }
    if (outcome !== undefined) {
      this.end(lease, outcome);
      this.history.ended(lease, outcome, record);
    }
    if (!this.locks.isHeld(lease)) return { held: false, dead };
    for (const event of queue.events.slice()) {
      const taker = takes.find(({ job }) => job === event.job);
      if (taker === undefined) continue;
      if (event.taken !== token && event.delivery > event.redeliver) {
        dead.push(this.#bury(queue, event, 'interrupted'));
        continue;
      }
      const first = this.lines.firstPlace(name);
      if (first !== undefined && first < event.place) return { held: true, place: event.place, dead };
      return this.#take(event, lease, taker, dead);
    }
    return { held: true, dead };
  }

  /** The lease goes on with an event. */
  #take(
    event: Kept,
    lease: LeaseRef,
    taker: NextOptions['takes'][number],
    dead: readonly DeadLetter[],
  ): NextResult {
    const fencingToken = this.locks.renew(lease, taker);
    if (fencingToken === undefined) return { held: false, dead };
    const { token } = lease;
    // Otherwise the answer was lost, and it is asked for again.
    if (event.taken !== token)
      Object.assign(event, { taken: token, delivery: event.delivery + 1, open: false });
    return { held: true, event: delivered(event), fencingToken, dead };
  }

  async left(jobs: readonly string[]): Promise<LeftEvents[]> {
    return [...this.#queues].flatMap(([name, { events }]) => {
      const first = events.find(({ job }) => jobs.includes(job));
      const isLeft = this.locks.isFree(name) || this.lines.firstPlace(name) === undefined;
      return first === undefined || !isLeft ? [] : [{ name, place: first.place }];
    });
  }

  async redeliver(name: string): Promise<number> {
    const queue = this.#queue(name);
    const dead = queue.dead.splice(0);
    const again = { delivery: 0, taken: undefined, keptSince: this.clock.now() };
    for (const { event } of dead) this.#insert(queue, { ...event, ...again });
    return dead.length;
  }

  /** The run of a lease's event has ended. */
  end({ name, token, event: id }: LeaseRef, outcome: ReleaseOutcome): void {
    const queue = this.#queues.get(name);
    const event = queue?.events.find((one) => one.id === id && one.taken === token);
    if (queue === undefined || event === undefined) return;
    if (outcome === 'completed') queue.events.splice(queue.events.indexOf(event), 1);
    else if (outcome === 'failed' || outcome === 'timed-out') this.#bury(queue, event, outcome);
    else event.taken = undefined;
  }

  /** What a lock has of them, for people. */
  of(name: string): Pick<LockInfo, 'queued' | 'dead'> {
    const { events = [], dead = [] } = this.#queues.get(name) ?? {};
    return {
      ...(events.length === 0 ? undefined : { queued: events.length }),
      ...(dead.length === 0 ? undefined : { dead: dead.map(({ letter }) => letter) }),
    };
  }

  #queue(name: string): Queue {
    const now = this.clock.now();
    const queue = this.#queues.get(name) ?? { events: [], dead: [] };
    queue.events = queue.events.filter(({ keptSince }) => keptSince + EVENTS_KEPT > now);
    queue.dead = queue.dead.filter(({ letter }) => letter.at + EVENTS_KEPT > now);
    this.#queues.set(name, queue);
    return queue;
  }

  #insert({ events }: Queue, event: Kept): void {
    const after = events.findIndex(({ place }) => place > event.place);
    events.splice(after < 0 ? events.length : after, 0, event);
  }

  #bury(queue: Queue, event: Kept, reason: DeadLetter['reason']): DeadLetter {
    queue.events.splice(queue.events.indexOf(event), 1);
    const { id, job, key, delivery } = event;
    const letter = {
      id,
      job,
      ...(key === undefined ? undefined : { key }),
      deliveries: delivery,
      reason,
      at: this.clock.now(),
    };
    queue.dead.unshift({ event, letter });
    queue.dead.splice(DEAD_KEPT);
    return letter;
  }
}

function delivered({ id, job, key, args, delivery, queuedAt, merged }: Kept): DeliveredEvent {
  return { id, job, ...(key === undefined ? undefined : { key }), args, delivery, queuedAt, merged };
}
