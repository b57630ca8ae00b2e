import type { Enqueued, NewQueuedCall } from '../../../../lib/contract/queued-call-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import type { ManualClock } from '../../../../lib/testing/index.js';
import { LOOK_FOR_QUEUED } from '../../../../lib/contract/queued-call-store.js';
import { type StoredCall, ReferenceQueuedCalls } from '../reference-queued-calls.js';
import { ReferenceStore } from '../reference-store.js';
import type { BrokenStore } from './broken-store.js';

class TellsOneProcess extends ReferenceQueuedCalls {
  override async announce(): Promise<void> {
    const [called] = this.store.listeners.values();
    called?.(LOOK_FOR_QUEUED);
  }
}

class LooksAtTheFirstHundred extends ReferenceQueuedCalls {
  override async left(jobs: readonly string[]): ReturnType<ReferenceQueuedCalls['left']> {
    const all = this.queuedCalls;
    this.queuedCalls = all.slice(0, 100);
    const left = await super.left(jobs);
    this.queuedCalls = all;
    return left;
  }
}

/** Takes a lease for its token alone. */
class ComparesTokensOnly extends ReferenceQueuedCalls {
  protected override isPast(): boolean {
    return false;
  }
}

/** Takes another queued call for a lease that is over. */
class TakesForOldLeases extends ReferenceQueuedCalls {
  protected override takenBefore(): undefined {}

  protected override isHeld({ name, token }: LeaseRef): boolean {
    return this.store.lock(name)?.token === token;
  }
}

/** The same fencing token for all queued calls of a lease. */
class OneTokenForAll extends ReferenceQueuedCalls {
  protected override advance(...run: Parameters<ReferenceQueuedCalls['advance']>): number {
    return super.advance(...run) - 1;
  }
}

class IgnoresPriority extends ReferenceQueuedCalls {
  override enqueue(queuedCall: NewQueuedCall): Promise<Enqueued> {
    return super.enqueue({ ...queuedCall, priority: 0 });
  }
}

class FirstArgumentsWin extends ReferenceQueuedCalls {
  protected override merge(known: StoredCall, queuedCall: NewQueuedCall): void {
    super.merge(known, { ...queuedCall, args: known.args });
  }
}

/** Others may come between counting and writing. */
class CountsBeforehand extends ReferenceQueuedCalls {
  override async enqueue(queuedCall: NewQueuedCall): Promise<Enqueued> {
    const hasRoom = this.hasRoom(queuedCall);
    await Promise.resolve();
    return hasRoom ? super.enqueue({ ...queuedCall, max: Infinity }) : { queued: false };
  }
}

/** Others may come between reading and writing. */
class MergesWhatItHasRead extends ReferenceQueuedCalls {
  override async enqueue(queuedCall: NewQueuedCall): Promise<Enqueued> {
    const known = this.queuedCalls.find((one) => this.isSame(one, queuedCall));
    const merged = known?.merged ?? 0;
    await Promise.resolve();
    const result = await super.enqueue(queuedCall);
    if (known !== undefined) known.merged = merged + 1;
    return result;
  }
}

class MergesWithoutAKey extends ReferenceQueuedCalls {
  protected override isSame(one: StoredCall, queuedCall: NewQueuedCall): boolean {
    return (
      super.isSame(one, queuedCall) ||
      (this.isWaiting(one) && one.name === queuedCall.name && one.key === queuedCall.key)
    );
  }
}

/** What came while the run went on is lost with it. */
class MergesWithWhatRuns extends ReferenceQueuedCalls {
  protected override isWaiting({ dead }: StoredCall): boolean {
    return dead === undefined;
  }
}

/** As Fleet does. */
class RemovesBeforeTheRun extends ReferenceQueuedCalls {
  protected override take(queuedCall: StoredCall, token: string): void {
    super.take(queuedCall, token);
    this.remove(queuedCall);
  }
}

class DeliversForEver extends ReferenceQueuedCalls {
  protected override isOverLimit(): boolean {
    return false;
  }
}

