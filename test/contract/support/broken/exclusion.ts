import type { AcquireRequest, AcquireResult, ExtendResult } from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { type LockEntry, ReferenceStore, type StateEntry } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';

/** Looks whether the lock is free, and takes it one moment later. */
class LooksThenTakes extends ReferenceStore {
  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    if (this.lock(request.name) !== undefined) return super.acquire(request);
    await Promise.resolve();
    return { acquired: true, fencingToken: this.grant(request, this.states.get(request.name)) };
  }
}

/** Takes a free lock at once, but cleans an expired one up first. */
class CleansUpThenTakes extends LooksThenTakes {
  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    return this.locks.has(request.name)
      ? super.acquire(request)
      : ReferenceStore.prototype.acquire.call(this, request);
  }
}

class TellsSeconds extends ReferenceStore {
  protected override refuse(lock: LockEntry, state: StateEntry | undefined, request: AcquireRequest) {
    const refusal = super.refuse(lock, state, request);
    return { ...refusal, expiresIn: Math.ceil((lock.freeAt - this.now()) / 1_000) };
  }
}

class KnowsHoldersOnly extends ReferenceStore {
  protected override isRepeated(
    request: AcquireRequest,
    _lock: LockEntry,
    state: StateEntry | undefined,
  ): boolean {
    return state?.holder === request.holder;
  }
}

class RefusesItsOwnHolder extends ReferenceStore {
  protected override isRepeated(): boolean {
    return false;
  }
}

class DrawsATokenPerRenewal extends ReferenceStore {
  protected override extendOne(lease: LeaseRef): ExtendResult {
    const result = super.extendOne(lease);
    const state = this.states.get(lease.name);
    if (state !== undefined) state.fence += 1;
    return result;
  }
}

class GrantsRepeatsAnew extends ReferenceStore {
  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const state = this.states.get(request.name);
    if (state?.token !== request.token) return super.acquire(request);
    return { acquired: true, fencingToken: this.grant(request, state) };
  }
}

class TakesEndedForRepeated extends ReferenceStore {
  protected override isRepeated(request: AcquireRequest, lock: LockEntry): boolean {
    return lock.token === request.token;
  }
}

class AnswersFromSideData extends ReferenceStore {
  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const state = this.states.get(request.name);
    if (state?.token === request.token) return { acquired: true, fencingToken: state.fence };
    return super.acquire(request);
  }
}

class RemembersEveryGrant extends ReferenceStore {
  readonly #grants = new Map<string, AcquireResult>();

  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const result = this.#grants.get(request.token) ?? (await super.acquire(request));
    if (result.acquired) this.#grants.set(request.token, result);
    return result;
  }
}

class LetsRefusedAttemptsProlong extends ReferenceStore {
  protected override refuse(lock: LockEntry, state: StateEntry | undefined, request: AcquireRequest) {
    lock.freeAt = Math.max(lock.freeAt, this.now() + request.ttl);
    return super.refuse(lock, state, request);
  }
}

export const brokenExclusion: readonly BrokenStore[] = [
  broken(
    'of many concurrent acquires of a free lock exactly one wins',
    'one of 40 attempts should win, but 40 did',
    LooksThenTakes,
  ),
  broken(
    'of many concurrent acquires of an expired lock exactly one wins',
    'one of 40 attempts should win, but 40 did',
    CleansUpThenTakes,
  ),
  broken(
    'a refusal says that the lock is held, by whom, and for how long at most',
    'during a lease: expiresIn should be within (1800000, 3600000] ms, but is 3600',
    TellsSeconds,
  ),
  broken(
    'holders with the same name are distinguished by their tokens',
    "an attempt of the same instance: the lock should be taken, but an attempt was granted ({'acquired':true,'fencingToken':1767225600000001})",
    KnowsHoldersOnly,
  ),
  broken(
    'an acquire repeated by the holder is answered with the grant that was recorded',
    "the repeated acquire should answer {'acquired':true,'fencingToken':1767225600000000}, but answered {'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000}",
    RefusesItsOwnHolder,
  ),
  broken(
    'a repeated acquire is answered the same after the lease was renewed',
    "the acquire after it should answer {'acquired':true,'fencingToken':1767225600000000}, but answered {'acquired':true,'fencingToken':1767225600000001}",
    DrawsATokenPerRenewal,
  ),
  broken(
    'concurrent acquires with one token are one lease',
    'all should be answered with one fencing token, but there were 40 of them',
    GrantsRepeatsAnew,
  ),
  broken(
    'the token of an ended lease does not pass while its lock is kept',
    "acquire with the token of an ended lease should answer {'acquired':false,'reason':'cooling-down'}, but answered {'acquired':true,'fencingToken':1767225600000000}",
    TakesEndedForRepeated,
  ),
  broken(
    'the token of an ended lease is not answered with the old grant once the lock is free',
    "a new grant should have a fencing token above 1767225600000000, but the answer was {'acquired':true,'fencingToken':1767225600000000}",
    AnswersFromSideData,
  ),
  broken(
    'the token of an expired lease does not pass once somebody else has the lock',
    "acquire with the token of an expired lease should answer {'acquired':false,'reason':'held','holder':'<holder>'}, but answered {'acquired':true,'fencingToken':1767225600000000}",
    RemembersEveryGrant,
  ),
  broken(
    'a refused attempt changes nothing',
    'after refused attempts with other ttls: expiresIn should be within (1800000, 3600000] ms, but is 2591999970',
    LetsRefusedAttemptsProlong,
  ),
];
