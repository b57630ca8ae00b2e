import type { Change, DocumentsRead, ReadDocument, Renewal, Seen } from '../../../../lib/contract/port.js';
import { ReferenceDocuments, type Row } from '../reference-documents.js';

/* Places that each break one sentence of the contract. */

export class MakesWhatItIsAskedFor extends ReferenceDocuments {
  override find(name: string): ReadDocument {
    const none = { version: '', by: '', state: '', until: 0, since: 0, name };
    return super.find(name) ?? none;
  }
}

export class CutsVersions extends ReferenceDocuments {
  override set(change: Change, row: Row | undefined): void {
    super.set({ ...change, version: change.version.slice(0, 8) }, row);
  }
}

export class KeepsJson extends ReferenceDocuments {
  override set(change: Change, row: Row | undefined): void {
    let { state } = change;
    try {
      state = JSON.stringify(JSON.parse(state));
    } catch {
      // Any other text.
    }
    super.set({ ...change, state }, row);
  }
}

export class FoldsNames extends ReferenceDocuments {
  override key(name: string): string {
    return name.toLowerCase();
  }
}

export class ReadsTwice extends ReferenceDocuments {
  override async read(names: readonly string[] | 'all'): Promise<DocumentsRead> {
    const { now, documents } = await super.read(names);
    return { now, documents: [...documents, ...documents.slice(1)] };
  }
}

export class ReadsAHundred extends ReferenceDocuments {
  override async read(names: readonly string[] | 'all'): Promise<DocumentsRead> {
    const { now, documents } = await super.read(names);
    return { now, documents: names === 'all' ? documents.slice(0, 100) : documents };
  }
}

export class AddsToTheEnd extends ReferenceDocuments {
  override set({ end, ...change }: Change, row: Row | undefined): void {
    const from = Math.max(0, (row?.until ?? 0) - this.now());
    super.set({ ...change, ...(end === undefined ? undefined : { end: end + from }) }, row);
  }
}

export class NeverEnds extends ReferenceDocuments {
  override set(change: Change, row: Row | undefined): void {
    const { end = 0 } = change;
    super.set({ ...change, ...(end > 0 ? { end: end * 1e6 } : undefined) }, row);
  }
}

export class EndsNow extends ReferenceDocuments {
  override set(change: Change, row: Row | undefined): void {
    super.set({ end: 0, ...change }, row);
  }
}

export class AlwaysBegins extends ReferenceDocuments {
  override set(change: Change, row: Row | undefined): void {
    super.set({ ...change, begins: true }, row);
  }
}

export class OwnClock extends ReferenceDocuments {
  override now(): number {
    return this.own.now();
  }
}

export class ReplacesAny extends ReferenceDocuments {
  override isAsSeen(row: Row | undefined, seen: Seen | null): boolean {
    return seen === null || super.isAsSeen(row, seen);
  }
}

export class MakesUp extends ReferenceDocuments {
  override isAsSeen(row: Row | undefined, seen: Seen | null): boolean {
    return row === undefined || super.isAsSeen(row, seen);
  }
}

export class IgnoresVersions extends ReferenceDocuments {
  override isAsSeen(row: Row | undefined, seen: Seen | null): boolean {
    return super.isAsSeen(row, seen && row ? { ...seen, version: row.version } : seen);
  }
}

export class FoldsBy extends ReferenceDocuments {
  override isAsSeen(row: Row | undefined, seen: Seen | null): boolean {
    const isSame = row?.by.toLowerCase() === seen?.by.toLowerCase();
    return super.isAsSeen(row, seen && row && isSame ? { ...seen, by: row.by } : seen);
  }
}

export class IgnoresTaken extends ReferenceDocuments {
  override isAsSeen(row: Row | undefined, seen: Seen | null): boolean {
    return super.isAsSeen(row, seen && row ? { ...seen, taken: row.until > this.now() } : seen);
  }
}

export class InsertsLate extends ReferenceDocuments {
  override async write(changes: readonly Change[]): Promise<boolean[]> {
    const [change] = changes;
    if (changes.length > 1 || change?.seen !== null) return super.write(changes);
    if (this.rows.has(change.name)) return [false];
    await Promise.resolve();
    this.set(change, undefined);
    return [true];
  }
}

export class UpdatesLate extends ReferenceDocuments {
  override async write(changes: readonly Change[]): Promise<boolean[]> {
    const [change] = changes;
    if (changes.length > 1 || !change?.seen) return super.write(changes);
    const row = this.rows.get(change.name);
    if (!this.isAsSeen(row, change.seen)) return [false];
    await Promise.resolve();
    this.set(change, row);
    return [true];
  }
}

export class AllOrNothing extends ReferenceDocuments {
  override async write(changes: readonly Change[]): Promise<boolean[]> {
    const all = changes.every(({ name, seen }) => this.isAsSeen(this.rows.get(name), seen));
    return all ? super.write(changes) : changes.map(() => false);
  }
}

export class WritesAHundred extends ReferenceDocuments {
  override async write(changes: readonly Change[]): Promise<boolean[]> {
    const written = await super.write(changes.slice(0, 100));
    return changes.map((_, i) => written[i] ?? false);
  }
}

export class Deadlocks extends ReferenceDocuments {
  #underWay: readonly string[] = [];

  override async write(changes: readonly Change[]): Promise<boolean[]> {
    const names = changes.map(({ name }) => name);
    if (names.length > 1 && this.#underWay.at(-1) === names[0])
      throw new Error('Deadlock found when trying to get lock');
    this.#underWay = names;
    await Promise.resolve();
    return super.write(changes);
  }
}

export class StopsAtALockedOne extends ReferenceDocuments {
  override async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    if (renewals.some(({ name }) => this.held.has(name))) return renewals.map(() => false);
    return super.renew(renewals);
  }
}

export class LeavesStrangers extends ReferenceDocuments {
  override find(name: string): ReadDocument | undefined {
    const found = super.find(name);
    return found?.by === 'stranger' ? { ...found, version: '', state: '' } : found;
  }
}

export class RenewsAnew extends ReferenceDocuments {
  override renewOne(renewal: Renewal): boolean {
    const renewed = super.renewOne(renewal);
    const row = this.rows.get(renewal.name);
    if (renewed && row !== undefined) this.rows.set(renewal.name, { ...row, version: 'renewed' });
    return renewed;
  }
}

export class RenewsForAnybody extends ReferenceDocuments {
  override isRenewable(row: Row): boolean {
    return super.isRenewable(row, row.by);
  }
}

export class RenewsWhatIsOver extends ReferenceDocuments {
  override isRenewable(row: Row, by: string): boolean {
    return row.by === by;
  }
}

export class AnswersTheRenewedFirst extends ReferenceDocuments {
  override async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    const renewed = await super.renew(renewals);
    return renewed.sort((a, b) => Number(b) - Number(a));
  }
}
