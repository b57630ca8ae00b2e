import type { DocumentLockStore } from '../../store/document-lock-store.js';
import { isTaken, type LockDocument } from '../../store/rules/document.js';
import { regrant } from '../../store/rules/regrant.js';
import { readableLock } from '../../store/state.js';
import type { LeaseRef } from '../lock-store.js';
import type { SqlDocuments } from './documents.js';

/** What queued calls and histories ask of the locks. */
export class SqlLocks {
  constructor(
    private readonly documents: Pick<SqlDocuments<unknown>, 'read'>,
    private readonly store: Pick<DocumentLockStore, 'decide'>,
  ) {}

  /** Looks at some locks. */
  async look(names: readonly string[]): Promise<Looked> {
    const { now, documents } = await this.documents.read(names);
    return new Looked(now, new Map(documents.map((read) => [read.name, readableLock(read)])));
  }

  /**
   * Gives a live lease a new fencing token, and lets it live for so long from now on, ms. `undefined`: it is over, or has another fencing
   * token by now.
   */
  regrant(lease: LeaseRef, run: { readonly job: string; readonly ttl: number }): Promise<number | undefined> {
    return this.store.decide(lease.name, (document, now) => regrant(document, now, lease, run));
  }
}

/** What a look has found. */
class Looked {
  constructor(
    readonly now: number,
    private readonly documents: ReadonlyMap<string, LockDocument>,
  ) {}

  of(name: string): LockDocument | undefined {
    return this.documents.get(name);
  }

  isFree(name: string): boolean {
    const document = this.of(name);
    return document === undefined || !isTaken(document, this.now);
  }
}
