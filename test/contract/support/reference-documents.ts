import type {
  Change,
  DocumentsRead,
  LockDocuments,
  ReadDocument,
  Renewal,
  Seen,
} from '../../../lib/contract/port.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { LockDocumentsContractOptions } from '../../../lib/testing/port/port-options.js';

/** A document. Times are of the place's clock. */
export type Row = Omit<ReadDocument, 'name'>;

/** The simplest correct place, to be broken. */
export class ReferenceDocuments implements LockDocuments {
  readonly rows = new Map<string, Row>();
  /** Documents that somebody else has locked. */
  readonly held = new Set<string>();

  /** @param own the clock of the instance */
  constructor(
    readonly clock: ManualClock,
    readonly own: ManualClock,
  ) {}

  async read(names: readonly string[] | 'all'): Promise<DocumentsRead> {
    const asked = names === 'all' ? [...this.rows.keys()] : names;
    return { now: this.now(), documents: asked.flatMap((name) => this.find(name) ?? []) };
  }

  async write(changes: readonly Change[]): Promise<boolean[]> {
    return changes.map((change) => this.writeOne(change));
  }

  async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    return renewals.map((renewal) => this.renewOne(renewal));
  }

  now(): number {
    return this.clock.now();
  }

  key(name: string): string {
    return name;
  }

  find(name: string): ReadDocument | undefined {
    const row = this.rows.get(this.key(name));
    return row && { name, ...row };
  }

  writeOne(change: Change): boolean {
    const { name, seen } = change;
    const row = this.rows.get(this.key(name));
    if (this.held.has(name) || !this.isAsSeen(row, seen)) return false;
    this.set(change, row);
    return true;
  }

  isAsSeen(row: Row | undefined, seen: Seen | null): boolean {
    if (row === undefined || seen === null) return row === undefined && seen === null;
    const { version, by, taken } = seen;
    return row.version === version && row.by === by && row.until > this.now() === taken;
  }

  set({ name, end, begins, version, by, state }: Change, row: Row | undefined): void {
    const until = end === undefined ? (row?.until ?? 0) : this.now() + end;
    const since = begins === true ? this.now() : (row?.since ?? 0);
    this.rows.set(this.key(name), { version, by, state, until, since });
  }

  renewOne({ name, by, ttl }: Renewal): boolean {
    const row = this.rows.get(this.key(name));
    if (this.held.has(name) || row === undefined || !this.isRenewable(row, by)) return false;
    this.rows.set(this.key(name), { ...row, until: this.now() + ttl });
    return true;
  }

  isRenewable(row: Row, by: string): boolean {
    return row.by === by && row.until > this.now();
  }
}

/** The contract on a place whose clock, and that of its instance, are moved by hand. */
export function referenceDocuments(
  make: (clock: ManualClock, own: ManualClock) => ReferenceDocuments = (clock, own) =>
    new ReferenceDocuments(clock, own),
): LockDocumentsContractOptions {
  let place = make(new ManualClock(), new ManualClock());
  return {
    create: () => {
      place = make(new ManualClock(), new ManualClock());
      return { documents: place };
    },
    wait: async (ms) => {
      await place.clock.advance(ms);
      await place.own.advance(ms);
    },
    skewInstanceClock: (ms) => place.own.setWallClock(place.clock.now() + ms),
    takeByStranger: (_documents, name, by, ttl) => {
      const [row, now] = [place.rows.get(name), place.clock.now()];
      if (row !== undefined) place.rows.set(name, { ...row, by, until: now + ttl, since: now });
    },
    holdDocument: async (_documents, name) => {
      place.held.add(name);
      return async () => void place.held.delete(name);
    },
  };
}
