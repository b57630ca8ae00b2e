import type { LeaseRef } from '../../contract/lock-store.js';
import type { NextOptions } from '../../contract/queued-call-store.js';
import type { Lines } from './lines.js';
import type { LockDocuments } from '../../contract/port.js';
import { isTaken, openLease, pauseOf, type Rule, readableLock } from '../lock/document.js';
import { hasLine, lineOf } from '../lock/in-line.js';
import { regrant } from '../lock/leases.js';

/** What queued calls ask of the locks. */
export interface QueueLocks {
  /** Those of these locks that are taken or paused. Locks nothing. */
  taken(names: readonly string[]): Promise<ReadonlyMap<string, TakenLock>>;
  /** The lease goes on with a queued call, under a new fencing token, which it returns; `undefined` if the lease is over, or the lock paused. */
  regrant(lease: LeaseRef, run: RegrantedRun, limit?: number): Promise<number | undefined>;
}

/** For what a lease goes on. */
export type RegrantedRun = NextOptions['takes'][number] & {
  /** Whether a person has it run through a pause. */
  readonly through: boolean;
};

/** A lock that is taken or paused. */
export interface TakenLock {
  /** Its lease. Absent: it stays taken after one, or somebody else has it. */
  readonly lease?: Pick<LeaseRef, 'token' | 'fencingToken'> | undefined;
  /** Whether it is paused: then only calls that go through the pause are taken. */
  readonly paused?: boolean;
  /** The place of the first call in line that only waits. */
  readonly waiting?: number | undefined;
  /** The place of the first one that runs queued calls. */
  readonly draining?: number | undefined;
}

/** The locks of documents, and their lines. @param decide does to a lock what a rule decides */
export const documentLocks = (
  documents: Pick<LockDocuments, 'read'>,
  lines: Lines,
  decide: <T>(name: string, rule: Rule<T>, limit?: number) => Promise<T>,
): QueueLocks => ({
  async taken(names) {
    const { now, documents: found } = await documents.read(names);
    const locks = found.map((each) => ({ name: each.name, lock: readableLock(each) }));
    const all = locks.filter(({ lock }) => isTaken(lock, now) || pauseOf(lock, now) !== undefined);
    const taken = all.map(async ({ name, lock }): Promise<[string, TakenLock]> => {
      // Most locks have no line, and cost no read of it.
      const { standing } = lineOf(lock, hasLine(lock, now) ? await lines.shown(name) : []);
      const waiting = standing.find(({ drains }) => drains !== true)?.place;
      const draining = standing.find(({ drains }) => drains === true)?.place;
      const paused = pauseOf(lock, now) !== undefined;
      return [name, { waiting, draining, paused, lease: isTaken(lock, now) ? openLease(lock) : undefined }];
    });
    return new Map(await Promise.all(taken));
  },
  regrant: (lease, run, limit) =>
    decide(lease.name, (document, now) => regrant(document, now, lease, run), limit),
});
