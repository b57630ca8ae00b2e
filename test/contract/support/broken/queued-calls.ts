import type { Enqueued, LeaseRef, NewEvent } from '../../../../lib/index.js';
import type { ManualClock } from '../../../../lib/testing/index.js';
import { type KeptEvent, ReferenceEvents } from '../reference-queued-calls.js';
import { ReferenceStore } from '../reference-store.js';
import type { BrokenStore } from './broken-store.js';

/** Takes a lease for its token alone. */
class ComparesTokensOnly extends ReferenceEvents {
  protected override isPast(): boolean {
    return false;
  }
}

/** Takes another event for a lease that is over. */
class TakesForOldLeases extends ReferenceEvents {
  protected override takenBefore(): undefined {}

  protected override isHeld({ name, token }: LeaseRef): boolean {
    return this.store.lock(name)?.token === token;
  }
}

/** The same fencing token for all events of a lease. */
class OneTokenForAll extends ReferenceEvents {
  protected override advance(...run: Parameters<ReferenceEvents['advance']>): number {
    return super.advance(...run) - 1;
  }
}

class IgnoresPriority extends ReferenceEvents {
  override enqueue(event: NewEvent): Promise<Enqueued> {
    return super.enqueue({ ...event, priority: 0 });
  }
}

class FirstArgumentsWin extends ReferenceEvents {
  protected override merge(known: KeptEvent, event: NewEvent): void {
    super.merge(known, { ...event, args: known.args });
  }
}

class MergesWithoutAKey extends ReferenceEvents {
  protected override isSame(one: KeptEvent, event: NewEvent): boolean {
    return (
      super.isSame(one, event) || (this.isWaiting(one) && one.name === event.name && one.key === event.key)
    );
  }
}

/** What came while the run went on is lost with it. */
class MergesWithWhatRuns extends ReferenceEvents {
  protected override isWaiting({ dead }: KeptEvent): boolean {
    return dead === undefined;
  }
}

/** As Fleet does. */
class RemovesBeforeTheRun extends ReferenceEvents {
  protected override take(event: KeptEvent, token: string): void {
    super.take(event, token);
    this.remove(event);
  }
}

class DeliversForEver extends ReferenceEvents {
  protected override isOverLimit(): boolean {
    return false;
  }
}

/** Older arguments would run after newer ones. */
class MergesWithWhatWasPutBack extends ReferenceEvents {
  protected override putBack(event: KeptEvent): void {
    super.putBack(event);
    event.begun = false;
  }
}

class ForgetsWhatHasFailed extends ReferenceEvents {
  protected override failed(event: KeptEvent): void {
    this.remove(event);
  }
}

class KeepsWhatIsReleased extends ReferenceEvents {
  override end(lease: LeaseRef, outcome: Parameters<ReferenceEvents['end']>[1], byNext = false): void {
    if (byNext) super.end(lease, outcome);
  }

  override next(
    ...[lease, options]: Parameters<ReferenceEvents['next']>
  ): ReturnType<ReferenceEvents['next']> {
    const { outcome, ...rest } = options;
    if (outcome !== undefined) this.end(lease, outcome, true);
    return super.next(lease, rest);
  }
}

class KeepsAnyNumber extends ReferenceEvents {
  protected override hasRoom(): boolean {
    return true;
  }
}

class DeliversEveryJob extends ReferenceEvents {
  protected override canTake(): boolean {
    return true;
  }
}

class OvertakesTheLine extends ReferenceEvents {
  protected override standsBehind(): boolean {
    return false;
  }
}

class CountsEachAnswer extends ReferenceEvents {
  protected override take(event: KeptEvent, token: string): void {
    Object.assign(event, { taken: token, delivery: event.delivery + 1, begun: true });
  }

  protected override takenBefore(lease: LeaseRef) {
    const again = super.takenBefore(lease);
    const event = this.events.find(({ id }) => id === again?.event?.id);
    if (again?.event === undefined || event === undefined) return again;
    return { ...again, event: { ...again.event, delivery: (event.delivery += 1) } };
  }
}

class FindsHeldLocks extends ReferenceEvents {
  protected override isLeft(): boolean {
    return true;
  }
}

