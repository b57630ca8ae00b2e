import type { Clock, Timer } from '../../clock.js';
import type { HistoryRow } from './history-dialect.js';

/** How long the first record waits for others, ms: all are kept within a second of their release. */
const PAUSE = 500;
/** How many go into one statement. */
const MOST = 100;

/** Records of runs that are kept after their release, many by one statement. */
export class RecordBatch {
  #waiting: HistoryRow[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> = Promise.resolve();

  /** @param insert never rejects: what cannot be kept is lost */
  constructor(
    private readonly insert: (rows: readonly HistoryRow[]) => Promise<void>,
    private readonly clock: Clock,
  ) {}

  add(row: HistoryRow): void {
    this.#waiting.push(row);
    this.#timer ??= this.clock.setTimer(() => void this.flush(), PAUSE);
  }

  /** Resolves when all that were added are kept. */
  flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const rows = this.#waiting;
    this.#waiting = [];
    if (rows.length > 0) this.#sending = this.#sending.then(() => this.#send(rows));
    return this.#sending;
  }

  async #send(rows: readonly HistoryRow[]): Promise<void> {
    for (let i = 0; i < rows.length; i += MOST) await this.insert(rows.slice(i, i + MOST));
  }
}
