import type {
  AcquireRequest,
  AcquireResult,
  ReleaseOptions,
  ReleaseResult,
} from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { ReferenceStore, type StartEntry, type StartRefusal, type StateEntry } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';

class RefusesTheSameTickOnly extends ReferenceStore {
  protected override refuseStart(
    request: AcquireRequest,
    last: StartEntry | undefined,
  ): StartRefusal | undefined {
    return last?.tick === request.tick ? super.refuseStart(request, last) : undefined;
  }
}

class CountsFinishedTicksOnly extends ReferenceStore {
  protected override refuseStart(
    request: AcquireRequest,
    last: StartEntry | undefined,
  ): StartRefusal | undefined {
    return last?.outcome === undefined ? undefined : super.refuseStart(request, last);
  }
}

class OneTickPerLock extends ReferenceStore {
  override startKey({ name }: AcquireRequest): string {
    return name;
  }
}

class ForgetsTicksOfOtherCalls extends ReferenceStore {
  protected override noteStart(
    request: AcquireRequest,
    before: StartEntry | undefined,
  ): StartEntry | undefined {
    this.starts.delete(this.startKey(request));
    return super.noteStart(request, before);
  }
}

class EndsWhateverStartedLast extends ReferenceStore {
  protected override noteEnd(lease: LeaseRef, outcome: string): void {
    for (const [key, start] of this.starts)
      if ((JSON.parse(key) as string[])[0] === lease.name) this.starts.set(key, { ...start, outcome });
  }
}

class EndsNoTickWithoutAJob extends ReferenceStore {
  protected override noteEnd(lease: LeaseRef, outcome: string, retryIn?: number): void {
    if (lease.job !== undefined) super.noteEnd(lease, outcome, retryIn);
  }
}

class BelievesEveryTick extends ReferenceStore {
  protected override refuseStart(
    request: AcquireRequest,
    last: StartEntry | undefined,
  ): StartRefusal | undefined {
    return super.refuseStart({ ...request, maxClockSkew: Infinity }, last);
  }
}

class RepeatsOnceTooOften extends ReferenceStore {
  protected override isRerun(request: AcquireRequest, last: StartEntry | undefined): boolean {
    const { rerun = 0 } = request;
    return super.isRerun(rerun === 0 ? request : { ...request, rerun: rerun + 1 }, last);
  }
}

class RepeatsFailedRuns extends ReferenceStore {
  protected override isFinished(last: StartEntry): boolean {
    return super.isFinished(last) && last.outcome !== 'failed';
  }
}

class KeepsTheRunningTickToItself extends ReferenceStore {
  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const result = await super.acquire(request);
    if (result.acquired || result.reason !== 'held') return result;
    const { tick: _tick, ...rest } = result;
    return rest;
  }
}

class StartsWhatNeverStarted extends ReferenceStore {
  protected override refuseStart(
    request: AcquireRequest,
    last: StartEntry | undefined,
  ): StartRefusal | undefined {
    const { only: _only, ...rest } = request;
    return super.refuseStart(rest, last);
  }
}

class ComparesNoSchedules extends ReferenceStore {
  override async acquire({ schedule: _schedule, ...request }: AcquireRequest): Promise<AcquireResult> {
    return super.acquire(request);
  }
}

class CountsIntervalsFromNow extends ReferenceStore {
  protected override refuseStart(
    request: AcquireRequest,
    last: StartEntry | undefined,
  ): StartRefusal | undefined {
    const refusal = super.refuseStart(request, last);
    return refusal?.expiresIn === undefined ? refusal : { ...refusal, expiresIn: request.interval ?? 0 };
  }
}

class KeepsTheOldLength extends ReferenceStore {
  protected override due(interval: number, last: StartEntry | undefined): number {
    return super.due(last?.interval ?? interval, last);
  }
}

class BelievesEveryDueTime extends ReferenceStore {
  protected override isCredible(): boolean {
    return true;
  }
}

