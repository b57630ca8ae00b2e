import type { ExtendResult, ReleaseOptions, ReleaseResult } from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { ReferenceStore, type StateEntry } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';
import { RecordsKnownEndsOnly, TrustsFormerHolders } from './ownership.js';

class NeverRestores extends ReferenceStore {
  protected override mayRestore(): boolean {
    return false;
  }
}

class RestoresFromSideDataOnly extends ReferenceStore {
  protected override mayRestore(lease: LeaseRef, state: StateEntry | undefined): boolean {
    return state?.token === lease.token;
  }
}

class LeavesSideDataEvicted extends ReferenceStore {
  protected override extendOne(lease: LeaseRef): ExtendResult {
    const evicted = this.lock(lease.name) !== undefined && !this.states.has(lease.name);
    const result = super.extendOne(lease);
    if (evicted) this.states.delete(lease.name);
    return result;
  }
}

/** Takes the side data of any lease of its token for its own. */
class RestoresWhatItsTokenNames extends ReferenceStore {
  protected override isPast(): boolean {
    return false;
  }
}

/** Takes the lock of its token for its own. */
class RestoresOverOtherTokensOnly extends ReferenceStore {
  protected override isBehind(lease: LeaseRef, state: StateEntry | undefined): boolean {
    return state?.token !== lease.token && super.isBehind(lease, state);
  }
}

class IgnoresTheLeasesFencingToken extends ReferenceStore {
  protected override restoreState(lease: LeaseRef, state: StateEntry | undefined): void {
    super.restoreState({ ...lease, fencingToken: this.nextFence(state) }, state);
  }
}

class RestoresAfterOthersHaveEnded extends ReferenceStore {
  protected override mayRestore(lease: LeaseRef, state: StateEntry | undefined): boolean {
    return super.mayRestore(lease, state) || state?.ended === true;
  }
}

/** Takes an older lease for a newer one. */
class RestoresOverNothing extends ReferenceStore {
  protected override isBehind(_lease: LeaseRef, state: StateEntry | undefined): boolean {
    return state === undefined;
  }
}

/** Takes whatever has the lock for a newer lease. */
class RestoresFreeLocksOnly extends ReferenceStore {
  protected override isOutlived(): boolean {
    return false;
  }
}

/** Restores over an older lease that has the lock, and knows no end there. */
class ReleasesOwnLocksOnly extends ReferenceStore {
  override async release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    const lock = this.lock(lease.name);
    if (lock !== undefined && !this.owns(lease, lock)) return { released: false, reason: 'taken' };
    return super.release(lease, options);
  }
}

class RestoresNoTicks extends ReferenceStore {
  protected override restoreStart(): void {}
}

class RestoresEveryTick extends ReferenceStore {
  protected override restoreStart(lease: LeaseRef, tick: number): void {
    this.starts.delete(this.startKey(lease));
    super.restoreStart(lease, tick);
  }
}

class RecordsEndsOfTheNewestOnly extends ReferenceStore {
  protected override recordEnd(
    lease: LeaseRef,
    state: StateEntry | undefined,
    options: ReleaseOptions,
  ): void {
    if (state === undefined || state.token === lease.token) super.recordEnd(lease, state, options);
  }
}

class RestoresWhateverIsAbsent extends ReferenceStore {
  protected override mayRestore(): boolean {
    return true;
  }
}

/** Looks for the end of a lease only where its lock is. */
class ForgetsEndsWithTheLock extends ReferenceStore {
  protected override hasEnded(lease: LeaseRef, state: StateEntry | undefined): boolean {
    return this.lock(lease.name) !== undefined && super.hasEnded(lease, state);
  }
}

class RecordsEndsOfHeldLocksOnly extends ReferenceStore {
  override async release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    if (this.lock(lease.name) === undefined) return { released: false, reason: 'expired' };
    return super.release(lease, options);
  }
}

class ReleasesBySideData extends ReferenceStore {
  override async release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    if (!this.states.has(lease.name)) return { released: false, reason: 'expired' };
    return super.release(lease, options);
  }
}

/** Records the end of an evicted lease, but not whose it was. */
class RecordsEndsWithoutHolder extends ReferenceStore {
  protected override recordEnd(
    lease: LeaseRef,
    state: StateEntry | undefined,
    options: ReleaseOptions,
  ): void {
    super.recordEnd({ ...lease, holder: state?.holder ?? '' }, state, options);
  }
}

