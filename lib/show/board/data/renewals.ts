import type { LockFacts } from '../../../insight/join.js';

/** A lease, when it was looked at last. */
interface LeaseLook {
  /** By the store's clock. */
  readonly at: number;
  readonly expiresAt: number;
  /** The time of the last look before it was renewed. Absent: nobody has seen that. */
  readonly renewedSince?: number;
}

/** Less than this may come from the store's reading its clock twice, ms. */
const UNSURE = 100;

/** Names a lease: leases of two locks may have the same fencing token. */
export const keyOfLease = (lock: string, fencingToken: number): string =>
  JSON.stringify([lock, fencingToken]);

/** Which leases are renewed. One look cannot tell: a lease of an hour has an hour left without that. Two looks can. */
export class Renewals {
  /** By {@link keyOfLease}. */
  #seen = new Map<string, LeaseLook>();

  /** Looks at all locks. @returns by {@link keyOfLease}: a time since which the lease was renewed, by the store's clock */
  see(locks: ReadonlyMap<string, LockFacts>): ReadonlyMap<string, number> {
    const seen = new Map<string, LeaseLook>();
    const renewed = new Map<string, number>();
    for (const { lock } of locks.values()) {
      if (lock?.fencingToken === undefined || lock.expiresIn === undefined || lock.state !== 'held') continue;
      const key = keyOfLease(lock.name, lock.fencingToken);
      const before = this.#seen.get(key);
      const expiresAt = lock.time + lock.expiresIn;
      const isLater = before !== undefined && expiresAt > before.expiresAt + UNSURE;
      const renewedSince = isLater ? before.at : before?.renewedSince;
      if (renewedSince !== undefined) renewed.set(key, renewedSince);
      seen.set(key, {
        at: lock.time,
        expiresAt,
        ...(renewedSince !== undefined && { renewedSince }),
      });
    }
    this.#seen = seen;
    return renewed;
  }
}
