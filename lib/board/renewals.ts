import type { LockFacts } from '../insight/join.js';

/** A lease, when it was looked at last. */
interface Seen {
  /** By the store's clock. */
  readonly at: number;
  readonly expiresAt: number;
  /** The time of the last look before it was renewed. Absent: nobody has seen that. */
  readonly renewedSince?: number;
}

/** Less than this may come from the store's reading its clock twice, ms. */
const UNSURE = 100;

/** Which leases are renewed. One look cannot tell: a lease of an hour has an hour left without that. Two looks can. */
export class Renewals {
  #seen = new Map<number, Seen>();

  /** Looks at all locks. @returns by fencing token: a time since which the lease was renewed, by the store's clock */
  see(locks: ReadonlyMap<string, LockFacts>): ReadonlyMap<number, number> {
    const seen = new Map<number, Seen>();
    const renewed = new Map<number, number>();
    for (const { lock } of locks.values()) {
      if (lock?.fencingToken === undefined || lock.expiresIn === undefined || lock.state !== 'held') continue;
      const before = this.#seen.get(lock.fencingToken);
      const expiresAt = lock.time + lock.expiresIn;
      const isLater = before !== undefined && expiresAt > before.expiresAt + UNSURE;
      const renewedSince = isLater ? before.at : before?.renewedSince;
      if (renewedSince !== undefined) renewed.set(lock.fencingToken, renewedSince);
      seen.set(lock.fencingToken, {
        at: lock.time,
        expiresAt,
        ...(renewedSince !== undefined && { renewedSince }),
      });
    }
    this.#seen = seen;
    return renewed;
  }
}
