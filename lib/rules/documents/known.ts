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

/** What is known of a lock without a look. */
interface KnownLock {
  /** What this process wrote last. */
  readonly guess?: Snapshot | undefined;
  /** Whether a guess was wrong, and none was right since. */
  readonly isUnsure?: boolean;
  /** Whether its document had a mark when it was read last: then its line is read along with it. */
  readonly isMarked?: boolean;
}

/** Of how many locks something is known. A caller can make up a name per call: when there are too many, it starts anew. */
const MOST_KNOWN = 10_000;
/** How much slower the time is reckoned on than it goes by: more than clocks drift apart. */
const SLOWER = 0.999;

/**
 * The database's time of now, reckoned on. Rather too early, but for a clock that was set back: so fencing tokens do not go by it. A tick
 * is refused by it, after 17 hours at the latest, and then by what is read.
 */
export const nowOf = ({ time, at }: Snapshot, clock: Clock): number =>
  time + (clock.monotonic() - at) * SLOWER;

/**
 * What this process knows of locks. Whoever had a lock last writes at once, over what it wrote last, without reading. A guess that is
 * wrong costs a call, nothing else: a change is written over exactly what was guessed, or not at all.
 *
 * That a lock is free is guessed only as long as guesses hold: where holders take turns, each one would be wrong.
 */
export class KnownLocks {
  readonly #known = new Map<string, KnownLock>();

  constructor(private readonly clock: Clock) {}

  /** `undefined` if there is no guess, or none that is worth trying. */
  guess(name: string): Snapshot | undefined {
    const { guess, isUnsure } = this.#known.get(name) ?? {};
    if (guess?.document === undefined) return undefined;
    if (isUnsure === true && !isTaken(guess.document, nowOf(guess, this.clock))) return undefined;
    return { ...guess, document: { ...guess.document, readAt: guess.time } };
  }

  isMarked(name: string): boolean {
    return this.#known.get(name)?.isMarked === true;
  }

  /** This process has written a document. */
  wrote(name: string, guess: Snapshot): void {
    this.#note(name, { guess });
  }

  /** This process has renewed a lease. */
  renewed(name: string, ttl: number): void {
    const guess = this.#known.get(name)?.guess;
    if (guess?.document === undefined) return;
    const until = nowOf(guess, this.clock) + ttl;
    this.#note(name, { guess: { ...guess, document: { ...guess.document, until } } });
  }

  wrong(name: string): void {
    this.#note(name, { guess: undefined, isUnsure: true });
  }

  /** A lock was read, which shows whether the guess was right. */
  saw(name: string, version: string | undefined, isMarked: boolean): void {
    const known = this.#known.get(name);
    if (known === undefined && !isMarked) return;
    const isRight = known?.guess !== undefined && known.guess.seen?.version === version;
    this.#note(name, { isMarked, isUnsure: known?.isUnsure === true && !isRight });
  }

  #note(name: string, news: KnownLock): void {
    const known = this.#known.get(name);
    if (known === undefined && this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(name, { ...known, ...news });
  }
}
