import type { LeaseRef } from '../../contract/lock-store.js';
import type { FirstInLine, Lines } from './lines.js';
import type { LockDocuments } from '../../contract/port.js';
import { type Decision, isTaken, type LockDocument } from '../lock/document.js';
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

/** A lock that is taken, and who is first in its line. */
export interface TakenLock extends FirstInLine {
  /** Its lease. Absent: it stays taken after one, or somebody else has it. */
  readonly lease?: Pick<LeaseRef, 'token' | 'fencingToken'> | undefined;
}

/** The locks of documents, and their lines. @param decide does to a lock what a rule decides */
export const documentLocks = (
  documents: Pick<LockDocuments, 'read'>,
  lines: Lines,
  decide: <T>(
    name: string,
    rule: (document: LockDocument | undefined, now: number) => Decision<T>,
    limit?: number,
  ) => Promise<T>,
): QueueLocks => ({
  async taken(names) {
    const [{ now, documents: read }, first] = await Promise.all([documents.read(names), lines.first(names)]);
    const taken = new Map<string, TakenLock>();
    for (const each of read) {
      const lock = readableLock(each);
      const isLive = lock.ended === undefined && lock.stranger === undefined;
      if (isTaken(lock, now))
        taken.set(each.name, {
          ...first(each.name, lock.lease?.token),
          ...(isLive && { lease: lock.lease }),
        });
    }
    return taken;
  },
  regrant: (lease, run, limit) =>
    decide(lease.name, (document, now) => regrant(document, now, lease, run), limit),
});