const broken = (
  sentence: string,
  message: string,
  Events: new (store: ReferenceStore) => ReferenceEvents,
): BrokenStore => ({
  caught: `rule 15: ${sentence}`,
  message,
  make: (clock: ManualClock) => {
    const store = new ReferenceStore(clock);
    store.events = new Events(store);
    return store;
  },
});

export const brokenEvents: readonly BrokenStore[] = [
  broken(
    'an event is delivered as it was kept, with a greater fencing token, and leaves when its run has completed',
    'its fencing token should be greater than that of the lease before, but is 1767225600000000',
    OneTokenForAll,
  ),
  broken(
    'events are delivered by priority, then in the order in which they came',
    'the order should be 1,3,0,4,2, but is 0,1,2,3,4',
    IgnoresPriority,
  ),
  broken(
    'an event with the key of one that waits becomes one with it: its arguments, the other one’s place',
    "the first one should be delivered, with the arguments of the last, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'key':'k','place':1,'merged':1,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}",
    FirstArgumentsWin,
  ),
  broken(
    'events without a key, and those of other jobs, stand alone',
    'an event that stands alone should not become one with another, but its answer says 1',
    MergesWithoutAKey,
  ),
  broken(
    'an event that comes while the run for its key goes on is run after it, once',
    "the one that came meanwhile should be the event of the next run, but got {'held':true,'dead':[]}",
    MergesWithWhatRuns,
  ),
  broken(
    'an event stays until its run has ended: after the death of its holder the next one runs it again, at its place',
    "the event of the dead holder should be delivered a 2nd time, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':2,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}",
    RemovesBeforeTheRun,
  ),
  broken(
    'an event that was interrupted too often becomes a dead letter, which can be put back',
    "after its last interruption: there should be no event to run, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':3,'taken':'<id>','begun':true,'queuedAt':0}",
    DeliversForEver,
  ),
  broken(
    'an event that was put back takes no more calls: those that come for its key run after it',
    "the one that came after that should be the event of the next run, but got {'held':true,'dead':[]}",
    MergesWithWhatWasPutBack,
  ),
  broken(
    'an event whose run has failed becomes a dead letter at once',
    'it should be kept as a dead letter, but 0 were put back',
    ForgetsWhatHasFailed,
  ),
  broken(
    'release ends the event of its lease',
    "after the release the second one should be the event of the next run, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':2,'taken':'<id>','begun':true,'queuedAt':0}",
    KeepsWhatIsReleased,
  ),
  broken(
    'no more events are kept than `max`',
    "a third event should not be kept, but got {'queued':true,'place':3,'merged':0}",
    KeepsAnyNumber,
  ),
  broken(
    'only events of the jobs that the caller can run are delivered, and only to a lease that is held',
    "the one of its job should be the event of the next run, but got {'name':'lock','id':'<id>','job':'other','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}",
    DeliversEveryJob,
  ),
  broken(
    'a call in line that came before an event goes before it',
    "while a call stands before it: there should be no event to run, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':2,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0}",
    OvertakesTheLine,
  ),
  broken(
    'an event is kept once, and delivered once, however often the same is asked',
    "the same lease should get the same event, still with delivery 1, but got {'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':2,'taken':'<id>','begun':true,'queuedAt':0}",
    CountsEachAnswer,
  ),
  broken(
    'the lease of an event ends the one before: what arrives late for that changes nothing',
    "next that is sent again should be told the same event and fencing token, but got {'held':true,'event':{'name':'lock','id':'<id>','job':'job','args':'[\\'a\\']','priority':0,'max':10,'redeliver':1,'place':1,'merged':0,'delivery':1,'taken':'<id>','begun':true,'queuedAt':0},'fencingToken':1767225600000002,'dead':[]}",
    ComparesTokensOnly,
  ),
  broken(
    'next for a lease that another one of its token has ended gets nothing, and ends no run',
    "a lease that is over should get nothing, but got {'held':true,'dead':[]}",
    TakesForOldLeases,
  ),
  broken(
    'events are found that nobody in line may be about to work off, while their lock is held; or while it is free',
    "a lock with a holder and a line should not be among them, but got [{'name':'lock','place':1}]",
    FindsHeldLocks,
  ),
];
