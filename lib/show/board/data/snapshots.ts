import { type Clock, noLongerThan } from '../../../base/clock.js';
import { asClause, withoutSql } from '../../../base/wording.js';
import type { Looked } from './looked.js';

/** One answer of the store, for all who ask within {@link SHARED}. */
export interface Snapshot {
  /** Absent: the store has not answered yet. */
  readonly looked?: Looked;
  /** How old the answer is, ms. */
  readonly age: number;
  /** Why there is no newer answer, as a sentence. Absent: the answer is new enough. */
  readonly failure?: string;
}

/** For how long one answer serves all viewers, ms. */
export const SHARED = 2_000;
/** Up to this age an answer counts as new, ms: viewers do not wait for the next answer, which takes a while for a large fleet. */
const NEW = 10_000;
/** How long a viewer waits for a newer answer if there is a new answer, an old one, or none, ms. */
const ANSWER_LIMITS = { new: 100, old: 1_500, none: 10_000 };

/** Reads the store when a viewer asks: one read at a time, however many viewers ask. */
export class Snapshots {
  #looked: Looked | undefined;
  /** When the read of the newest answer began, monotonic. */
  #askedAt = -Infinity;
  /** When the last read began, monotonic. */
  #triedAt = -Infinity;
  /** When a switch was used last, monotonic. */
  #changedAt = -Infinity;
  #failure: string | undefined;
  #reading: Promise<void> | undefined;

  /** @param read reads the store, and prepares pages */
  constructor(
    private readonly read: () => Promise<Looked>,
    private readonly clock: Clock,
  ) {}

  async newest(): Promise<Snapshot> {
    // The present answer may be from before a change.
    const isBehind = this.#askedAt <= this.#changedAt;
    const reading = isBehind ? this.#refresh()?.then(() => this.#refresh()) : this.#refresh();
    if (reading !== undefined) {
      const state = this.#looked === undefined ? 'none' : isBehind || this.#age() >= NEW ? 'old' : 'new';
      await noLongerThan(ANSWER_LIMITS[state], reading, this.clock, { keepAlive: true });
    }
    return this.#snapshot();
  }

  /** Call this after a switch was used: the next answer comes from a later read of the store. */
  expire(): void {
    this.#changedAt = this.clock.monotonic();
  }

  #age(): number {
    return this.clock.monotonic() - this.#askedAt;
  }

  /** Reads the store, unless the last read is recent. */
  #refresh(): Promise<void> | undefined {
    const now = this.clock.monotonic();
    const isDue = now - this.#triedAt >= SHARED || this.#triedAt <= this.#changedAt;
    if (this.#reading === undefined && isDue) {
      this.#triedAt = now;
      this.#reading = this.#read(now).finally(() => (this.#reading = undefined));
    }
    return this.#reading;
  }

  #snapshot(): Snapshot {
    const isSlow = this.#reading !== undefined && this.#age() >= NEW;
    const failure = this.#failure ?? (isSlow ? 'no answer yet.' : undefined);
    return {
      ...(this.#looked && { looked: this.#looked }),
      age: this.#looked === undefined ? 0 : this.#age(),
      ...(failure !== undefined && { failure }),
    };
  }

  async #read(now: number): Promise<void> {
    try {
      this.#looked = await this.read();
      this.#askedAt = now;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = failureText(error);
    }
  }
}

/** An error for people: one sentence, without credentials. */
export function failureText(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return `${asClause(withoutSql(message))}.`;
}