class ForgetsTheAttempt extends ReferenceStore {
  protected override repeatGrant(_request: AcquireRequest, { fence }: StateEntry): AcquireResult {
    return { acquired: true, fencingToken: fence };
  }
}

class ForgetsWhatWasBefore extends ReferenceStore {
  protected override noteEnd(lease: LeaseRef, outcome: string, retryIn?: number): void {
    if (outcome === 'abandoned') this.starts.delete(this.startKey(lease));
    else super.noteEnd(lease, outcome, retryIn);
  }
}

class GivesBackWhatIsLiveOnly extends ReferenceStore {
  override async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const live = this.lock(lease.name) !== undefined;
    if (options.outcome === 'abandoned' && !live) return { released: false, reason: 'expired' };
    return super.release(lease, options);
  }
}

class GivesBackOfTheNewestLeaseOnly extends ReferenceStore {
  protected override endsStart({ token }: LeaseRef, state: StateEntry | undefined): boolean {
    return state?.token === token;
  }
}

class GivesBackWhateverStartedLast extends ReferenceStore {
  protected override noteEnd(lease: LeaseRef, outcome: string, retryIn?: number): void {
    if (outcome === 'abandoned') this.starts.delete(this.startKey(lease));
    else super.noteEnd(lease, outcome, retryIn);
  }
}

class TriesAgainAtOnce extends ReferenceStore {
  protected override isTimeFor(): boolean {
    return true;
  }
}

class EndsWhatIsToBeTriedAgain extends ReferenceStore {
  protected override isFinished(last: StartEntry): boolean {
    return super.isFinished({ ...last, retryAt: undefined });
  }
}

