import { noLongerThan } from '../../base/clock.js';
import type { Why } from '../../insight/types.js';
import { SHARED } from './data/snapshots.js';
import type { BoardSource } from './source.js';

/** How many answers the store is asked for within {@link SHARED}, whoever asks. */
const MOST_ASKED = 10;
/** How many answers are kept, and for how long they serve while the store is asked for as many others, ms. */
const MOST_KEPT = 200;
const OLDEST = 60_000;
/** How long a viewer waits for an answer, ms. */
const ANSWER_LIMIT = 1_500;

interface Asked {
  readonly askedAt: number;
  readonly answer: Promise<Why>;
}

/** Answers why a job ran, or did not. Each answer takes a read of the store, so their number is bounded, however many look at different ones. */
export class Answers {
  readonly #kept = new Map<string, Asked>();
  #askedAt: number[] = [];

  constructor(private readonly source: BoardSource) {}

  /**
   * @returns the answer, and how old it is, ms
   * @throws if the store was asked for too many others just now, and this one is not known; or if the answer takes too long: then the next viewer
   * may get it
   */
  async why(zone: string, job: string, at: number | undefined): Promise<{ why: Why; age: number }> {
    const { clock } = this.source;
    const { askedAt, answer } = this.#asked(zone, job, at);
    const why = await noLongerThan(ANSWER_LIMIT, answer, clock, { keepAlive: true });
    if (why === undefined) throw new Error('the store has not answered yet. Ask again in some seconds');
    return { why, age: clock.monotonic() - askedAt };
  }

  /** Call this after a switch was used: the next answers come from a later read of the store. */
  expire(): void {
    this.#kept.clear();
    this.#askedAt = [];
  }

  #asked(zone: string, job: string, at: number | undefined): Asked {
    const key = JSON.stringify([zone, job, at]);
    const now = this.source.clock.monotonic();
    const known = this.#kept.get(key);
    const age = known === undefined ? Infinity : now - known.askedAt;
    this.#askedAt = this.#askedAt.filter((time) => now - time < SHARED);
    const isFull = this.#askedAt.length >= MOST_ASKED;
    if (known !== undefined && age < (isFull ? OLDEST : SHARED)) return known;
    if (isFull) throw new Error('too many answers are asked for at this moment. Ask again in some seconds');
    this.#askedAt.push(now);
    const answer = this.source.insight(zone).then((insight) => insight.why(job, at));
    return this.#keep(key, { askedAt: now, answer });
  }

  #keep(key: string, asked: Asked): Asked {
    this.#kept.delete(key);
    this.#kept.set(key, asked);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    // The next viewer must not get an error of an outage that is over.
    asked.answer.catch(() => {
      if (this.#kept.get(key) === asked) this.#kept.delete(key);
    });
    return asked;
  }
}
