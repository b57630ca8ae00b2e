import type { AcquireRequest, ReleaseOptions } from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { instanceTime, type LockEntry, ReferenceStore, type StateEntry } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';

class NeverExpires extends ReferenceStore {
  override lock(name: string): LockEntry | undefined {
    const lock = this.locks.get(name);
    return lock === 'broken' ? undefined : lock;
  }
}

class NeverShortens extends ReferenceStore {
  protected override setLock(lease: AcquireRequest, ttl: number, fence: number): void {
    const old = this.lock(lease.name)?.freeAt ?? 0;
    super.setLock(lease, Math.max(ttl, old - this.now()), fence);
  }
}

class AsksTheInstanceForTheTime extends ReferenceStore {
  override now(): number {
    return instanceTime(this);
  }
}

class CountsNanoseconds extends ReferenceStore {
  protected override nextFence(): number {
    return this.clock.now() * 1_000_000;
  }
}

class TakesTheTimeForAToken extends ReferenceStore {
  protected override nextFence(): number {
    return this.clock.now() * 1_000;
  }
}

class CountsEndedLeasesOnly extends ReferenceStore {
  protected override nextFence(state: StateEntry | undefined): number {
    return state !== undefined && !state.ended ? state.fence : super.nextFence(state);
  }
}

class TakesAbandonedTokensBack extends ReferenceStore {
  #last = 0;

  protected override nextFence(): number {
    return (this.#last += 1);
  }

  protected override recordEnd(
    lease: LeaseRef,
    state: StateEntry | undefined,
    options: ReleaseOptions,
  ): void {
    if (options.outcome === 'abandoned') this.#last -= 1;
    super.recordEnd(lease, state, options);
  }
}

class CountsFromOneForANewLock extends ReferenceStore {
  protected override grant(request: AcquireRequest, state: StateEntry | undefined): number {
    return super.grant(request, this.locks.has(request.name) ? state : undefined);
  }

  protected override nextFence(state: StateEntry | undefined): number {
    return (state?.fence ?? 0) + 1;
  }
}

/** A plain counter, which is lost with the data. */
class Counts extends ReferenceStore {
  protected override nextFence(state: StateEntry | undefined): number {
    return (state?.fence ?? 0) + 1;
  }
}

class NormalisesNames extends ReferenceStore {
  override key(name: string): string {
    return name.normalize('NFC');
  }
}

/** Deletes with a pattern. */
class FreesByPrefix extends ReferenceStore {
  protected override free(lease: LeaseRef): void {
    for (const name of this.locks.keys()) if (name.startsWith(lease.name)) this.locks.delete(name);
  }
}

class FindsFaultWithWhatItTakes extends ReferenceStore {
  nameProblem(name: string): string | undefined {
    return name.endsWith(' ') ? 'it ends with a space.' : undefined;
  }
}

class KnowsSecondsOnly extends ReferenceStore {
  protected override setLock(lease: AcquireRequest, ttl: number, fence: number): void {
    // EX 0, which some stores take for "never".
    super.setLock(lease, ttl < 1_000 ? Infinity : ttl, fence);
  }
}

/** setTimeout(…, 2 ** 31) fires at once. */
const overflow = (ms: number): number => (ms > 2 ** 31 - 1 ? 1 : ms);

class ExpiresLongLeasesAtOnce extends ReferenceStore {
  protected override setLock(lease: AcquireRequest, ttl: number, fence: number): void {
    super.setLock(lease, overflow(ttl), fence);
  }
}

class KeepsLongLocksNotAtAll extends ReferenceStore {
  protected override free(lease: LeaseRef, { keepFor = 0 }: ReleaseOptions): void {
    super.free(lease, { keepFor: overflow(keepFor) });
  }
}

class FreesByTheWallClock extends ReferenceStore {
  override now(): number {
    return this.clock.now();
  }
}

export const brokenTimeAndNames: readonly BrokenStore[] = [
  broken(
    'a lease that is not renewed is over when its ttl has passed, and not before',
    'after a lease of 30 ms: the lock should be free by now, but every attempt was refused',
    NeverExpires,
  ),
  broken(
    'a renewed lease lasts beyond its first ttl, and ends after the last one',
    'after a renewal for 30 ms: the lock should be free by now, but every attempt was refused',
    NeverShortens,
  ),
  broken(
    "expiry does not depend on the instances' clocks",
    'looked at by an instance whose clock is wrong: expiresIn should be within (1800000, 3600000] ms, but is 5187600000',
    AsksTheInstanceForTheTime,
  ),
  broken(
    'a fencing token is a safe integer above 0',
    'the fencing token should be a safe integer above 0, but is 1767225600000000000',
    CountsNanoseconds,
  ),
  broken(
    'fencing tokens grow over leases that follow each other at once',
    'the fencing token should grow with every lease, but went from 1767225600000000 to 1767225600000000',
    TakesTheTimeForAToken,
  ),
  broken(
    'fencing tokens grow after expiry',
    'the fencing token should grow after expiry, but went from 1767225600000000 to 1767225600000000',
    CountsEndedLeasesOnly,
  ),
  broken(
    'fencing tokens grow after a lease was abandoned',
    'the fencing token should grow after an abandoned lease, but went from 1 to 1',
    TakesAbandonedTokensBack,
  ),
  broken(
    'fencing tokens grow after the lock was forgotten',
    'the fencing token should grow after the lock was forgotten, but went from 1 to 1',
    CountsFromOneForANewLock,
  ),
  broken(
    'fencing tokens grow after the side data was evicted',
    'the fencing token should grow after an eviction, but went from 1 to 1',
    Counts,
  ),
  broken(
    'fencing tokens grow after the store lost all data',
    'the fencing token should grow after the loss of all data, but went from 1 to 1',
    Counts,
  ),
  broken(
    'every name is a lock of its own',
    "the name 'né' should be free, but an attempt got {'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000}",
    NormalisesNames,
  ),
  broken(
    'release of one name frees no other',
    "release of 'n:lock:state' should answer {'released':true}, but answered {'released':false,'reason':'expired'}",
    FreesByPrefix,
  ),
  broken(
    'a name has a problem exactly if an attempt rejects, where the store knows of problems',
    "nameProblem('n ') answered 'it ends with a space.', but an attempt was judged",
    FindsFaultWithWhatItTakes,
  ),
  broken(
    'a ttl may be as short as 1 ms',
    'after a lease of 1 ms: the lock should be free by now, but every attempt was refused',
    KnowsSecondsOnly,
  ),
  broken(
    'a ttl may be as long as 30 days',
    'within a lease of 30 days: expiresIn should be within (1296000000, 2592000000] ms, but is 1',
    ExpiresLongLeasesAtOnce,
  ),
  broken(
    'a lock may be kept for 1 ms to 30 days after its lease',
    'while it is kept for 30 days: expiresIn should be within (1296000000, 2592000000] ms, but is 1',
    KeepsLongLocksNotAtAll,
  ),
  broken(
    "a released lock stays free when the store's clock is set back afterwards",
    "after a release and three hours back: the lock should be free, but an attempt got {'acquired':false,'reason':'cooling-down','holder':'<holder>','expiresIn':10800000}",
    FreesByTheWallClock,
  ),
];
