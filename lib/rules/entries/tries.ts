import { type Clock, noLongerThan } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';

/** Somebody else was faster: what was read is something else by now. */
export const AGAIN = Symbol('again');

/** How long a caller waits by default, ms. */
export const WAITS = 2_000;
/** The longest pause between two tries, ms: a few calls long, so that colliding instances move apart. */
const LONGEST_PAUSE = 100;
/** How long a turn waits for the one before it, ms. */
const TURN_LIMIT = 1_000;

/** The tries of one call, which writes over what was read, and begins again if somebody else was faster. */
export class Tries {
  readonly #begun: number;

  /**
   * The call begins now.
   *
   * @param outcome what is known of it if there is no answer
   * @param limit how long its caller waits, ms @default for ever
   */
  constructor(
    private readonly clock: Clock,
    private readonly outcome: 'not-applied' | 'unknown',
    private readonly limit?: number,
  ) {
    this.#begun = clock.monotonic();
  }

  /** How long the call has lasted, ms. */
  get duration(): number {
    return this.clock.monotonic() - this.#begun;
  }

  /**
   * What is left of the time that the caller waits, ms; `undefined` if it waits for ever.
   *
   * @throws StoreUnavailableError if nothing is left: what has not been written by then must not be
   */
  left(): number | undefined {
    if (this.limit === undefined) return undefined;
    const left = this.limit - this.duration;
    if (left > 0) return left;
    throw this.#unavailable('The store answered only when nobody waited any more.');
  }

  /** Tries until there is an answer. */
  async of<T>(attempt: (isAgain: boolean) => Promise<T | typeof AGAIN>): Promise<T> {
    // It may have waited for its turn.
    const until = this.clock.monotonic() + (this.limit ?? WAITS);
    for (let tries = 0; tries === 0 || this.clock.monotonic() < until; tries++) {
      const answer = await attempt(tries > 0);
      if (answer !== AGAIN) return answer;
      // The others may be done by then.
      if (tries > 1) await apart(tries, this.clock);
    }
    throw this.#unavailable('Others changed what is kept beside the lock again and again meanwhile.');
  }

  #unavailable(message: string): StoreUnavailableError {
    return new StoreUnavailableError(message, { outcome: this.outcome });
  }
}

/** A pause after so many tries: those who collide would collide again if all came back at once. @param left the most that there is time for, ms */
export const apart = (tries: number, clock: Clock, left = LONGEST_PAUSE): Promise<void> => {
  const pause = Math.random() * Math.min(2 ** tries, LONGEST_PAUSE, left);
  return new Promise((resolve) => clock.setTimer(resolve, pause, { keepAlive: true }));
};

/** What has the same key is done one after another; what does not end is passed by. */
export class Turns<Item, T> {
  readonly #last = new Map<string, Promise<unknown>>();
  /** What waits for its turn, and can be joined. */
  readonly #next = new Map<string, { readonly all: [Item, ...Item[]]; answer?: Promise<T> }>();

  constructor(private readonly clock: Clock) {}

  take(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const turn = before === undefined ? work() : noLongerThan(TURN_LIMIT, before, this.clock).then(work);
    const over = turn.catch(() => undefined);
    this.#last.set(key, over);
    void over.then(() => {
      if (this.#last.get(key) === over) this.#last.delete(key);
    });
    return turn;
  }

  /** Takes a turn together with what comes while it waits. */
  async join(key: string, item: Item, work: (all: [Item, ...Item[]]) => Promise<T>) {
    const next = this.#next.get(key) ?? { all: [item] };
    const index = this.#next.has(key) ? next.all.push(item) - 1 : 0;
    this.#next.set(key, next);
    next.answer ??= this.take(key, () => {
      this.#next.delete(key);
      return work(next.all);
    });
    return { all: next.all, index, answer: await next.answer };
  }
}
