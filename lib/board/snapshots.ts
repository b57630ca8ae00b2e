import { type Clock, noLongerThan } from '../clock.js';
import { asClause, withoutSql } from '../wording.js';
import type { Looked } from './looked.js';

/** One answer of the store, for all who ask within {@link SHARED}. */
export interface Snapshot {
  /** Absent: the store has told nothing yet. */
  readonly looked?: Looked;
  /** How old it is, ms. */
  readonly age: number;
  /** Why there is no newer one, for people. Absent: it is as new as it should be. */
  readonly failure?: string;
}

/** For how long an answer serves all, ms. */
export const SHARED = 2_000;
/** Up to this age an answer counts as new, ms: whoever asks is not made to wait for the next one, which a large fleet takes a while for. */
const NEW = 10_000;
/** How long a viewer waits for a newer answer if there is a new one, an old one, or none, ms. */
const PATIENCE = { new: 100, old: 1_500, none: 10_000 };

/** Reads the store when somebody asks: once at a time, however many ask. */
export class Snapshots {
  #looked: Looked | undefined;
  /** When the newest answer was asked for, monotonic. */
  #askedAt = -Infinity;
  /** When the store was asked last, monotonic. */
  #triedAt = -Infinity;
  /** When a switch was used last, monotonic. */
  #changedAt = -Infinity;
  #failure: string | undefined;
  #reading: Promise<void> | undefined;

  /** @param read one look at the store, and all that is made of it in advance */
  constructor(
    private readonly read: () => Promise<Looked>,
    private readonly clock: Clock,
  ) {}

  async newest(): Promise<Snapshot> {
    // What is read already may be from before a change.
    const isBehind = this.#askedAt <= this.#changedAt;
    const reading = isBehind ? this.#refresh()?.then(() => this.#refresh()) : this.#refresh();
    if (reading !== undefined) {
      const state = this.#looked === undefined ? 'none' : isBehind || this.#age() >= NEW ? 'old' : 'new';
      await noLongerThan(PATIENCE[state], reading, this.clock, { keepAlive: true });
    }
    return this.#snapshot();
  }

  /** A switch was used: the next answer is read from the store after that. */
  expire(): void {
    this.#changedAt = this.clock.monotonic();
  }

  #age(): number {
    return this.clock.monotonic() - this.#askedAt;
  }

  /** Reads if it is time to. */
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

/** An error as people may read it: no credentials, one sentence. */
export function failureText(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return `${asClause(withoutSql(message))}.`;
}
