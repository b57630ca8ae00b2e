import type { Clock, Timer } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import { type Reply, replyOf } from '../stores/replying-store.js';
import { List, type Listed } from './list.js';

/** A timer that fires this late was held up by a busy event loop, milliseconds. */
const LATE = 5;

/** A pending call. Exactly one of its two callbacks is called, once. */
export abstract class Pending<T> implements Listed<Pending<never>> {
  previous: Pending<never> | undefined;
  next: Pending<never> | undefined;
  /** How often the call was tried. A late answer to an earlier try may still come while the next try is under way. */
  tries = 0;
  /** The try that is waited for, from 1; 0: none. Until then the entry is in the list of its queue, and in no other. */
  awaited = 0;
  /** How many of its tries the store has neither answered nor refused, those that were given up included. */
  unsettled = 0;
  /** Monotonic time at which the call is given up. */
  due = 0;

  abstract answered(value: T): void;
  abstract failed(error: Error): void;
  /** The answer to a try that was given up. */
  answeredLate(_value: T): void {}
}

/** A call behind a promise. */
class Awaited<T> extends Pending<T> {
  constructor(
    readonly answered: (value: T) => void,
    readonly failed: (error: Error) => void,
  ) {
    super();
  }
}

/**
 * Calls with the same limit, oldest first: they fall due in the order in which they were made. One timer serves all of
 * them. It is armed for the oldest call, and, when it fires, for the oldest of those that are left.
 */
class Queue {
  readonly pending = new List<Pending<never>>();
  timer: Timer | undefined;
  /** Whether the answers that came while the event loop was blocked have been given a chance. */
  late = false;
}

/** Limits how long calls to the store may take. */
export class TimeLimits {
  readonly #queues = new Map<number, Queue>();
  #keepAlive = false;
  #onSettled: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /**
   * Passes to `entry` what a call resolves to or rejects with, or a
   * {@link StoreUnavailableError} (outcome unknown) if it has not settled within `limit` milliseconds.
   *
   * If the event loop was blocked past the limit, answers that have come meanwhile still count: a busy process is no
   * outage of the store.
   *
   * @param now when the call was sent, monotonic
   */
  watch<T>(call: Reply<T>, limit: number, entry: Pending<T>, now = this.clock.monotonic()): void {
    const { pending } = this.#queue(limit);
    const current = (entry.tries += 1);
    entry.awaited = current;
    entry.unsettled += 1;
    entry.due = now + limit;
    pending.add(entry);
    call.tell(
      (value) => {
        entry.unsettled -= 1;
        if (entry.awaited !== current) return entry.answeredLate(value);
        entry.awaited = 0;
        pending.delete(entry);
        entry.answered(value);
        this.#onSettled?.();
      },
      (error) => {
        entry.unsettled -= 1;
        if (entry.awaited !== current) return;
        entry.awaited = 0;
        pending.delete(entry);
        entry.failed(error);
        this.#onSettled?.();
      },
    );
  }

  /** The same with promises. */
  within<T>(call: Promise<T>, limit: number): Promise<T> {
    return new Promise((answered, failed) => this.watch(replyOf(call), limit, new Awaited(answered, failed)));
  }

  /**
   * From now on the process stays alive until each call has been answered or given up, even if the store itself does not
   * keep it alive. A shutdown waits for these calls, and other modules shut down after it.
   */
  keepAlive(): void {
    this.#keepAlive = true;
    const now = this.clock.monotonic();
    for (const [limit, queue] of this.#queues) {
      queue.timer?.cancel();
      this.#arm(queue, limit, Math.max(0, (queue.pending.first?.due ?? now) - now));
    }
  }

  /** Resolves when no call is under way: each one, and each one that followed from it, has been answered or given up. */
  async settled(): Promise<void> {
    const isIdle = (): boolean =>
      [...this.#queues.values()].every(({ pending }) => pending.first === undefined);
    while (!isIdle()) await new Promise<void>((resolve) => (this.#onSettled = resolve));
    this.#onSettled = undefined;
  }

  /** Cancels the timers: no call is given up any more. */
  stop(): void {
    for (const { timer } of this.#queues.values()) timer?.cancel();
    this.#queues.clear();
    this.#keepAlive = false;
  }

  #queue(limit: number): Queue {
    let queue = this.#queues.get(limit);
    if (queue === undefined) {
      queue = new Queue();
      this.#queues.set(limit, queue);
      this.#arm(queue, limit, limit);
    }
    return queue;
  }

  #arm(queue: Queue, limit: number, delay: number): void {
    const keepAlive = this.#keepAlive;
    queue.timer = this.clock.setTimer(() => this.#check(queue, limit), delay, { keepAlive });
  }

  #check(queue: Queue, limit: number): void {
    const now = this.clock.monotonic();
    const { first: oldest } = queue.pending;
    if (oldest === undefined) {
      this.#queues.delete(limit);
      return;
    }
    if (now - oldest.due >= LATE && !queue.late) {
      queue.late = true;
      this.#arm(queue, limit, 1);
      return;
    }
    queue.late = false;
    const late: Pending<never>[] = [];
    let { first } = queue.pending;
    for (; first !== undefined && first.due <= now; { first } = queue.pending) {
      queue.pending.delete(first);
      first.awaited = 0;
      late.push(first);
    }
    if (first === undefined) this.#queues.delete(limit);
    else this.#arm(queue, limit, first.due - now);
    for (const entry of late) entry.failed(timedOut(limit));
    this.#onSettled?.();
  }
}

const timedOut = (limit: number): Error =>
  new StoreUnavailableError(`The store did not answer within ${Math.round(limit)} ms.`, {
    outcome: 'unknown',
  });
