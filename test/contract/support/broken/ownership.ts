import type {
  AcquireRequest,
  ExtendResult,
  ReleaseOptions,
  ReleaseResult,
} from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { type LockEntry, ReferenceStore, type StateEntry } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';

class RenewsNothing extends ReferenceStore {
  protected override extendOne(lease: LeaseRef): ExtendResult {
    const freeAt = this.lock(lease.name)?.freeAt;
    const result = super.extendOne(lease);
    const lock = this.lock(lease.name);
    if (lock !== undefined && freeAt !== undefined) lock.freeAt = freeAt;
    return result;
  }
}

class RenewsForAnybody extends ReferenceStore {
  protected override extendOne(lease: LeaseRef): ExtendResult {
    const lock = this.lock(lease.name);
    if (lock !== undefined) lock.freeAt = this.now() + lease.ttl;
    return super.extendOne(lease);
  }
}

/** Compares, but deletes in any case. */
class FreesForAnybody extends ReferenceStore {
  override async release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    const result = await super.release(lease, options);
    this.locks.delete(lease.name);
    return result;
  }
}

class LetsReleasedLeasesRunOut extends ReferenceStore {
  protected override free(): void {}
}

class KeepsTheLockOfFailedRuns extends ReferenceStore {
  protected override free(lease: LeaseRef, options: ReleaseOptions): void {
    if (options.outcome !== 'failed') super.free(lease, options);
  }
}

/** Once an owner, always an owner. */
export class TrustsFormerHolders extends ReferenceStore {
  readonly #granted = new Set<string>();

  protected override grant(request: AcquireRequest, state: StateEntry | undefined): number {
    this.#granted.add(request.token);
    return super.grant(request, state);
  }

  protected override owns(lease: LeaseRef, _lock: LockEntry): boolean {
    return this.#granted.has(lease.token);
  }
}

/** Takes a lease for its token alone. */
class ComparesTokensOnly extends ReferenceStore {
  protected override isPast(): boolean {
    return false;
  }
}

/** Takes a grant that was never answered for an old one. */
class KnowsAnsweredGrantsOnly extends ReferenceStore {
  protected override owns(lease: LeaseRef, lock: LockEntry): boolean {
    return lease.fencingToken > 0 && super.owns(lease, lock);
  }
}

/** Counts the ttl of each acquire from then on. */
class ShortensWhenAskedAgain extends ReferenceStore {
  protected override repeatGrant(request: AcquireRequest, state: StateEntry) {
    this.setLock(request, request.ttl, state.fence);
    return super.repeatGrant(request, state);
  }
}

/** Deletes the record of a lease together with its lock. */
class ForgetsEndedLeases extends ReferenceStore {
  protected override recordEnd({ name }: LeaseRef): void {
    this.states.delete(name);
  }
}

/** Looks who has the lock, and renews it one moment later. */
class LooksThenRenews extends ReferenceStore {
  override async extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    const results = leases.map((lease) => this.extendOne(lease));
    await Promise.resolve();
    for (const [i, lease] of leases.entries())
      if (results[i]?.held) this.setLock(lease, lease.ttl, lease.fencingToken);
    return results;
  }
}

class CallsKeptLocksHeld extends ReferenceStore {
  protected override refuse(lock: LockEntry, state: StateEntry | undefined, request: AcquireRequest) {
    return { ...super.refuse(lock, state, request), reason: 'held' as const };
  }
}

class KeepsForGood extends ReferenceStore {
  protected override free(lease: LeaseRef, options: ReleaseOptions): void {
    super.free(lease, options.keepFor === undefined ? options : { keepFor: Infinity });
  }
}

class RenewsEndedLeases extends ReferenceStore {
  protected override hasEnded(): boolean {
    return false;
  }
}

export class RecordsKnownEndsOnly extends ReferenceStore {
  protected override recordEnd(
    lease: LeaseRef,
    state: StateEntry | undefined,
    options: ReleaseOptions,
  ): void {
    if (state !== undefined) super.recordEnd(lease, state, options);
  }
}

class ForgetsAbandonedLeases extends ReferenceStore {
  protected override recordEnd(
    lease: LeaseRef,
    state: StateEntry | undefined,
    options: ReleaseOptions,
  ): void {
    if (options.outcome === 'abandoned') this.states.delete(lease.name);
    else super.recordEnd(lease, state, options);
  }
}

class CountsAbandonedTicks extends ReferenceStore {
  override async acquire(request: AcquireRequest) {
    const { tick } = this.states.get(request.name) ?? {};
    if (tick === undefined || tick !== request.tick) return super.acquire(request);
    return { acquired: false, reason: 'already-ran', tick } as const;
  }

  protected override recordEnd(
    lease: LeaseRef,
    state: StateEntry | undefined,
    options: ReleaseOptions,
  ): void {
    super.recordEnd(lease, state, { ...options, outcome: 'completed' });
  }
}

