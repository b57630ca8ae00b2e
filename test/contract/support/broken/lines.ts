import type {
  AcquireRefusal,
  AcquireRequest,
  ReleaseOptions,
  ReleaseResult,
} from '../../../../lib/contract/lock-store.js';
import type { LeaseRef, WaitRequest } from '../../../../lib/contract/lease-ref.js';
import { ReferenceStore, type Standing } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';

class TellsNoPlace extends ReferenceStore {
  protected override inLine(_request: AcquireRequest, refusal: AcquireRefusal): AcquireRefusal {
    return refusal;
  }
}

/** Stays reserved for whoever came first, even when that has the lock. */
class RemembersWhoCame extends ReferenceStore {
  protected override leave(name: string, token: string): void {
    if (!this.locks.has(this.key(name))) this.called.delete(name);
    else super.leave(name, token);
  }
}

class LastInFirstOut extends ReferenceStore {
  #places = 0;

  protected override placeOf({ place, priority }: WaitRequest): number {
    return place ?? --this.#places - priority * 1_000_000;
  }
}

class LetsAnybodyCome extends ReferenceStore {
  protected override mayCome(): boolean {
    return true;
  }
}

/** Hands over at a release, but not when a lease has run out. */
class ForgetsTheLineOfTheDead extends ReferenceStore {
  protected override call(name: string, asks?: string): Standing | undefined {
    return this.called.has(name) || this.states.get(this.key(name))?.ended === true
      ? super.call(name, asks)
      : undefined;
  }
}

/** Calls also those whose wait is over. */
class CallsTheDead extends ReferenceStore {
  protected override mayBeCalled({ wait }: Standing): boolean {
    return !this.missed.has(wait.process);
  }
}

/** Takes a late release for the end of the turn of the first in line. */
class PassesOverAfterLateReleases extends ReferenceStore {
  override async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const result = await super.release(lease, options);
    const [first] = this.lines.get(lease.name) ?? [];
    if (!result.released && result.reason === 'expired' && first !== undefined) this.pass(lease.name, first);
    return result;
  }
}

class CallsAfterLateReleases extends ReferenceStore {
  override async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const result = await super.release(lease, options);
    if (!result.released && result.reason === 'expired') this.call(lease.name);
    return result;
  }
}

class NewPlaceForEachAsk extends ReferenceStore {
  protected override enter(request: AcquireRequest, wait: WaitRequest): void {
    super.leave(request.name, request.token);
    super.enter(request, wait);
  }
}

class IgnoresPlaces extends ReferenceStore {
  protected override placeOf({ place: _place, ...wait }: WaitRequest): number {
    return super.placeOf(wait);
  }
}

class LetsOldGrantsRunOut extends ReferenceStore {
  protected override liveOn(): void {}
}

class ShortensOldGrants extends ReferenceStore {
  protected override liveOn({ name, ttl }: AcquireRequest): void {
    const lock = this.lock(name);
    if (lock !== undefined) lock.freeAt = this.now() + ttl;
  }
}

class TellsEverybody extends ReferenceStore {
  protected override tell({ wait, token }: Standing): void {
    const all = [...this.lines.values()].flat().filter((one) => one.wait.process === wait.process);
    for (const one of all) this.listeners.get(wait.process)?.(one.token);
    if (all.length === 0) this.listeners.get(wait.process)?.(token);
  }
}

class HandsOverWhatIsKept extends ReferenceStore {
  protected override free(lease: Parameters<ReferenceStore['release']>[0]): void {
    super.free(lease, {});
  }
}

class KeepsTheAbandoned extends ReferenceStore {
  protected override leave(name: string, token: string): void {
    if (this.called.has(name)) super.leave(name, token);
  }
}

class WaitsForTheAbandoned extends ReferenceStore {
  #isReleasing = false;

  override async release(...args: Parameters<ReferenceStore['release']>): Promise<ReleaseResult> {
    this.#isReleasing = true;
    const result = super.release(...args);
    this.#isReleasing = false;
    return result;
  }

  protected override leave(name: string, token: string): void {
    const called = this.called.get(name);
    super.leave(name, token);
    if (this.#isReleasing && called !== undefined) this.called.set(name, called);
  }
}

class OnlyTakesTheAbandonedOutOfLine extends ReferenceStore {
  override async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    if (lease.wait === undefined) return super.release(lease, options);
    this.leave(lease.name, lease.token);
    return { released: false, reason: 'expired' };
  }
}

class PassesOverCallsNotProcesses extends ReferenceStore {
  protected override pass(name: string, one: Standing): void {
    this.leave(name, one.token);
  }
}

class ForgetsWhoCameLate extends ReferenceStore {
  protected override enter(request: AcquireRequest, wait: WaitRequest): void {
    const { place: _place, ...rest } = wait;
    super.enter(request, this.wasLate ? rest : wait);
  }

  wasLate = false;

  protected override pass(name: string, one: Standing): void {
    this.wasLate = true;
    super.pass(name, one);
  }
}

class WaitsForWhoHasGivenUp extends ReferenceStore {
  protected override mayBeCalled({ wait }: Standing): boolean {
    return !this.missed.has(wait.process);
  }

  protected override pass(): void {}
}

