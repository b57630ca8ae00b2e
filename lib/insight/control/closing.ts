import { type Clock, noLongerThan } from '../../base/clock.js';

/** How long the end of a shutdown waits for a store that does not answer, ms. */
const LIMIT = 5_000;

/** The shutdown of an application, as its switches see it: none of them outlives the application. */
export class Closing {
  readonly #begun = new AbortController();
  readonly #over = new AbortController();
  readonly #open = new Set<Promise<unknown>>();

  constructor(private readonly clock: Clock) {}

  /** Aborts when the shutdown begins: from then on, nobody waits for the end of a run elsewhere. */
  get begun(): AbortSignal {
    return this.#begun.signal;
  }

  /** Has the shutdown wait for a switch. */
  during<T>(work: Promise<T>): Promise<T> {
    this.#open.add(work);
    const done = (): unknown => this.#open.delete(work);
    void work.then(done, done);
    return work;
  }

  /** Waits for a run here, `limit` milliseconds at most, and no longer than the shutdown does. */
  async wait<T>(limit: number, run: Promise<T>): Promise<T | undefined> {
    const { signal } = this.#over;
    let stop: () => void = () => undefined;
    const isOver = new Promise<undefined>((resolve) => (stop = () => resolve(undefined)));
    signal.addEventListener('abort', stop);
    try {
      return await noLongerThan(limit, Promise.race([run, isOver]), this.clock);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Begins the shutdown. */
  begin(): void {
    this.#begun.abort();
  }

  /** Ends what still goes on, before the store closes. */
  async end(): Promise<void> {
    this.#begun.abort();
    this.#over.abort();
    if (this.#open.size === 0) return;
    await noLongerThan(LIMIT, Promise.allSettled(this.#open), this.clock, { keepAlive: true });
  }
}
