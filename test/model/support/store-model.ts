import { v4 as uuid } from 'uuid';
import type { AcquireResult, ExtendResult, LeaseRef, ReleaseResult } from '../../../lib/index.js';

const HOUR = 3_600_000;

/** What a store keeps beside a lock: the newest lease, as far as the store remembers. */
interface Record {
  readonly lease: LeaseRef;
  ended: boolean;
}

interface ModelLock {
  /** Who has the lock; also a lease that ended, while its lock is kept. */
  owner: LeaseRef | undefined;
  /** Its lease has ended, though the lock is kept: known even where the record was evicted. */
  kept: boolean;
  record: Record | undefined;
  /** The greatest fencing token that was ever granted. */
  fence: number;
}

/**
 * The simplest model of a store. It knows no time: `expire` says when time has passed. And it draws no fencing
 * tokens: it says which one an answer must have, or only that it must be greater than every one before.
 */
export class StoreModel {
  /** Every lease that was ever asked for, granted or not; with the newest fencing token that it was granted. */
  readonly leases: LeaseRef[] = [];
  readonly #locks = new Map<string, ModelLock>();

  /** @param durable the store loses nothing, so it restores nothing, and need not note the end of what it never knew */
  constructor(private readonly durable = false) {}

  /** The lease that a command is about: one of those that were made, whatever has become of it. */
  lease(pick: number): LeaseRef {
    const lease = this.leases[pick % Math.max(1, this.leases.length)];
    if (lease === undefined) throw new Error('No lease was made yet');
    return lease;
  }

  newLease(name: string): LeaseRef {
    const lease = {
      name,
      token: uuid(),
      fencingToken: 0,
      ttl: HOUR,
      holder: `instance-${this.leases.length}`,
    };
    this.leases.push(lease);
    return lease;
  }

  lock(name: string): ModelLock {
    let lock = this.#locks.get(name);
    if (lock === undefined)
      this.#locks.set(name, (lock = { owner: undefined, kept: false, record: undefined, fence: 0 }));
    return lock;
  }

  isFree(name: string): boolean {
    return this.lock(name).owner === undefined;
  }

  /** Checks the answer to an attempt, and notes it. */
  acquired(lease: LeaseRef, answer: AcquireResult): string | undefined {
    const lock = this.lock(lease.name);
    const { owner, record } = lock;
    const recorded = same(record?.lease, owner);
    const ours = same(owner, lease) && !lock.kept;
    if (owner !== undefined && (!ours || (recorded && record?.ended))) {
      if (answer.acquired) return `refused: ${owner.holder} has the lock`;
      const reason = recorded && record?.ended ? 'cooling-down' : 'held';
      if (answer.reason !== reason) return `refused as ${reason}`;
      if (answer.holder !== (recorded ? owner.holder : undefined))
        return `refused because of ${owner.holder}`;
      return undefined;
    }
    if (!answer.acquired) return 'granted: the lock is free, or its own';
    const { fencingToken } = answer;
    if (ours && recorded) {
      return fencingToken === record?.lease.fencingToken
        ? undefined
        : `granted with ${record?.lease.fencingToken}, as before`;
    }
    if (fencingToken <= lock.fence) return `granted with a fencing token above ${lock.fence}`;
    const granted = this.#regrant(lease, fencingToken);
    const fresh = { lease: granted, ended: false };
    Object.assign(lock, { owner: granted, kept: false, record: fresh, fence: fencingToken });
    return undefined;
  }

  extended(lease: LeaseRef, answer: ExtendResult): string | undefined {
    const lock = this.lock(lease.name);
    const { owner, record } = lock;
    if (owner !== undefined && !same(owner, lease)) {
      const holder = same(record?.lease, owner) ? owner.holder : undefined;
      const right = answer.held === false && answer.reason === 'taken' && answer.holder === holder;
      return right ? undefined : `taken by ${String(holder)}`;
    }
    const ended = lock.kept || (same(record?.lease, lease) && record?.ended === true);
    const forgotten = owner === undefined && !this.durable;
    if (
      ended ||
      (owner === undefined && (!forgotten || (record !== undefined && !same(record.lease, lease))))
    ) {
      return answer.held === false && answer.reason === 'expired' ? undefined : 'expired';
    }
    if (answer.held !== true || (answer.restored === true) !== (owner === undefined))
      return owner === undefined ? 'held and restored' : 'held';
    if (owner === undefined || record === undefined) {
      const fence = Math.max(record?.lease.fencingToken ?? 0, lease.fencingToken);
      const restored = this.#regrant(lease, fence);
      Object.assign(lock, { owner: restored, kept: false, record: { lease: restored, ended: false } });
    }
    return undefined;
  }

  released(lease: LeaseRef, keep: boolean, answer: ReleaseResult): string | undefined {
    const lock = this.lock(lease.name);
    const { owner, record } = lock;
    const newest = same(record?.lease, lease);
    if (newest && record?.ended) return says(answer, 'ended');
    const ours = same(owner, lease) && !lock.kept;
    const wrong = says(answer, ours ? 'released' : owner === undefined ? 'expired' : 'taken');
    if (wrong !== undefined) return wrong;
    if (ours && keep) lock.kept = true;
    else if (ours) lock.owner = undefined;
    // The end of an acquire that nobody saw granted could hide a live lease that was forgotten.
    const known = ours || (owner === undefined && lease.fencingToken !== 0);
    if (newest || (record === undefined && known && !this.durable)) lock.record = { lease, ended: true };
    return undefined;
  }

  /** Time has passed, or the store has lost the lock: it cannot be told apart. */
  expire(name: string): void {
    Object.assign(this.lock(name), { owner: undefined, kept: false });
  }

  evict(name: string): void {
    this.lock(name).record = undefined;
  }

  get names(): string[] {
    return [...this.#locks.keys()];
  }

  #regrant(lease: LeaseRef, fencingToken: number): LeaseRef {
    const granted = { ...lease, fencingToken };
    this.leases[this.leases.findIndex((each) => same(each, lease))] = granted;
    return granted;
  }
}

function same(a: LeaseRef | undefined, b: LeaseRef | undefined): boolean {
  return a !== undefined && a.token === b?.token;
}

function says(
  answer: ReleaseResult,
  expected: 'released' | 'ended' | 'expired' | 'taken',
): string | undefined {
  return (answer.released ? 'released' : answer.reason) === expected ? undefined : expected;
}