export const brokenRestore: readonly BrokenStore[] = [
  broken(
    'extend restores a lease whose lock was forgotten',
    "extend of a forgotten lease should answer {'held':true,'restored':true}, but answered {'held':false,'reason':'expired'}",
    NeverRestores,
  ),
  broken(
    'extend restores a lease after the store lost all data',
    "extend of a forgotten lease should answer {'held':true,'restored':true}, but answered {'held':false,'reason':'expired'}",
    RestoresFromSideDataOnly,
  ),
  broken(
    'extend writes side data back that was evicted while the lock was held',
    "after the renewal: an attempt should answer {'reason':'held','holder':'<holder>'}, but answered {'acquired':false,'reason':'held','expiresIn':3600000}",
    LeavesSideDataEvicted,
  ),
  broken(
    'a forgotten lease is not restored where the side data names a newer one of its token',
    "extend of the older lease should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    RestoresWhatItsTokenNames,
  ),
  broken(
    'extend restores a lease where an older one of its token still has the lock',
    "extend over an older one of its token should answer {'held':true,'restored':true}, but answered {'held':true}",
    RestoresOverOtherTokensOnly,
  ),
  broken(
    "a restored lease brings the lease's own fencing token back where that is the greater one",
    'the fencing token should be the greater one, 1768225600000000, but the store has 1767225600000000',
    IgnoresTheLeasesFencingToken,
  ),
  broken(
    'extend restores a lease where the side data names only an older one, whether that has ended or not',
    "extend after an older one was released should answer {'held':true,'restored':true}, but answered {'held':false,'reason':'expired'}",
    RestoresOverNothing,
  ),
  broken(
    'extend restores a lease, with its tick, where an older one still has the lock',
    "extend over an older one that is live should answer {'held':true,'restored':true}, but answered {'held':false,'reason':'taken','holder':'<holder>'}",
    RestoresFreeLocksOnly,
  ),
  broken(
    'a lease that was released where an older one still has the lock frees it, and is not restored',
    "release where an older one is live should answer {'released':false,'reason':'expired'}, but answered {'released':false,'reason':'taken'}",
    ReleasesOwnLocksOnly,
  ),
  broken(
    'a lease that is restored over an older one brings its tick back, which is not run again',
    "an attempt for the tick of the restored lease should answer {'acquired':false,'reason':'already-ran','tick':1760000000001,'finished':true}, but answered {'acquired':true,'fencingToken':1767225600000002,'attempt':1}",
    RestoresNoTicks,
  ),
  broken(
    'a lease that is restored over an older one does not bring its tick back where a newer one is known',
    "an attempt for the newer tick should answer {'acquired':false,'reason':'already-ran','tick':1760000000001,'finished':true}, but answered {'acquired':true,'fencingToken':1767225600000002,'attempt':1}",
    RestoresEveryTick,
  ),
  broken(
    'a lease that was released where the side data names only an older one is not restored',
    "extend after it should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    RecordsEndsOfTheNewestOnly,
  ),
  broken(
    'a forgotten lease is not restored while somebody else has the lock',
    "extend of a lease since taken over should answer {'held':false,'reason':'taken','holder':'<holder>'}, but answered {'held':true}",
    TrustsFormerHolders,
  ),
  broken(
    'a forgotten lease is not restored once somebody else has had the lock',
    "extend after somebody else had the lock should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    RestoresAfterOthersHaveEnded,
  ),
  broken(
    'a forgotten lease is not restored where the side data names a newer one',
    "extend of the older lease should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    RestoresWhateverIsAbsent,
  ),
  broken(
    'a lease that was released is not restored, whatever was forgotten of its lock',
    "extend of a released lease should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    ForgetsEndsWithTheLock,
  ),
  broken(
    'a lease that was released after its lock was forgotten is not restored',
    "extend after it should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    RecordsEndsOfHeldLocksOnly,
  ),
  broken(
    'a lease that was released after the store lost all data is not restored',
    "extend after it should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    RecordsKnownEndsOnly,
  ),
  broken(
    'a lease whose side data was evicted can be released, and stays ended',
    "release after the eviction should answer {'released':true}, but answered {'released':false,'reason':'expired'}",
    ReleasesBySideData,
  ),
  broken(
    'a lease whose side data was evicted can be released with keepFor, and is still known as its holder',
    "an attempt while it is kept should answer {'reason':'cooling-down','holder':'<holder>'}, but answered {'acquired':false,'reason':'cooling-down','holder':'','expiresIn':3600000}",
    RecordsEndsWithoutHolder,
  ),
  {
    caught: 'a durable store does not extend a lease that ran out, though nobody took its lock',
    message:
      "extend of a lease that ran out should answer {'held':false,'reason':'expired'}, but answered {'held':true,'restored':true}",
    durable: true,
    make: (clock) => new ReferenceStore(clock),
  },
];
