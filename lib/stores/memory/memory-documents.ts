import type { Clock } from '../../clock.js';
import type { Change, DocumentsRead, LockDocuments, ReadDocument, Renewal, Seen } from '../../store/port.js';

/** A document. Its end is on the monotonic clock: a wall clock that is set ends no lease. */
interface Row {
  readonly version: string;
  readonly by: string;
  readonly state: string;
  readonly end: number;
  readonly since: number;
  /** When it was written, monotonic. */
  readonly writtenAt: number;
}

/** How many locks there have to be before any is forgotten. */
const MANY = 1_000;

/** The documents of locks in the memory of this process. */
export class MemoryDocuments implements LockDocuments {
  readonly #rows = new Map<string, Row>();
  /** At how many locks the next clean-up takes place. */
  #full = MANY;

  /** How long a lock is remembered after it was free or changed, ms. */
  retention: (document: ReadDocument) => number = () => Infinity;

  constructor(private readonly clock: Clock) {}

  async read(names: readonly string[] | 'all'): Promise<DocumentsRead> {
    const asked = names === 'all' ? [...this.#rows.keys()] : names;
    return { now: this.clock.now(), documents: asked.flatMap((name) => this.find(name) ?? []) };
  }

  async write(changes: readonly Change[]): Promise<boolean[]> {
    return changes.map((change) => this.set(change));
  }

  async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    return renewals.map(({ name, by, ttl }) => this.#renew(name, by, ttl));
  }

  /** A document, at once. */
  find(name: string): ReadDocument | undefined {
    const row = this.#rows.get(name);
    if (row === undefined) return undefined;
    const { version, by, end, since, state } = row;
    const until = this.clock.now() + (end - this.clock.monotonic());
    return { name, version, by, until, since, state };
  }

  /** Takes a lock away from its holder. */
  free(name: string): void {
    const row = this.#rows.get(name);
    if (row !== undefined) this.#rows.set(name, { ...row, end: -Infinity });
  }

  /** Writes a change, at once. */
  set({ name, seen, end, begins, version, by, state }: Change): boolean {
    const row = this.#rows.get(name);
    const now = this.clock.monotonic();
    if (!isAsSeen(row, seen, now)) return false;
    if (row === undefined) this.#forget(now);
    this.#rows.set(name, {
      version,
      by,
      state,
      end: end === undefined ? (row?.end ?? -Infinity) : now + end,
      since: begins === true || row === undefined ? this.clock.now() : row.since,
      writtenAt: now,
    });
    return true;
  }

  #renew(name: string, by: string, ttl: number): boolean {
    const row = this.#rows.get(name);
    const now = this.clock.monotonic();
    if (row?.by !== by || row.end <= now) return false;
    this.#rows.set(name, { ...row, end: now + ttl });
    return true;
  }

  /** Forgets old locks whenever there are twice as many as after the last time: a caller can make up a name per call. */
  #forget(now: number): void {
    if (this.#rows.size < this.#full) return;
    for (const [name, { end, writtenAt }] of this.#rows) {
      const document = this.find(name);
      const retention = document === undefined ? 0 : this.retention(document);
      if (Math.max(end, writtenAt) + retention <= now) this.#rows.delete(name);
    }
    this.#full = Math.max(MANY, this.#rows.size * 2);
  }
}

function isAsSeen(row: Row | undefined, seen: Seen | null, now: number): boolean {
  if (row === undefined || seen === null) return row === undefined && seen === null;
  return row.version === seen.version && row.by === seen.by && row.end > now === seen.taken;
}