class LooksAtTicksOfFreeLocksOnly extends ReferenceStore {
  override async acquire(request: AcquireRequest) {
    if (request.wait === undefined || this.lock(request.name) === undefined) return super.acquire(request);
    const { tick: _tick, ...rest } = request;
    return super.acquire(rest);
  }
}

class GrantsAtOnceAfterALoss extends ReferenceStore {
  protected override isTooEarly(): boolean {
    return false;
  }
}

export const brokenLines: readonly BrokenStore[] = [
  broken(
    'an acquire that waits learns how many calls stand before it in line',
    "0 should stand before it, but the answer is {'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000}",
    TellsNoPlace,
  ),
  broken(
    'a free lock for which nobody waits is granted to an acquire that waits',
    "after its release: the lock should be free, but an attempt got {'acquired':false,'reason':'held'}",
    RemembersWhoCame,
  ),
  broken(
    'the line is by priority, then in the order in which they came, with greater fencing tokens each time',
    'the order should be 1,3,0,4,2, but is 3,1,4,0,2',
    LastInFirstOut,
  ),
  broken(
    'after a release nobody overtakes the first in line, whether it waits or not',
    "an attempt that does not wait should be refused as held, but got {'acquired':true,'fencingToken':1767225600000001}",
    LetsAnybodyCome,
  ),
  broken(
    'nobody overtakes the first in line after a lease has run out',
    "an attempt that does not wait should be refused as held, but got {'acquired':true,'fencingToken':1767225600060000}",
    ForgetsTheLineOfTheDead,
  ),
  broken(
    'a call that has not come back, and whose wait is over, keeps nobody from a free lock',
    "an attempt, when the only call in line is dead, should be granted, but got {'acquired':false,'reason':'held'}",
    CallsTheDead,
  ),
  broken(
    'nobody overtakes the first in line after the late release of a lease that has run out',
    "an attempt that does not wait should be refused as held, but got {'acquired':true,'fencingToken':1767225600060000}",
    PassesOverAfterLateReleases,
  ),
  broken(
    'a call that asks again keeps its place',
    "the first in line should be granted, but got {'acquired':false,'reason':'held','waiting':{'place':7,'ahead':1}}",
    NewPlaceForEachAsk,
  ),
  broken(
    'a call that the store no longer knows enters at the place that it had',
    "the second in line should be refused as held, but got {'acquired':true,'fencingToken':1767225600000001}",
    IgnoresPlaces,
  ),
  broken(
    'a grant that is asked for again lives for its whole ttl from then on',
    'after it asked again: expiresIn should be within (1800000, 3600000] ms, but is 360000',
    LetsOldGrantsRunOut,
  ),
  broken(
    'to ask again for a grant that lives for longer does not shorten it',
    "after it asked again: the lock should be taken, but an attempt was granted ({'acquired':true,'fencingToken':1767225600030000})",
    ShortensOldGrants,
  ),
  broken(
    'a release gives the process of the first in line a hint',
    'a hint should come for the first in line, and for nobody else',
    TellsEverybody,
  ),
  broken(
    'a lock that stays taken after its release is granted to no call in line',
    "an attempt of the first in line should answer {'acquired':false,'reason':'cooling-down'}, but answered {'acquired':true,'fencingToken':1767225600000001}",
    HandsOverWhatIsKept,
  ),
  broken(
    'the late release of a lease that has run out calls nobody',
    "one of greater priority that comes before anybody was called should be granted, but got {'acquired':false,'reason':'held','waiting':{'place':-999998,'ahead':0}}",
    CallsAfterLateReleases,
  ),
  broken(
    'a call that is abandoned is not in line any more',
    "the second in line should be granted, but got {'acquired':false,'reason':'held','waiting':{'place':2,'ahead':1}}",
    KeepsTheAbandoned,
  ),
  broken(
    'if the call that is called is abandoned, the next one is called',
    "the second in line should be granted, but got {'acquired':false,'reason':'held','waiting':{'place':2,'ahead':0}}",
    WaitsForTheAbandoned,
  ),
  broken(
    'if the lease that was granted is abandoned, the next call is called',
    "the second in line should be granted, but got {'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000,'waiting':{'place':2,'ahead':0}}",
    OnlyTakesTheAbandonedOutOfLine,
  ),
  broken(
    'a dead process costs the others one turn, however many of its calls stand in line',
    "the first in line of a process that asks should be granted, but got {'acquired':false,'reason':'held','waiting':{'place':6,'ahead':4}}",
    PassesOverCallsNotProcesses,
  ),
  broken(
    'a call that did not come in time has its place again when it asks',
    "the second in line should be refused as held, but got {'acquired':true,'fencingToken':1767225602100001}",
    ForgetsWhoCameLate,
  ),
  broken(
    'calls whose limit has passed are passed over, and the lock is free for all if no call is left',
    'the lock should be free by now',
    WaitsForWhoHasGivenUp,
  ),
  broken(
    'a call that waits with a tick is refused at once if the tick was started',
    "an attempt with the same tick should answer {'acquired':false,'reason':'already-ran'}, but answered {'tick':1000,'finished':false,'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000,'waiting':{'place':1,'ahead':0}}",
    LooksAtTicksOfFreeLocksOnly,
  ),
  broken(
    'a store that has lost everything grants the lock to nobody in line before its holder can have restored it',
    "one that knows of a lease should be refused as held, but got {'acquired':true,'fencingToken':1767225600000000}",
    GrantsAtOnceAfterALoss,
  ),
];