/** Older arguments would run after newer ones. */
class MergesWithWhatWasPutBack extends ReferenceQueuedCalls {
  protected override putBack(queuedCall: StoredCall): void {
    super.putBack(queuedCall);
    queuedCall.begun = false;
  }
}

class ForgetsWhatHasFailed extends ReferenceQueuedCalls {
  protected override failed(queuedCall: StoredCall): void {
    this.remove(queuedCall);
  }
}

class KeepsWhatIsReleased extends ReferenceQueuedCalls {
  override end(lease: LeaseRef, outcome: Parameters<ReferenceQueuedCalls['end']>[1], byNext = false): void {
    if (byNext) super.end(lease, outcome);
  }

  override next(
    ...[lease, options]: Parameters<ReferenceQueuedCalls['next']>
  ): ReturnType<ReferenceQueuedCalls['next']> {
    const { outcome, ...rest } = options;
    if (outcome !== undefined) this.end(lease, outcome, true);
    return super.next(lease, rest);
  }
}

class KeepsAnyNumber extends ReferenceQueuedCalls {
  protected override hasRoom(): boolean {
    return true;
  }
}

class DeliversEveryJob extends ReferenceQueuedCalls {
  protected override canTake(): boolean {
    return true;
  }
}

class OvertakesTheLine extends ReferenceQueuedCalls {
  protected override standsBehind(): boolean {
    return false;
  }
}

class CountsEachAnswer extends ReferenceQueuedCalls {
  protected override take(queuedCall: StoredCall, token: string): void {
    Object.assign(queuedCall, { taken: token, delivery: queuedCall.delivery + 1, begun: true });
  }

  protected override takenBefore(lease: LeaseRef) {
    const again = super.takenBefore(lease);
    const queuedCall = this.queuedCalls.find(({ id }) => id === again?.queuedCall?.id);
    if (again?.queuedCall === undefined || queuedCall === undefined) return again;
    return { ...again, queuedCall: { ...again.queuedCall, delivery: (queuedCall.delivery += 1) } };
  }
}

class FindsHeldLocks extends ReferenceQueuedCalls {
  protected override isLeft(): boolean {
    return true;
  }
}

class SeesNoPlace extends ReferenceQueuedCalls {
  protected override isLeft(name: string): boolean {
    return super.isLeft(name, { place: Infinity });
  }
}

class TakesWaitersForWorkers extends ReferenceQueuedCalls {
  protected override isLeft(name: string): boolean {
    return this.store.lock(name) === undefined || (this.store.lines.get(name) ?? []).length === 0;
  }
}

const broken = (
  sentence: string,
  message: string,
  Calls: new (store: ReferenceStore) => ReferenceQueuedCalls,
): BrokenStore => ({
  caught: sentence,
  message,
  make: (clock: ManualClock) => {
    const store = new ReferenceStore(clock);
    store.queuedCalls = new Calls(store);
    return store;
  },
});

