import type { Clock } from '../../clock.js';
import { changeOf, lookAt } from '../../store/changes.js';
import type { ReadDocument } from '../../store/port.js';
import { type Decision, isTaken, type LockDocument, NOTHING } from '../../store/rules/document.js';
import { firstPlace } from '../../store/rules/in-line.js';
import { isHeld, regrant } from '../../store/rules/regrant.js';
import { readableLock } from '../../store/state.js';
import type { NextOptions } from '../queued-call-store.js';
import { placeAt } from '../line.js';
import type { LeaseRef } from '../lock-store.js';
import { RETENTION, TICK_RETENTION } from '../rules.js';
import type { MemoryHints } from './hints.js';
import type { MemoryDocuments } from './memory-documents.js';

/** The locks in this memory. Answers at once. */
export class MemoryLocks {
  /** The newest place in a line or a queue, without its priority. */
  #newest = 0;

  constructor(
    private readonly documents: MemoryDocuments,
    private readonly hints: MemoryHints,
    private readonly clock: Clock,
  ) {}

  /** Applies the decision of a rule to a lock. */
  decide<T>(name: string, decide: (document: LockDocument | undefined, now: number) => Decision<T>): T {
    // Its lease may end between the look and the write, which the next look finds.
    for (;;) {
      const { now, documents } = this.documents.look([name]);
      const look = lookAt(documents[0], now, this.clock.monotonic());
      const { answer, change, hint } = decide(look.document, now);
      if (change === undefined) return answer;
      if (!this.documents.set(changeOf(name, look, change, now).change)) continue;
      if (hint !== undefined) this.hints.send(hint.process, hint.token);
      return answer;
    }
  }

  isFree(name: string): boolean {
    const { lock, now } = this.#look(name);
    return !isTaken(lock, now);
  }

  /** The place of the first call in line. */
  firstPlace(name: string): number | undefined {
    return firstPlace(this.#look(name).lock);
  }

  /** A place for another call, of this priority. It keeps its order also if two come at once, or the clock was set back. */
  newPlace(priority: number): number {
    this.#newest = Math.max(this.#newest + 1, Math.trunc(this.clock.now() * 1_000));
    return placeAt(this.#newest, priority);
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
