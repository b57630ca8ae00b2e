import type { Clock, Timer } from '../../clock.js';
import type { EntryRow } from './history-dialect.js';

/** How long the first record waits for others, ms. The time of the statement comes on top: a second is enough for both, unless the server is overloaded. */
const PAUSE = 250;
/** How many records one statement writes. */
const MOST = 100;
/** How many records wait at most. While the database does not answer, or somebody has locked the table, the oldest are lost. */
const MOST_WAITING = 1_000;

/** Writes records of runs after the release: many by one statement, one statement after another. */
export class RecordBatch {
  readonly #waiting: EntryRow[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;

  /** @param insert never rejects: a record that cannot be written is lost */
  constructor(
    private readonly insert: (rows: readonly EntryRow[]) => Promise<void>,
    private readonly clock: Clock,
  ) {}

  add(row: EntryRow): void {
    this.#waiting.push(row);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    this.#timer ??= this.clock.setTimer(() => void this.flush(), PAUSE);
  }

  /** Writes what waits. Resolves when all records that were added are written, or lost. */
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
