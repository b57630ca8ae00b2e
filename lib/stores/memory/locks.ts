import type { Clock } from '../../clock.js';
import { changeOf, lookAt } from '../../store/changes.js';
import type { ReadDocument } from '../../store/port.js';
import { isTaken, type LockDocument, NOTHING } from '../../store/rules/document.js';
import { isHeld, regrant } from '../../store/rules/regrant.js';
import { jobInfos } from '../../store/rules/starts.js';
import { readableLock } from '../../store/state.js';
import type { NextOptions } from '../event-store.js';
import type { JobInfo, LeaseRef } from '../lock-store.js';
import { RETENTION, TICK_RETENTION } from '../rules.js';
import type { MemoryDocuments } from './memory-documents.js';

/** What lines, kept calls and histories in this memory ask of its locks, answered at once. */
export class MemoryLocks {
  constructor(
    private readonly documents: MemoryDocuments,
    private readonly clock: Clock,
  ) {}

  isFree(name: string): boolean {
    return !isTaken(this.#lock(name), this.clock.now());
  }

  isHeld(lease: LeaseRef): boolean {
    return isHeld(this.#lock(lease.name), this.clock.now(), lease);
  }

  /** The fencing token of a live lease that has the same token, and was granted after this one. */
  newer({ name, token, fencingToken }: LeaseRef): number | undefined {
    const document = this.#lock(name);
    const { fencingToken: newest = 0 } = document.lease ?? {};
    const isNewer =
      newest > fencingToken && this.isHeld({ name, token, fencingToken: newest, ttl: 0, holder: '' });
    return isNewer ? newest : undefined;
  }

  /** Gives a held lease another fencing token, for a run of this job. */
  renew(lease: LeaseRef, taker: NextOptions['takes'][number]): number {
    const { name } = lease;
    const look = lookAt(this.documents.find(name), this.clock.now(), this.clock.monotonic());
    const { answer = 0, change } = regrant(look.document, look.time, lease, taker);
    if (change !== undefined) this.documents.set(changeOf(name, look, change, this.clock).change);
    return answer;
  }

  lastStart(name: string, job: string): JobInfo | undefined {
    return jobInfos(this.#lock(name).starts).find((each) => each.job === job);
  }

  /** Whether a lease for this job holds the lock. */
  isRunning(name: string, job: string): boolean {
    const { lease } = this.#lock(name);
    return lease?.job === job && this.isHeld({ ...lease, name, ttl: 0 });
  }

  #lock(name: string): LockDocument {
    const read = this.documents.find(name);
    return read === undefined ? NOTHING : readableLock(read);
  }
}

/** How long a lock is remembered after it was free or changed, ms. */
export const retentionOf = (read: ReadDocument): number =>
  readableLock(read).starts.size === 0 ? RETENTION : TICK_RETENTION;
