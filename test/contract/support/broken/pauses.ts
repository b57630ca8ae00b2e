import type { AcquireRefusal, AcquireRequest } from '../../../../lib/contract/lock-store.js';
import type { NewPause, Pause } from '../../../../lib/contract/pause.js';
import { ReferenceQueuedCalls, type StoredCall } from '../reference-queued-calls.js';
import { ReferenceStore } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';

class GrantsWhatIsPaused extends ReferenceStore {
  protected override pausedFor(): undefined {
    return undefined;
  }
}

class SaysNothingOfWho extends ReferenceStore {
  protected override refuseAsPaused(request: AcquireRequest, pause: Pause): AcquireRefusal {
    const { paused: _paused, ...refusal } = super.refuseAsPaused(request, pause);
    return refusal;
  }
}

class AsksOfTheRun extends ReferenceStore {
  protected override pausedFor(request: AcquireRequest): Pause | undefined {
    return this.lock(request.name) === undefined ? super.pausedFor(request) : undefined;
  }
}

class LetsNothingThrough extends ReferenceStore {
  protected override pausedFor({ name }: AcquireRequest): Pause | undefined {
    return this.pauseOf(name);
  }
}

class ResumesAny extends ReferenceStore {
  override async resume(name: string): Promise<boolean> {
    return this.pauses.delete(name);
  }
}

class PausesForEver extends ReferenceStore {
  override pauseOf(name: string): Pause | undefined {
    return this.pauses.get(name);
  }
}

class TakesTheNewestPause extends ReferenceStore {
  override async pause(name: string, pause: NewPause): Promise<Pause> {
    this.pauses.delete(name);
    return super.pause(name, pause);
  }
}

class EveryCallWaits extends ReferenceStore {
  protected override refuseAsPaused(request: AcquireRequest, pause: Pause): AcquireRefusal {
    const refusal = super.refuseAsPaused(request, pause);
    if (request.wait === undefined) return refusal;
    this.enter(request, request.wait);
    return this.inLine(request, refusal);
  }
}

class DeliversPaused extends ReferenceQueuedCalls {
  protected override waitsForResume(_one: StoredCall): boolean {
    return false;
  }
}

class TellsOfPaused extends ReferenceQueuedCalls {
  protected override isPaused(_one: StoredCall): boolean {
    return false;
  }

  protected override waitsForResume(one: StoredCall): boolean {
    return super.isPaused(one);
  }
}

class LeavesPaused extends ReferenceStore {
  override queuedCalls: ReferenceQueuedCalls = new TellsOfPaused(this);
}

class DeliversAll extends ReferenceStore {
  override queuedCalls: ReferenceQueuedCalls = new DeliversPaused(this);
}

export const brokenPauses: readonly BrokenStore[] = [
  broken(
    'a paused lock refuses every attempt, says who, why, since when and until when, and inspect shows it',
    `an attempt at a paused lock: the lock should be taken, but an attempt was granted ({'acquired':true,'fencingToken':1767225600000000})`,
    GrantsWhatIsPaused,
  ),
  broken(
    'a paused lock refuses every attempt, says who, why, since when and until when, and inspect shows it',
    `an attempt at a paused lock should answer {'actor':'anna','reason':'der Server fehlt: é 🚀','since':1767225600000,'until':1767229200000}, but answered {}`,
    SaysNothingOfWho,
  ),
  broken(
    'a run goes on under a pause, and the next one is refused',
    `an attempt beside a run should answer {'reason':'paused'}, but answered {'acquired':false,'reason':'held','holder':'<holder>','expiresIn':3600000}`,
    AsksOfTheRun,
  ),
  broken(
    'an attempt goes through a pause, which stays, and counts the fencing tokens on',
    `acquire through a pause of a free lock should answer {'acquired':true}, but answered {'acquired':false,'reason':'paused','paused':{'actor':'anna','reason':'der Server fehlt: é 🚀','since':1767225600000,'until':1767229200000},'expiresIn':3600000}`,
    LetsNothingThrough,
  ),
  broken(
    'a pause ends when it is resumed, and no other one ends',
    `resume of another pause should end nothing, but answered true`,
    ResumesAny,
  ),
  broken(
    'a pause ends by itself',
    `after a pause of 30 ms: the lock should be free by now, but every attempt was refused`,
    PausesForEver,
  ),
  broken(
    'a second pause changes nothing, and is answered with the first one',
    `a second pause should answer {'id':1,'actor':'anna','reason':'der Server fehlt: é 🚀','since':1767225600000,'until':1767229200000}, but answered {'id':2,'actor':'ben','since':1767225600000,'until':1767225600030}`,
    TakesTheNewestPause,
  ),
  broken(
    'no call waits for the end of a pause',
    `a call that waits for a paused lock should answer {'reason':'paused'}, but answered {'acquired':false,'reason':'paused','paused':{'actor':'anna','reason':'der Server fehlt: é 🚀','since':1767225600000,'until':1767229200000},'expiresIn':3600000,'waiting':{'place':1,'ahead':0}}`,
    EveryCallWaits,
  ),
  broken(
    'queued calls stay under a pause, but for those that go through it',
    `next under a pause: there should be no queued call to run, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}`,
    DeliversAll,
  ),
  broken(
    'queued calls stay under a pause, but for those that go through it',
    'a queued call of a paused lock should not count as left',
    LeavesPaused,
  ),
];
