import type { Clock, Timer } from '../../clock.js';
import type { EntryRow } from './history-dialect.js';

/** How long the first record waits for others, ms. Its statement comes on top: on a server that is not overloaded, a second covers both. */
const PAUSE = 250;
/** How many go into one statement. */
const MOST = 100;
/** How many wait at most: while the database does not answer, or somebody has locked the table, the oldest are lost. */
const MOST_WAITING = 1_000;

/** Records of runs that are kept after their release, many by one statement, one statement after another. */
export class RecordBatch {
  readonly #waiting: EntryRow[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;

  /** @param insert never rejects: what cannot be kept is lost */
  constructor(
    private readonly insert: (rows: readonly EntryRow[]) => Promise<void>,
    private readonly clock: Clock,
  ) {}

  add(row: EntryRow): void {
    this.#waiting.push(row);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    this.#timer ??= this.clock.setTimer(() => void this.flush(), PAUSE);
  }

  /** Resolves when all that were added are kept. */
  flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#sending === undefined && this.#waiting.length > 0) this.#sending = this.#send();
    return this.#sending ?? Promise.resolve();
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) await this.insert(this.#waiting.splice(0, MOST));
    this.#sending = undefined;
  }
}
