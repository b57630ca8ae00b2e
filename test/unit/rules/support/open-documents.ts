import type {
  Change,
  DocumentsRead,
  LockDocuments,
  ReadDocument,
  Renewal,
  SeenDocument,
} from '../../../../lib/contract/port.js';
import type { ManualClock } from '../../../../lib/testing/manual-clock.js';

/** A document. Times are of the place's clock. */
export type Row = Omit<ReadDocument, 'name'>;

/** A place whose documents a test can change behind the back of the store. */
export class OpenDocuments implements LockDocuments {
  readonly rows = new Map<string, Row>();

  constructor(readonly clock: ManualClock) {}

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

  find(name: string): ReadDocument | undefined {
    const row = this.rows.get(name);
    return row && { name, ...row };
  }

  writeOne(change: Change): boolean {
    const { name, seen } = change;
    const row = this.rows.get(name);
    if (!this.isAsSeen(row, seen)) return false;
    this.set(change, row);
    return true;
  }

  isAsSeen(row: Row | undefined, seen: SeenDocument | null): boolean {
    if (row === undefined || seen === null) return row === undefined && seen === null;
    const { version, by, taken } = seen;
    return row.version === version && row.by === by && row.until > this.now() === taken;
  }

  set({ name, end, begins, version, by, state }: Change, row: Row | undefined): void {
    const until = end === undefined ? (row?.until ?? 0) : this.now() + end;
    const since = begins === true ? this.now() : (row?.since ?? 0);
    this.rows.set(name, { version, by, state, until, since });
  }

  renewOne({ name, by, ttl }: Renewal): boolean {
    const row = this.rows.get(name);
    if (row === undefined || !this.isRenewable(row, by)) return false;
    this.rows.set(name, { ...row, until: this.now() + ttl });
    return true;
  }

  isRenewable(row: Row, by: string): boolean {
    return row.by === by && row.until > this.now();
  }
}
