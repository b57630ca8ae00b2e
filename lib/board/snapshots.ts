import { type Clock, noLongerThan } from '../clock.js';
import type { Look } from '../insight/look.js';
import { asClause, withoutSql } from '../wording.js';
import { type Looked, lookedAt } from './looked.js';

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
const SHARED = 2_000;
/** How long a viewer waits for a newer answer if there is an old one, and if there is none, ms. */
const PATIENCE = 1_500;
const FIRST_PATIENCE = 10_000;

/** Reads the store when somebody asks: once at a time, however many ask. */
export class Snapshots {
  #looked: Looked | undefined;
  /** When the newest answer was asked for, monotonic. */
  #askedAt = -Infinity;
  /** When the store was asked last, monotonic. */
  #triedAt = -Infinity;
  #failure: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(
    private readonly read: () => Promise<Look>,
    private readonly clock: Clock,
  ) {}

  async newest(): Promise<Snapshot> {
    const now = this.clock.monotonic();
    if (this.#reading === undefined && now - this.#triedAt >= SHARED) {
      this.#triedAt = now;
      this.#reading = this.#read(now).finally(() => (this.#reading = undefined));
    }
    if (this.#reading !== undefined) {
      const patience = this.#looked === undefined ? FIRST_PATIENCE : PATIENCE;
      await noLongerThan(patience, this.#reading, this.clock, { keepAlive: true });
    }
    return this.#snapshot();
  }

  /** Somebody has changed something: the next one who asks is told of it. */
  expire(): void {
    this.#triedAt = -Infinity;
  }

  #snapshot(): Snapshot {
    const age = this.clock.monotonic() - this.#askedAt;
    const isSlow = this.#reading !== undefined && this.clock.monotonic() - this.#triedAt >= PATIENCE;
    const failure = this.#failure ?? (isSlow ? 'no answer yet.' : undefined);
    return {
      ...(this.#looked && { looked: this.#looked }),
      age: this.#looked === undefined ? 0 : age,
      ...(failure !== undefined && { failure }),
    };
  }

  async #read(now: number): Promise<void> {
    try {
      this.#looked = await lookedAt(await this.read());
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
