import type { Clock, Timer } from '../../base/clock.js';

/** How long the record of a run waits for others, ms: a second is enough for it and its write, unless the server is overloaded. */
export const RECORDS_WAIT = 250;
/** A write without an answer delays later writes, and readers, for so long at most, ms. */
const WRITE_LIMIT = 10_000;
/** How many writes may be without an answer: each may keep a connection, and locks need most of them. */
const MOST_UNANSWERED = 2;

export interface Gathering<T> {
  /** How long a record waits for others before the first ones are sent, ms. */
  readonly pause: number;
  /** The most records for one write. */
  readonly atOnce: number;
  /** How many records wait at most. While nobody answers, the oldest are lost. */
  readonly most: number;
  /** Whether a record takes the place of one with the same id that waits. */
  readonly replaces: (record: T, waiting: T) => boolean;
  readonly write: (records: readonly T[]) => Promise<void>;
}

/** Something that was sent. */
export class SentWrite {
  readonly #since: number;

  /** @param over never rejects */
  constructor(
    readonly over: Promise<void>,
    private readonly clock: Clock,
  ) {
    this.#since = clock.monotonic();
  }

  /** Whether nobody has answered for so long that others need not wait for it any more. */
  isStuck(): boolean {
    return this.clock.monotonic() - this.#since >= WRITE_LIMIT;
  }
}

/**
 * Gathers records for few writes, for which nobody waits: a record that cannot be written is lost.
 *
 * Records go out at once, or after a pause, and while the answer is awaited they gather for the next write: where many jobs end in one
 * second, they cost two or three writes.
 */
export class Gatherer<T> {
  /** By their ids, in the order in which they came. */
  readonly #waiting = new Map<string, T>();
  /** The records that are being written. */
  #batch: SentWrite | undefined;
  /** How many batches are without an answer. */
  #unanswered = 0;
  #timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly gathering: Gathering<T>,
  ) {}

  /** Writes a record soon. */
  add(id: string, record: T): void {
    const { pause, most, replaces } = this.gathering;
    // A release that was sent again, or that another one of the same lease has forestalled.
    const known = this.#waiting.get(id);
    if (known !== undefined && !replaces(record, known)) return;
    if (known !== undefined) this.#waiting.delete(id);
    this.#waiting.set(id, record);
    if (this.#waiting.size > most) this.#take(1);
    if (!this.#maySend()) return;
    if (pause === 0) void this.#send();
    else this.#timer ??= this.clock.setTimer(() => this.#begin(), pause);
  }

  /** Resolves when all records that were added before are written, or lost, or nobody answers for long. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined) this.#begin();
    // Those that come meanwhile may follow each other without end.
    const batches = 1 + Math.ceil(this.#waiting.size / this.gathering.atOnce);
    for (let i = 0; i < batches && this.#batch !== undefined && !this.#batch.isStuck(); i++)
      await this.#batch.over;
  }

  /** Sends what waits, without a pause. */
  #begin(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#maySend()) void this.#send();
  }

  #maySend(): boolean {
    return this.#batch === undefined || (this.#batch.isStuck() && this.#unanswered < MOST_UNANSWERED);
  }

  async #send(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = new SentWrite(this.#write(this.#take(this.gathering.atOnce)), this.clock);
      this.#batch = batch;
      await batch.over;
      // A later batch has passed this one.
      if (this.#batch !== batch) return;
    }
    this.#batch = undefined;
  }

  async #write(records: readonly T[]): Promise<void> {
    this.#unanswered += 1;
    try {
      await this.gathering.write(records);
    } catch {
      // An entry of a history is not worth more tries.
    }
    this.#unanswered -= 1;
  }

  /** Takes the first ones out. */
  #take(count: number): T[] {
    const taken: T[] = [];
    for (const [id, record] of this.#waiting) {
      if (taken.length === count) break;
      taken.push(record);
      this.#waiting.delete(id);
    }
    return taken;
  }
}
