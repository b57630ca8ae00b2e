import type { Clock } from '../clock.js';
import { LockStateError } from '../errors.js';
import type { Emit } from './events.js';

interface Outage {
  readonly since: number;
  skipped: number;
}

/** The key under which an outage of the store itself is kept; a lock's name is never empty. */
const STORE = '';

/**
 * Turns failed and successful store calls into outages with a beginning and an end: one event each, however many
 * ticks fall into it. A broken entry of one lock is an outage of that lock alone.
 */
export class Outages {
  readonly #outages = new Map<string, Outage>();

  constructor(
    private readonly instance: string,
    private readonly clock: Clock,
    private readonly emit: Emit,
  ) {}

  /** A call failed. */
  failed(error: Error, { skipped = false, atStart = false } = {}): void {
    const key = error instanceof LockStateError ? error.lock : STORE;
    // A store that says what is wrong with one lock has answered.
    if (key !== STORE) this.succeeded();
    let outage = this.#outages.get(key);
    if (outage === undefined) {
      outage = { since: this.clock.monotonic(), skipped: 0 };
      this.#outages.set(key, outage);
      this.emit({ type: 'outage-started', ...this.#facts(key), error, atStart });
    }
    if (skipped) outage.skipped += 1;
  }

  /** A call for these locks was answered. */
  succeeded(...locks: string[]): void {
    if (this.#outages.size === 0) return;
    for (const key of [STORE, ...locks]) {
      const outage = this.#outages.get(key);
      if (outage === undefined) continue;
      this.#outages.delete(key);
      const duration = Math.round(this.clock.monotonic() - outage.since);
      this.emit({ type: 'outage-ended', ...this.#facts(key), duration, skipped: outage.skipped });
    }
  }

  #facts(key: string) {
    const facts = { instance: this.instance, at: this.clock.now() };
    return key === STORE ? facts : { ...facts, lock: key };
  }
}
