import type { Clock, Timer } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import { type Reply, replyOf } from '../stores/replying-store.js';
import { List, type Listed } from './list.js';

/** A timer that fires this late was held up by a busy event loop, milliseconds. */
const LATE = 5;

/** A call that is waited for. What becomes of it is told once, by the one or the other. */
export abstract class Pending<T> implements Listed<Pending<never>> {
  previous: Pending<never> | undefined;
  next: Pending<never> | undefined;
  /** How often it was tried. An answer that was given up may still come while the next try is under way. */
  tries = 0;
  /** Monotonic time at which it is given up. */
  due = 0;

  abstract answered(value: T): void;
  abstract failed(error: Error): void;
}

/** A call that somebody awaits. */
class Awaited<T> extends Pending<T> {
  constructor(
    readonly answered: (value: T) => void,
    readonly failed: (error: Error) => void,
  ) {
    super();
  }
}

/**
 * Calls with one limit, in the order in which they were made and are due. One timer serves all of them: it is armed
 * for the oldest, and again, when it fires, for the one that is the oldest then.
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
  #onSettled: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /**
   * Tells `entry` what becomes of a call: what it gives or throws, or a {@link StoreUnavailableError} (outcome
   * unknown) if it has not settled within `limit` milliseconds.
   *
   * An event loop that was blocked past the limit reads the answers that have come meanwhile before it gives up: a
   * busy process is no outage of the store.
   *
   * @param now when the call was sent, monotonic
   */
  watch<T>(call: Reply<T>, limit: number, entry: Pending<T>, now = this.clock.monotonic()): void {
    const { pending } = this.#queue(limit);
    const tries = (entry.tries += 1);
    entry.due = now + limit;
    pending.add(entry);
    call.tell(
      (value) => {
        if (entry.tries === tries && pending.delete(entry)) entry.answered(value);
        this.#onSettled?.();
      },
      (error) => {
        if (entry.tries === tries && pending.delete(entry)) entry.failed(error);
        this.#onSettled?.();
      },
    );
  }

  /** The same with promises. */
  within<T>(call: Promise<T>, limit: number): Promise<T> {
    return new Promise((answered, failed) => this.watch(replyOf(call), limit, new Awaited(answered, failed)));
  }

  /** Resolves when no call is under way: each has been answered or given up, and so have those that came of it. */
  async settled(): Promise<void> {
    const isIdle = (): boolean =>
      [...this.#queues.values()].every(({ pending }) => pending.first === undefined);
    while (!isIdle()) await new Promise<void>((resolve) => (this.#onSettled = resolve));
    this.#onSettled = undefined;
  }

  /** Cancels the timers: nothing is given up any more. */
  stop(): void {
    for (const { timer } of this.#queues.values()) timer?.cancel();
    this.#queues.clear();
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
    queue.timer = this.clock.setTimer(() => this.#check(queue, limit), delay);
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