export const brokenTicks: readonly BrokenStore[] = [
  broken(
    'a tick that was started is refused for good, and so is an older one; a newer one is not',
    "an attempt for an older tick should answer {'acquired':false,'reason':'already-ran','tick':1760000000000,'finished':true}, but answered {'acquired':true,'fencingToken':1767225600000001,'attempt':1}",
    RefusesTheSameTickOnly,
  ),
  broken(
    'a tick is refused also when its lease has expired without a release',
    "a second attempt for the tick should answer {'acquired':false,'reason':'already-ran','tick':1760000000000,'finished':false}, but answered {'acquired':true,'fencingToken':1767225600040001,'attempt':1}",
    CountsFinishedTicksOnly,
  ),
  broken(
    'jobs under one lock have ticks of their own',
    "a tick that may start was refused: {'acquired':false,'reason':'already-ran','tick':1760000000000,'finished':true}",
    OneTickPerLock,
  ),
  broken(
    'a call without a tick is not refused because of a tick, and does not change it',
    "the second attempt for a tick should answer {'reason':'already-ran'}, but answered {'acquired':true,'fencingToken':1767225600000002,'attempt':1}",
    ForgetsTicksOfOtherCalls,
  ),
  broken(
    'the end of a call without a tick does not count as the end of the interrupted tick before it',
    "a rerun after a call without a tick should answer {'acquired':true,'attempt':2}, but answered {'acquired':false,'reason':'already-ran','tick':1760000000000,'finished':true}",
    EndsWhateverStartedLast,
  ),
  broken(
    'a tick of a lock without a job runs once, too',
    "a second attempt for the tick should answer {'acquired':false,'reason':'already-ran','finished':true}, but answered {'acquired':true,'fencingToken':1767225600000001,'attempt':2}",
    EndsNoTickWithoutAJob,
  ),
  broken(
    "a tick too far in the future of the store's clock is refused with the store's time",
    "an attempt for a tick in 200 years should answer {'acquired':false,'reason':'clock-skew'}, but answered {'acquired':true,'fencingToken':1767225600000000,'attempt':1}",
    BelievesEveryTick,
  ),
  broken(
    'an interrupted run is repeated as often as rerun says, and the attempts are counted',
    "the fourth run should answer {'acquired':false,'reason':'already-ran'}, but answered {'acquired':true,'fencingToken':1767225600000003,'attempt':4}",
    RepeatsOnceTooOften,
  ),
  broken(
    'a run that has ended is not repeated, however it ended',
    "a rerun of a run that was failed should answer {'reason':'already-ran','finished':true}, but answered {'acquired':true,'fencingToken':1767225600000001,'attempt':2}",
    RepeatsFailedRuns,
  ),
  broken(
    'a refusal while the tick is running says so',
    "an attempt while the tick is running should answer {'reason':'held','tick':1760000000000,'finished':false}, but answered {'finished':false,'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000}",
    KeepsTheRunningTickToItself,
  ),
  broken(
    'only: known and interrupted refuse what never started',
    "a first start with only: 'known' should answer {'acquired':false,'reason':'already-ran'}, but answered {'acquired':true,'fencingToken':1767225600000000,'attempt':1}",
    StartsWhatNeverStarted,
  ),
  broken(
    'the answer to a start says if the last start came from another schedule',
    "a start from another schedule should answer {'previousSchedule':'nightly'}, but answered {'acquired':true,'fencingToken':1767225600000002,'attempt':1}",
    ComparesNoSchedules,
  ),
  broken(
    'an interval is refused until it has passed, and says when it will have',
    'expiresIn should be at most nine tenths of the interval, but is 3600000',
    CountsIntervalsFromNow,
  ),
  broken(
    'an interval whose length was changed counts from its last start by the new length',
    "an attempt 30 ms later, by an interval as short should answer {'acquired':true}, but answered {'acquired':false,'reason':'already-ran','expiresIn':3599967}",
    KeepsTheOldLength,
  ),
  broken(
    'an interval whose due time lies further ahead than an interval can put it may start at once',
    "an attempt after three hours back should answer {'acquired':true}, but answered {'acquired':false,'reason':'already-ran','expiresIn':14220000}",
    BelievesEveryDueTime,
  ),
  broken(
    'a run that failed is tried again once `retryIn` has passed, as its next attempt, and not before',
    "an attempt before its time should answer {'acquired':false,'reason':'already-ran','tick':1760000000000,'finished':false}, but answered {'acquired':true,'fencingToken':1767225600000001,'attempt':2}",
    TriesAgainAtOnce,
  ),
  broken(
    'a tick whose run is to be tried again is not finished where its lock is taken, and over where a newer one began',
    "an attempt while somebody else has the lock should answer {'reason':'held','tick':1760000000000,'finished':false}, but answered {'tick':1760000000000,'finished':true,'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000}",
    EndsWhatIsToBeTriedAgain,
  ),
  broken(
    'an acquire of a rerun that is sent again answers with its attempt',
    "the same acquire, sent again should answer {'acquired':true,'fencingToken':1767225600000001,'attempt':2}, but answered {'acquired':true,'fencingToken':1767225600000001}",
    ForgetsTheAttempt,
  ),
  broken(
    'an abandoned start gives back the tick, or the interval, that was there before',
    "an attempt for the tick before should answer {'reason':'already-ran'}, but answered {'acquired':true,'fencingToken':1767225600000002,'attempt':1}",
    ForgetsWhatWasBefore,
  ),
  broken(
    'a start is also given back when it is abandoned after its lease has run out',
    "an attempt for a tick that was abandoned late should answer {'acquired':true}, but answered {'acquired':false,'reason':'already-ran','tick':1760000000000,'finished':false}",
    GivesBackWhatIsLiveOnly,
  ),
  broken(
    'a start is given back also when it is abandoned after a later lease of its lock, of another job',
    "an attempt for what was abandoned after a later lease should answer {'acquired':true}, but answered {'acquired':false,'reason':'already-ran','tick':1760000000000,'finished':false}",
    GivesBackOfTheNewestLeaseOnly,
  ),
  broken(
    'an abandoned lease gives back no later start of its job, and none that ended',
    "an attempt while a later tick is running should answer {'reason':'held','tick':1760000000001,'finished':false}, but answered {'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000}",
    GivesBackWhateverStartedLast,
  ),
];
