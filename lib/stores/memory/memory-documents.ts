import type { Clock } from '../../base/clock.js';
import type {
  Change,
  DocumentsRead,
  LockDocuments,
  ReadDocument,
  Renewal,
  SeenDocument,
} from '../../contract/port.js';

/** A document. Its end is on the monotonic clock: a wall clock that is set ends no lease. */
interface Stored {
  readonly version: string;
  readonly by: string;
  readonly state: string;
  readonly end: number;
  readonly since: number;
  /** When it was written, monotonic. */
  readonly writtenAt: number;
}

/** A moment, by both clocks. */
interface Time {
  readonly now: number;
  readonly monotonic: number;
}

/** How many locks there have to be before any is forgotten. */
const MANY = 1_000;

/** The documents of locks in the memory of this process. */
export class MemoryDocuments implements LockDocuments {
  readonly #rows = new Map<string, Stored>();
  /** At how many locks the next clean-up takes place. */
  #full = MANY;

  /** How long a lock is remembered after it was free or changed, ms. */
  retention: (document: ReadDocument) => number = () => Infinity;

  constructor(private readonly clock: Clock) {}

  async read(names: readonly string[] | 'all'): Promise<DocumentsRead> {
    return this.look(names);
  }

  /** Reads at once. */
  look(names: readonly string[] | 'all'): DocumentsRead {
    const asked = names === 'all' ? [...this.#rows.keys()] : [...new Set(names)];
    const time = this.#time();
    const documents = asked.flatMap((name) => {
      const row = this.#rows.get(name);
      if (row === undefined) return [];
      const { version, by, since, state } = row;
      return { name, version, by, until: untilOf(row, time), since, state };
    });
    return { now: time.now, documents };
  }

  async write(changes: readonly Change[]): Promise<boolean[]> {
    return changes.map((change) => this.set(change));
  }

  async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    return renewals.map(({ name, by, ttl }) => {
      const row = this.#rows.get(name);
      const time = this.#time();
      if (row?.by !== by || !isTaken(row, time)) return false;
      this.#rows.set(name, { ...row, end: time.monotonic + ttl });
      return true;
    });
  }

  /** Takes a lock away from its holder. */
  free(name: string): void {
    const row = this.#rows.get(name);
    if (row !== undefined) this.#rows.set(name, { ...row, end: -Infinity });
  }

  /** Writes a change, at once. */
  set({ name, seen, end, begins, version, by, state }: Change): boolean {
    const row = this.#rows.get(name);
    const time = this.#time();
    const now = time.monotonic;
    if (!isAsSeen(row, seen, time)) return false;
    if (row === undefined) this.#forget(now);
    this.#rows.set(name, {
      version,
      by,
      state,
      end: end === undefined ? (row?.end ?? -Infinity) : now + end,
      since: begins === true || row === undefined ? time.now : row.since,
      writtenAt: now,
    });
    return true;
  }

  #time(): Time {
    return { now: this.clock.now(), monotonic: this.clock.monotonic() };
  }

  /** Forgets old locks whenever there are twice as many as after the last time: a caller can make up a name per call. */
  #forget(now: number): void {
    if (this.#rows.size < this.#full) return;
    for (const document of this.look('all').documents) {
      const { end = now, writtenAt = now } = this.#rows.get(document.name) ?? {};
      if (Math.max(end, writtenAt) + this.retention(document) <= now) this.#rows.delete(document.name);
    }
    this.#full = Math.max(MANY, this.#rows.size * 2);
  }
}

/** Until when a lock is taken, by the wall clock. */
const untilOf = ({ end }: Stored, { now, monotonic }: Time): number => now + (end - monotonic);

/** As a reader calculates it, digit by digit. */
const isTaken = (row: Stored, time: Time): boolean => untilOf(row, time) > time.now;

function isAsSeen(row: Stored | undefined, seen: SeenDocument | null, time: Time): boolean {
  if (row === undefined || seen === null) return row === undefined && seen === null;
  return row.version === seen.version && row.by === seen.by && isTaken(row, time) === seen.taken;
}
