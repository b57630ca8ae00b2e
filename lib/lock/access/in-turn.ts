import type { Clock } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';
import type { HistoryStore } from '../../contract/history-store.js';

/** How many calls may wait for an answer. A pool of a database has ten connections, or fewer, and locks need most of them. */
const CONCURRENCY = 2;
/** After so long without an answer, ms, new calls fail instead of standing in line. */
const SILENCE = 10_000;

/** Makes a few calls at the same time, and the others one after another. */
class Turns {
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;
  /** When the last call was made, or answered, monotonic. */
  #movedAt = 0;

  constructor(private readonly clock: Clock) {}

  async take<T>(call: () => Promise<T>): Promise<T> {
    if (this.#underWay < CONCURRENCY) this.#underWay += 1;
    else if (this.clock.monotonic() - this.#movedAt > SILENCE) throw tooMany();
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#movedAt = this.clock.monotonic();
    try {
      return await call();
    } finally {
      this.#movedAt = this.clock.monotonic();
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay -= 1;
      else next();
    }
  }
}

/**
 * A history with a few calls under way at most. Its callers ask again and again without waiting: while another client has locked its
 * tables, their calls would take one connection after another from the locks.
 */
export function inTurn(history: HistoryStore, clock: Clock): HistoryStore {
  const turns = new Turns(clock);
  return {
    interrupted: (run) => turns.take(() => history.interrupted(run)),
    entries: (query) => turns.take(() => history.entries(query)),
    told: (alarm) => turns.take(() => history.told(alarm)),
    miss: (miss) => turns.take(() => history.miss(miss)),
    beat: (beat) => turns.take(() => history.beat(beat)),
    instances: (onUnreadable, isDated) => turns.take(() => history.instances(onUnreadable, isDated)),
  };
}

const tooMany = (): StoreUnavailableError =>
  new StoreUnavailableError(`The history has not answered ${CONCURRENCY} calls for ${SILENCE / 1_000} s.`, {
    outcome: 'not-applied',
  });
