import type { Clock } from '../../base/clock.js';
import type { Standing } from '../../contract/line.js';
import type { Change, LockDocuments, ReadDocument, SeenDocument } from '../../contract/port.js';
import type { Lines } from '../entries/lines.js';
import { become, byOf, isTaken, type LockDocument, type Next, lockOf, stateOf } from '../lock/document.js';
import { hasLine } from '../lock/in-line.js';
import { newId } from '../../base/shared.js';

/** A lock, and whether its line counts: always, if its document has a mark, or not. */
export interface LookedAt {
  readonly name: string;
  readonly line: 'always' | 'marked' | undefined;
}

/** What was found of a lock. */
export interface Found extends Snapshot, Reading {
  /** Its line, or why it could not be read. Absent: it does not count. */
  readonly line?: readonly Standing[] | Error | undefined;
}

/** What is known of a lock without a look. */
interface Known {
  /** What this process wrote last. */
  guess?: Snapshot | undefined;
  /** Whether a guess was wrong, and none was right since. */
  isUnsure?: boolean;
}

/** Of how many locks something is known. A caller can make up a name per call: when there are too many, it starts anew. */
const MOST_KNOWN = 10_000;
/** How long the database's time is reckoned on from where it was read, ms: clocks drift apart, and are set, and fencing tokens tell when a lease began. */
const YOUNG = 60_000;
/** How much slower the time is reckoned on than it goes by: more than clocks differ. */
const SLOWER = 0.999;

/** The database's time of now, reckoned on. Rather too early: fencing tokens must not run ahead of the database's clock. */
export const nowOf = ({ time, at }: Reading, clock: Clock): number =>
  time + (clock.monotonic() - at) * SLOWER;

/**
 * What this process knows of locks. Who had a lock last writes at once, over what it wrote last: over exactly that, or not at all. That it
 * is free is guessed only as long as guesses hold: where holders take turns, each one would be wrong.
 *
 * A look reads documents, and the lines that count: those of calls that wait, and of locks whose documents have a mark.
 */
export class Looks {
  readonly #known = new Map<string, Known>();
  /** The time that the newest read of any lock has told. Guesses of the time rest on it, for a minute. */
  #latest: Reading = { time: 0, at: -Infinity };

  constructor(
    private readonly documents: LockDocuments,
    private readonly lines: Lines,
    private readonly clock: Clock,
  ) {}

  /** `undefined` if there is no guess, or none that is worth trying. */
  guess(name: string): Found | undefined {
    const { guess, isUnsure } = this.#known.get(name) ?? {};
    if (guess?.document === undefined || this.clock.monotonic() - this.#latest.at > YOUNG) return undefined;
    if (isUnsure === true && !isTaken(guess.document, nowOf(this.#latest, this.clock))) return undefined;
    return { ...guess, ...this.#latest };
  }

  /** This process has written a document. */
  wrote(name: string, guess: Snapshot): void {
    this.#of(name).guess = guess;
  }

  /** This process has renewed a lease. */
  renewed(name: string, ttl: number): void {
    const { guess } = this.#of(name);
    if (guess?.document === undefined) return;
    const until = nowOf(this.#latest, this.clock) + ttl;
    this.wrote(name, { ...guess, document: { ...guess.document, until } });
  }

  wasWrong(name: string): void {
    Object.assign(this.#of(name), { guess: undefined, isUnsure: true });
  }

  /** @returns what is found of each of these locks, or why it cannot be told */
  async at(locks: readonly LookedAt[]): Promise<(Found | Error)[]> {
    const reckoned = nowOf(this.#latest, this.clock);
    const lineOf = (name: string) => this.lines.read(name).catch((error: unknown) => error as Error);
    const early = new Map(
      locks
        .filter((lock) => counts(lock, this.#known.get(lock.name)?.guess, reckoned))
        .map(({ name }) => [name, lineOf(name)]),
    );
    const { now, documents, problems } = await this.documents.read(locks.map(({ name }) => name));
    const latest = (this.#latest = { time: now, at: this.clock.monotonic() });
    const read = new Map(documents.map((document) => [document.name, document]));
    const found = locks.map(async (lock) => {
      const { name } = lock;
      const look = problems?.get(name) ?? this.#lookAt(name, read.get(name));
      if (look instanceof Error) return look;
      const line = await (early.get(name) ?? (counts(lock, look, now) ? lineOf(name) : undefined));
      return { ...look, ...latest, line };
    });
    return Promise.all(found);
  }

  /** Shows, too, whether the guess was right. */
  #lookAt(name: string, read: ReadDocument | undefined): Snapshot | Error {
    const known = this.#known.get(name);
    if (read !== undefined && known?.guess?.seen?.version === read.version) known.isUnsure = false;
    try {
      return lookAt(read);
    } catch (error) {
      return error as Error;
    }
  }

  #of(name: string): Known {
    let known = this.#known.get(name);
    if (known !== undefined) return known;
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(name, (known = {}));
    return known;
  }
}

/** Whether a line counts, by what is known of the document. @param now of the database */
const counts = ({ line }: LookedAt, known: Snapshot | undefined, now: number): boolean =>
  line === 'always' || (line === 'marked' && hasLine(known?.document, now));

/** The document of a lock, and what a change of it is written over. */
export interface Snapshot {
  readonly document: LockDocument | undefined;
  /** As it was found; `null`: there is none. */
  readonly seen: Omit<SeenDocument, 'taken'> | null;
}

/** What the database's clock said, and when it answered, monotonic. */
interface Reading {
  readonly time: number;
  readonly at: number;
}

/** What was read of a lock. @throws LockStateError if its state is not one that we have written */
export function lookAt(read: ReadDocument | undefined): Snapshot {
  if (read === undefined) return { document: undefined, seen: null };
  const { version, by } = read;
  return { document: lockOf(read), seen: { version, by } };
}

/** What a rule has decided, over what was seen, and how the lock looks then. @param now by the database's clock, as the rule was told */
export function changeOf(name: string, { document, seen }: Snapshot, next: Next, now: number) {
  const { kept, ...when } = next;
  const { lease, ended, stranger } = kept;
  const version = newId();
  const by = stranger ?? (lease === undefined ? '' : byOf(lease, ended));
  const taken = document !== undefined && isTaken(document, now);
  const change: Change = {
    name,
    seen: seen && { ...seen, taken },
    version,
    by,
    state: stateOf(kept),
    ...when,
  };
  const after: Snapshot = { document: become(document, next, now), seen: { version, by } };
  return { change, after };
}