/** Bars the token of an unknown lease by taking its lock. */
class TakesTheLockOfUnknownLeases extends ReferenceStore {
  override async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const unknown = !this.states.has(this.key(lease.name));
    const result = await super.release(lease, options);
    if (unknown) {
      this.recordEnd(lease, undefined, options);
      this.setLock(lease, lease.ttl, lease.fencingToken);
    }
    return result;
  }
}

export const brokenOwnership: readonly BrokenStore[] = [
  broken(
    'extend by the owner renews the lease for its ttl from now on',
    'after a renewal for ten hours: expiresIn should be within (18000000, 36000000] ms, but is 3600000',
    RenewsNothing,
  ),
  broken(
    'extend of a lease whose token has a newer one answers who has the lock, and changes nothing',
    "extend of the older lease should answer {'held':false,'reason':'taken','holder':'<holder>'}, but answered {'held':true}",
    ComparesTokensOnly,
  ),
  broken(
    'release of a lease whose token has a newer one answers that the lock is taken, and changes nothing',
    "release of the older lease should answer {'released':false,'reason':'taken'}, but answered {'released':true}",
    ComparesTokensOnly,
  ),
  broken(
    'release of a grant that was never answered, with the fencing token 0, frees the lock of its token',
    "release of a grant that was never answered should answer {'released':true}, but answered {'released':false,'reason':'taken'}",
    KnowsAnsweredGrantsOnly,
  ),
  broken(
    'acquire again with the token of a live lease does not shorten it',
    "after an acquire for 1 ms with its token: the lock should be taken, but an attempt was granted ({'acquired':true,'fencingToken':1767225600030000})",
    ShortensWhenAskedAgain,
  ),
  broken(
    'extend by a stranger answers who has the lock, and changes nothing',
    "after renewals by a stranger: the lock should be taken, but an attempt was granted ({'acquired':true,'fencingToken':1767225600030000})",
    RenewsForAnybody,
  ),
  broken(
    'release by a stranger answers that the lock is taken, and changes nothing',
    "release by a stranger should answer {'released':false,'reason':'taken'}, but answered {'released':false,'reason':'expired'}",
    FreesForAnybody,
  ),
  broken(
    'release by the owner frees the lock at once',
    "after the release: the lock should be free, but an attempt got {'acquired':false,'reason':'cooling-down','holder':'<holder>','expiresIn':3600000}",
    LetsReleasedLeasesRunOut,
  ),
  broken(
    'every outcome of a run frees the lock alike',
    "after the release as failed: the lock should be free, but an attempt got {'acquired':false,'reason':'cooling-down','holder':'<holder>','expiresIn':3600000}",
    KeepsTheLockOfFailedRuns,
  ),
  broken(
    'extend by a holder whose lease somebody took over says so, and changes nothing',
    "extend by the stale holder should answer {'held':false,'reason':'taken','holder':'<holder>'}, but answered {'held':true}",
    TrustsFormerHolders,
  ),
  broken(
    'release by a holder whose lease somebody took over frees nothing',
    "release by the stale holder should answer {'released':false,'reason':'taken'}, but answered {'released':true}",
    TrustsFormerHolders,
  ),
  broken(
    'a lease that was released stays ended: neither extend nor release brings it back',
    "extend after release should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    ForgetsEndedLeases,
  ),
  broken(
    'of concurrent extends and a release the release wins in the end',
    "after a release in flight with extends: the lock should be free, but an attempt got {'acquired':false,'reason':'cooling-down','holder':'<holder>','expiresIn':3600000}",
    LooksThenRenews,
  ),
  broken(
    'release with keepFor keeps the lock taken that long, and says who had it',
    "an attempt while it is kept should answer {'reason':'cooling-down','holder':'<holder>'}, but answered {'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000}",
    CallsKeptLocksHeld,
  ),
  broken(
    'a lock that was kept is free when keepFor has passed',
    'after it was kept for 30 ms: the lock should be free by now, but every attempt was refused',
    KeepsForGood,
  ),
  broken(
    'a kept lock can be neither extended nor freed by the lease that ended',
    "extend of a kept lock should answer {'held':false,'reason':'expired'}, but answered {'held':true}",
    RenewsEndedLeases,
  ),
  broken(
    'release of a lease that the store never knew is recorded as its end',
    "extend after it should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    RecordsKnownEndsOnly,
  ),
  broken(
    'an abandoned lease stays ended',
    "extend after it should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    ForgetsAbandonedLeases,
  ),
  broken(
    'the tick and attempt of an abandoned lease can be taken again',
    "the tick should be as if never run, but an attempt got {'acquired':false,'reason':'already-ran','tick':1760000000000}",
    CountsAbandonedTicks,
  ),
  broken(
    'an abandon that arrives before its acquire blocks nobody, and one that follows undoes it',
    "after the second abandon: the lock should be free, but an attempt got {'acquired':false,'reason':'cooling-down','holder':'<holder>','expiresIn':3600000}",
    TakesTheLockOfUnknownLeases,
  ),
];
