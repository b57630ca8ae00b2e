import type { Clock } from '../../clock.js';
import { changeOf, lookAt } from '../../store/changes.js';
import type { ReadDocument } from '../../store/port.js';
import { type Decision, isTaken, type LockDocument, NOTHING } from '../../store/rules/document.js';
import { isHeld, regrant } from '../../store/rules/regrant.js';
import { readableLock } from '../../store/state.js';
import type { NextOptions } from '../queued-call-store.js';
import type { LeaseRef } from '../lock-store.js';
import { RETENTION, TICK_RETENTION } from '../rules.js';
import type { MemoryDocuments } from './memory-documents.js';

/** The locks in this memory. Answers lines and queued calls at once. */
export class MemoryLocks {
  constructor(
    private readonly documents: MemoryDocuments,
    private readonly clock: Clock,
  ) {}

  /** Applies the decision of a rule to a lock. */
  decide<T>(name: string, decide: (document: LockDocument | undefined, now: number) => Decision<T>): T {
    // Its lease may end between the look and the write, which the next look finds.
    for (;;) {
      const { now, documents } = this.documents.look([name]);
      const look = lookAt(documents[0], now, this.clock.monotonic());
      const { answer, change } = decide(look.document, now);
      if (change === undefined || this.documents.set(changeOf(name, look, change, now).change)) return answer;
    }
  }

  isFree(name: string): boolean {
    const { lock, now } = this.#look(name);
    return !isTaken(lock, now);
  }

  isHeld(lease: LeaseRef): boolean {
    const { lock, now } = this.#look(lease.name);
    return isHeld(lock, now, lease);
  }

  /** The fencing token of a live lease that has the same token, and was granted after this one. */
  newer({ name, token, fencingToken }: LeaseRef): number | undefined {
    const { fencingToken: newest = 0 } = this.#look(name).lock.lease ?? {};
    const isNewer =
      newest > fencingToken && this.isHeld({ name, token, fencingToken: newest, ttl: 0, holder: '' });
    return isNewer ? newest : undefined;
  }

  /** Gives a held lease another fencing token, for a run of this job. `undefined`: it has ended. */
  renew(lease: LeaseRef, taker: NextOptions['takes'][number]): number | undefined {
    return this.decide(lease.name, (document, now) => regrant(document, now, lease, taker));
  }

  #look(name: string): { lock: LockDocument; now: number } {
    const {
      now,
      documents: [read],
    } = this.documents.look([name]);
    return { lock: read === undefined ? NOTHING : readableLock(read), now };
  }
}

/** How long a lock is remembered after it was free or changed, ms. */
export const retentionOf = (read: ReadDocument): number =>
  readableLock(read).starts.size === 0 ? RETENTION : TICK_RETENTION;
