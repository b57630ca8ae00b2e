import type { Clock } from '../../base/clock.js';
import type { SeenDocument } from '../../contract/port.js';
import { isTaken, type LockDocument } from '../lock/document.js';

/** The document of a lock, and what a change of it is written over. */
export interface Snapshot {
  readonly document: LockDocument | undefined;
  /** As it was found; `null`: there is none. */
  readonly seen: Omit<SeenDocument, 'taken'> | null;
  /** What the database's clock said, */
  readonly time: number;
  /** when it answered, monotonic. */
  readonly at: number;
}

/** How many locks have a guess. A caller can make up a name per call: when there are too many, it starts anew. */
const MAX_GUESSES = 10_000;

/** How much slower the time is reckoned on than it goes by: more than clocks drift apart. */
const SLOWER = 0.999;

/**
 * The database's time of now, reckoned on. Rather too early, but for a clock that was set back: so fencing tokens do not go by it. A tick
 * is refused by it, after 17 hours at the latest, and then by what is read.
 */
export const nowOf = ({ time, at }: Snapshot, clock: Clock): number =>
  time + (clock.monotonic() - at) * SLOWER;

/**
 * What this process wrote last: whoever had a lock last writes at once, without reading. A guess that is wrong costs a call, nothing
 * else: a change is written over exactly what was guessed, or not at all.
 *
 * That a lock is free is guessed only as long as guesses hold: where holders take turns, each one would be wrong.
 */
export class Guesses {
  readonly #known = new Map<string, Snapshot>();
  /** Locks of which a guess was wrong. */
  readonly #unsure = new Set<string>();

  constructor(private readonly clock: Clock) {}

  /** `undefined` if there is no guess, or none that is worth trying. */
  of(name: string): Snapshot | undefined {
    const guess = this.#known.get(name);
    if (guess?.document === undefined) return undefined;
    const isFree = !isTaken(guess.document, nowOf(guess, this.clock));
    if (isFree && this.#unsure.has(name)) return undefined;
    return { ...guess, document: { ...guess.document, readAt: guess.time } };
  }

  /** This process has written a document. */
  wrote(name: string, look: Snapshot): void {
    if (this.#known.size >= MAX_GUESSES || this.#unsure.size >= MAX_GUESSES) {
      this.#known.clear();
      this.#unsure.clear();
    }
    this.#known.set(name, look);
  }

  /** This process has renewed a lease. */
  renewed(name: string, ttl: number): void {
    const guess = this.#known.get(name);
    if (guess?.document === undefined) return;
    const until = nowOf(guess, this.clock) + ttl;
    this.#known.set(name, { ...guess, document: { ...guess.document, until } });
  }

  /** A lock was read, which shows whether the guess was right. */
  saw(name: string, version: string): void {
    if (this.#known.get(name)?.seen?.version === version) this.#unsure.delete(name);
  }

  wrong(name: string): void {
    this.#known.delete(name);
    this.#unsure.add(name);
  }
}