export const brokenQueuedCalls: readonly BrokenStore[] = [
  broken(
    'a queued call is delivered as it was kept, with a greater fencing token, and leaves when its run has completed',
    'its fencing token should be greater than that of the lease before, but is 1767225600000000',
    OneTokenForAll,
  ),
  broken(
    'queued calls are delivered by priority, then in the order in which they came',
    'the order should be 1,3,0,4,2, but is 0,1,2,3,4',
    IgnoresPriority,
  ),
  broken(
    'a queued call with the key of one that waits becomes one with it: its arguments, the other one’s place',
    "the first one should be delivered, with the arguments of the last, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'key':'k','place':1,'merged':1,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}",
    FirstArgumentsWin,
  ),
  broken(
    'many queued calls at the same time with the key of one that waits all become one with it',
    'one should stand for 31 more calls, but stands for 2',
    MergesWhatItHasRead,
  ),
  broken(
    'queued calls without a key, and those of other jobs, stand alone',
    'a queued call that stands alone should not become one with another, but its answer says 1',
    MergesWithoutAKey,
  ),
  broken(
    'a queued call that comes while the run for its key goes on is run after it, once',
    "the one that came meanwhile should be the queued call of the next run, but got {'held':true,'dead':[]}",
    MergesWithWhatRuns,
  ),
  broken(
    'a queued call stays until its run has ended: after the death of its holder the next one runs it again, at its place',
    "the queued call of the dead holder should be delivered a 2nd time, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':2,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}",
    RemovesBeforeTheRun,
  ),
  broken(
    'a queued call that was interrupted too often becomes a dead letter, which can be put back',
    "after its last interruption: there should be no queued call to run, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':3,'taken':'<id>','begun':true,'queuedAt':0}",
    DeliversForEver,
  ),
  broken(
    'a queued call that was put back takes no more calls: those that come for its key run after it',
    "the one that came after that should be the queued call of the next run, but got {'held':true,'dead':[]}",
    MergesWithWhatWasPutBack,
  ),
  broken(
    'a queued call whose run has failed becomes a dead letter at once',
    'it should be kept as a dead letter, but 0 were put back',
    ForgetsWhatHasFailed,
  ),
  broken(
    'release ends the queued call of its lease',
    "after the release the second one should be the queued call of the next run, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':2,'taken':'<id>','begun':true,'queuedAt':0}",
    KeepsWhatIsReleased,
  ),
  broken(
    'simultaneous calls do not exceed `max` either',
    '1 to 3 of 40 calls should be kept, but 40 were',
    CountsBeforehand,
  ),
  broken(
    'no more queued calls are kept than `max`',
    "a third queued call should not be kept, but got {'queued':true,'place':3,'merged':0}",
    KeepsAnyNumber,
  ),
  broken(
    'only queued calls of the jobs that the caller can run are delivered, and only to a lease that is held',
    "the one of its job should be the queued call of the next run, but got {'name':'lock','id':'<id>','job':'other','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}",
    DeliversEveryJob,
  ),
  broken(
    'a call in line that came before a queued call goes before it',
    "while a call stands before it: there should be no queued call to run, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':2,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}",
    OvertakesTheLine,
  ),
  broken(
    'a queued call is kept once, and delivered once, however often the same request comes',
    "the same lease should get the same queued call, still with delivery 1, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':1,'redeliver':1,'key':'k','place':1,'merged':0,'delivery':2,'taken':'<id>','begun':true,'queuedAt':0}",
    CountsEachAnswer,
  ),
  broken(
    'the lease of a queued call ends the one before: a late call for the earlier lease changes nothing',
    "next that is sent again should get the same queued call and fencing token, but got {'held':true,'queuedCall':{'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0},'fencingToken':1767225600000002,'dead':[]}",
    ComparesTokensOnly,
  ),
  broken(
    'next for a lease that a newer lease of its token has ended gets nothing, and ends no run',
    "a lease that is over should get nothing, but got {'held':true,'dead':[]}",
    TakesForOldLeases,
  ),
  broken(
    'queued calls are found while their lock is free, and while it is held if nobody in line runs them in their turn',
    "a lock with somebody in line for that call should not be among them, but got [{'name':'lock','place':1}]",
    FindsHeldLocks,
  ),
  broken(
    'a queued call is found also if those in line only wait, or run queued calls of less priority',
    'the lock should be found with the place of that call, but got []',
    SeesNoPlace,
  ),
  broken(
    'a queued call is found also if those in line only wait, or run queued calls of less priority',
    'the lock should be found with the place of that call, but got []',
    TakesWaitersForWorkers,
  ),
  broken(
    'a queued call is found also behind many of a job that nobody runs any more',
    'the lock should be found with the place of that call, but got []',
    LooksAtTheFirstHundred,
  ),
  broken(
    'announce() sends a hint to every process that hears hints',
    'both processes should have heard the hint by now',
    TellsOneProcess,
  ),
];
