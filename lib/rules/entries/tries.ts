import { type Clock, noLongerThan } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';
import type { CallOptions } from '../../contract/queued-call-store.js';

/** Somebody else was faster: what was read is something else by now. */
export const AGAIN = Symbol('again');

/** How long a caller waits by default, ms. */
const WAITS = 2_000;
/** How often something is tried at most. */
const MAX_TRIES = 100;
/** So many tries follow each other at once: the others may be done by then. */
const IMMEDIATE_TRIES = 3;
/** The longest pause between two tries, ms. */
const MAX_RETRY_DELAY = 50;
/** How long a turn waits for the one before it, ms. */
const TURN_LIMIT = 1_000;

/**
 * What is left of the time that a caller waits, ms; `undefined` if it waits for ever.
 *
 * @throws StoreUnavailableError if nothing is left: what has not been written by then must not be
 */
export type Left = () => number | undefined;

/** Calls of a database that write over what was read, and begin again if somebody else was faster. */
export class Tries {
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(private readonly clock: Clock) {}

  /**
   * Tries until there is an answer.
   *
   * @param outcome what is known of the call if there is none
   */
  async of<T>(
    outcome: 'not-applied' | 'unknown',
    attempt: (isAgain: boolean) => Promise<T | typeof AGAIN>,
    { limit = WAITS }: CallOptions = {},
  ): Promise<T> {
    const until = this.clock.monotonic() + limit;
    for (let tries = 0; tries < MAX_TRIES && (tries === 0 || this.clock.monotonic() < until); tries++) {
      const answer = await attempt(tries > 0);
      if (answer !== AGAIN) return answer;
      if (tries >= IMMEDIATE_TRIES) await this.#pause(tries);
    }
    throw new StoreUnavailableError(
      'Others changed the queued calls of the lock again and again meanwhile.',
      { outcome },
    );
  }

  /**
   * Measures what is left of the time of a call that begins now.
   *
   * @param outcome what is known of the call when nothing is left
   */
  left(outcome: 'not-applied' | 'unknown', { limit }: CallOptions = {}): Left {
    const begun = this.clock.monotonic();
    return () => {
      if (limit === undefined) return undefined;
      const left = begun + limit - this.clock.monotonic();
      if (left > 0) return left;
      throw new StoreUnavailableError('The store answered only when nobody waited any more.', { outcome });
    };
  }

  /** Does what has the same key one after another; what does not end is passed by. */
  inTurn<T>(key: readonly string[], work: () => Promise<T>): Promise<T> {
    const text = JSON.stringify(key);
    const before = this.#turns.get(text);
    const turn = before === undefined ? work() : noLongerThan(TURN_LIMIT, before, this.clock).then(work);
    const over = turn.catch(() => undefined);
    this.#turns.set(text, over);
    void over.then(() => {
      if (this.#turns.get(text) === over) this.#turns.delete(text);
    });
    return turn;
  }

  /** Those who collide would collide again if all came back at once. */
  #pause(tries: number): Promise<void> {
    const pause = Math.random() * Math.min(2 ** tries, MAX_RETRY_DELAY);
    return new Promise((resolve) => this.clock.setTimer(resolve, pause, { keepAlive: true }));
  }
}
