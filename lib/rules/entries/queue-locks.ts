import type { LeaseRef } from '../../contract/lock-store.js';
import type { LockDocuments } from '../../contract/port.js';
import { type Decision, isTaken, type LockDocument } from '../lock/document.js';
import { firstPlace } from '../lock/in-line.js';
import { regrant } from '../lock/regrant.js';
import { readableLock } from '../lock/state.js';

/** What queued calls ask of the locks. */
export interface QueueLocks {
  /** Those of these locks that are taken. Locks nothing. */
  taken(names: readonly string[]): Promise<ReadonlyMap<string, TakenLock>>;
  /**
   * The lease goes on with a queued call of this job, under a new fencing token.
   *
   * @param limit how long the caller waits, ms @default 2_000
   * @returns the fencing token; `undefined` if the lease is over
   */
  regrant(lease: LeaseRef, run: RegrantedRun, limit?: number): Promise<number | undefined>;
}

/** For what a lease goes on. */
export interface RegrantedRun {
  readonly job: string;
  readonly ttl: number;
}

/** A lock that is taken. */
export interface TakenLock {
  /** Its lease. Absent: it stays taken after one, or somebody else has it. */
  readonly lease?: Pick<LeaseRef, 'token' | 'fencingToken'> | undefined;
  /** The place of the first call in line, if there is one. */
  readonly first?: number | undefined;
}

/** The locks of documents. @param decide does to a lock what a rule decides */
export const documentLocks = (
  documents: Pick<LockDocuments, 'read'>,
  decide: <T>(
    name: string,
    rule: (document: LockDocument | undefined, now: number) => Decision<T>,
    limit?: number,
  ) => Promise<T>,
): QueueLocks => ({
  async taken(names) {
    const { now, documents: read } = await documents.read(names);
    const taken = new Map<string, TakenLock>();
    for (const each of read) {
      const lock = readableLock(each);
      const isLive = lock.ended === undefined && lock.stranger === undefined;
      if (isTaken(lock, now))
        taken.set(each.name, { first: firstPlace(lock), ...(isLive && { lease: lock.lease }) });
    }
    return taken;
  },
  regrant: (lease, run, limit) =>
    decide(lease.name, (document, now) => regrant(document, now, lease, run), limit),
});
