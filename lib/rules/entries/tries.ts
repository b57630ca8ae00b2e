import { type Clock, noLongerThan } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';

/** Somebody else was faster: what was read is something else by now. */
export const AGAIN = Symbol('again');

/** How long a caller waits by default, ms. */
export const WAITS = 2_000;
/** So many tries follow each other at once: the others may be done by then. */
const IMMEDIATE_TRIES = 3;
/** The longest pause between two tries, ms. */
const MAX_RETRY_DELAY = 50;
/** How many share a turn at most. */
const MOST_TOGETHER = 100;
/** How long a turn waits for the one before it, ms. */
const TURN_LIMIT = 1_000;

/** The tries of one call, which writes over what was read, and begins again if somebody else was faster. */
export class Tries {
  readonly #begun: number;

  /** The call begins now. @param outcome what is known of it without an answer @param limit how long its caller waits, ms @default for ever */
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

  /** For how long the caller still waits, ms; `undefined`: for ever. @throws StoreUnavailableError if not at all: then nothing may be written */
  left(): number | undefined {
    if (this.isOver) throw this.#unavailable('The store answered only when nobody waited any more.');
    return this.limit && this.limit - this.duration;
  }

  get isOver(): boolean {
    return this.duration >= (this.limit ?? Infinity);
  }

  /** Tries until there is an answer. */
  async of<T>(attempt: (isAgain: boolean) => Promise<T | typeof AGAIN>): Promise<T> {
    for (let tries = 0; tries === 0 || this.duration < (this.limit ?? WAITS); tries++) {
      const answer = await attempt(tries > 0);
      if (answer !== AGAIN) return answer;
      if (tries >= IMMEDIATE_TRIES) await apart(Math.min(2 ** tries, MAX_RETRY_DELAY), this.clock);
    }
    this.left();
    throw this.#unavailable('Others changed what is kept beside the lock again and again meanwhile.');
  }

  #unavailable(message: string): StoreUnavailableError {
    return new StoreUnavailableError(message, { outcome: this.outcome });
  }
}

/** A pause of up to so many ms: those who collide would collide again if all came back at once. */
export const apart = (most: number, clock: Clock): Promise<void> =>
  new Promise((resolve) => clock.setTimer(resolve, Math.random() * most, { keepAlive: true }));

/** What has the same key is done one after another; what comes while it waits for its turn, together. What does not end is passed by. */
export class Turns<Item, T> {
  readonly #last = new Map<string, Promise<unknown>>();
  /** What waits for its turn. */
  readonly #next = new Map<string, { readonly all: Item[]; readonly answers: Promise<readonly T[]> }>();

  constructor(
    private readonly clock: Clock,
    private readonly work: (key: string, all: readonly Item[]) => Promise<readonly T[]>,
  ) {}

  async take(key: string, item: Item): Promise<T> {
    const next = this.#next.get(key);
    const { all, answers } = next && next.all.length < MOST_TOGETHER ? next : this.#begin(key);
    const index = all.push(item) - 1;
    return (await answers)[index] as T;
  }

  #begin(key: string) {
    const all: Item[] = [];
    const before = this.#last.get(key) ?? Promise.resolve();
    const answers = noLongerThan(TURN_LIMIT, before, this.clock).then(() => {
      if (this.#next.get(key)?.all === all) this.#next.delete(key);
      return this.work(key, all);
    });
    const over = answers.catch(() => undefined);
    this.#last.set(key, over);
    void over.then(() => this.#last.get(key) === over && this.#last.delete(key));
    const next = { all, answers };
    this.#next.set(key, next);
    return next;
  }
}
