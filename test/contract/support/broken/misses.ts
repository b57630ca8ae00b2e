import type {
  Alarm,
  Beat,
  HistoryEntry,
  InstanceRecord,
  Retention,
  Miss,
  MissResult,
} from '../../../../lib/contract/history-store.js';
import type { ManualClock } from '../../../../lib/testing/index.js';
import { ReferenceHistory } from '../reference-history.js';
import { instanceTime, ReferenceStore, type StartEntry } from '../reference-store.js';
import type { BrokenStore } from './broken-store.js';

class KeepsNoCount extends ReferenceHistory {
  protected override keep(entry: HistoryEntry, kept: Retention): void {
    super.keep(entry.type === 'miss' ? { ...entry, count: 1 } : entry, kept);
  }
}

class LooksForTheVeryTick extends ReferenceHistory {
  protected override wasStarted(tick: number, { tick: last }: StartEntry): boolean {
    return tick === last;
  }
}

class IgnoresRuns extends ReferenceHistory {
  protected override isRunning(): boolean {
    return false;
  }
}

class TakesAnyRunForThisJob extends ReferenceHistory {
  protected override isRunning({ name }: Miss): boolean {
    return this.store.lock(name) !== undefined;
  }
}

class MissesOnlyWhatItKnows extends ReferenceHistory {
  protected override ofUnknown(): undefined {
    return undefined;
  }
}

/** Two operations: others come in between. */
class LooksThenNotes extends ReferenceHistory {
  override async told(alarm: Alarm): Promise<boolean> {
    const isFirst = !this.alarms.has(this.alarmOf(alarm.name, alarm.job));
    await Promise.resolve();
    return (await super.told(alarm)) || isFirst;
  }
}

class NotesEachAlarm extends ReferenceHistory {
  override async told(alarm: Alarm): Promise<boolean> {
    return super.told({ ...alarm, job: `${alarm.job} ${alarm.tick}` });
  }
}

class ForgetsLateOnes extends ReferenceHistory {
  override async miss(miss: Miss): Promise<MissResult> {
    return super.miss({ ...miss, late: false });
  }
}

class IgnoresGrace extends ReferenceHistory {
  protected override missedTick(miss: Miss, start: StartEntry | undefined): number | undefined {
    return super.missedTick({ ...miss, grace: 0 }, start);
  }
}

class KnowsEveryList extends ReferenceHistory {
  protected override isKnownList(): boolean {
    return true;
  }
}

class KnowsEveryBeat extends ReferenceHistory {
  protected override isKnownBeat(beat: Beat): boolean {
    return this.isKnownList(beat);
  }
}

class FirstBeatCounts extends ReferenceHistory {
  protected override seen(beat: Beat): Beat {
    return { ...beat, ...this.beats.get(beat.instance) };
  }
}

class TimeStandsStill extends ReferenceHistory {
  override async instances(): Promise<InstanceRecord[]> {
    return (await super.instances()).map((each) => ({ ...each, time: each.seenAt }));
  }
}

class AsksTheInstance extends ReferenceHistory {
  protected override now(): number {
    return instanceTime(this.store);
  }
}

const broken = (
  caught: string,
  message: string,
  History: new (store: ReferenceStore) => ReferenceHistory,
): BrokenStore => ({
  caught,
  message,
  make: (clock: ManualClock) => {
    const store = new ReferenceStore(clock);
    store.history = new History(store);
    return store;
  },
});

export const brokenMisses: readonly BrokenStore[] = [
  broken(
    'a tick that nobody has started is kept as missed, with the reason',
    "entries should answer {'lock':'lock','job':'job','instance':'host:1:é\\'','reason':'held','count':3,'holder':'it's','tick':1760003600000}, but answered {'type':'miss','lock':'lock','job':'job','instance':'host:1:é\\'','tick':1760003600000,'reason':'held','count':1,'holder':'it's','at':1767225600000}",
    KeepsNoCount,
  ),
  broken(
    'a tick was not missed if it or a newer one was started',
    "a miss of a tick before the last should answer {'missed':false}, but answered {'missed':true,'tick':1759996400000}",
    LooksForTheVeryTick,
  ),
  broken(
    'a tick was not missed while a run of the job goes on',
    "a miss while a run of the job goes on should answer {'missed':false}, but answered {'missed':true,'tick':1760003600000}",
    IgnoresRuns,
  ),
  broken(
    'a tick was missed while a run of another job has the lock',
    "a miss while another job has the lock should answer {'missed':true}, but answered {'missed':false}",
    TakesAnyRunForThisJob,
  ),
  broken(
    'the very first tick of a job can be missed',
    "a miss under an unknown lock should answer {'missed':true}, but answered {'missed':false}",
    MissesOnlyWhatItKnows,
  ),
  broken(
    'of many instances that note that a miss was reported, exactly one is the first',
    'of 20 that note an alarm one should be the first, but 20 were',
    LooksThenNotes,
  ),
  broken(
    'no instance is the first to note the report of a tick, if that of a newer one was noted',
    'an alarm of an older tick should not be the first',
    NotesEachAlarm,
  ),
  broken(
    'a tick that is noted late is kept, and can be missed after all',
    'a late miss should be kept for people, but got []',
    ForgetsLateOnes,
  ),
  broken(
    'an interval was missed when its grace has passed since it was due, and not before',
    "a miss of an interval within its grace should answer {'missed':false}, but answered {'missed':true,'tick':1767225600030}",
    IgnoresGrace,
  ),
];

export const brokenRegistries: readonly BrokenStore[] = [
  broken(
    'a list of jobs has to come once, from any instance',
    "a beat with an unknown list of jobs should answer {'known':false}, but answered {'time':1767225600000,'known':true}",
    KnowsEveryList,
  ),
  broken(
    'a brief beat is kept over one of the same instance with the same list of jobs',
    "a brief beat of an instance that is not known should answer {'known':false}, but answered {'known':true}",
    KnowsEveryBeat,
  ),
  broken(
    'an instance is listed once, as of its last beat',
    "instances should tell the last beat {'instance':'instance','startedAt':1760000000000,'every':10000,'leads':['main'],'left':true,'withTicks':true,'application':'@shop/api','version':'1.2 \\'é\\'','clockOffset':-15,'stopped':[1],'added':{'0':1750000000000}}, but got {'instance':'instance','startedAt':1760000000000,'every':30000,'leads':[],'left':false,'withTicks':true,'application':'@shop/api','version':'1.2 \\'é\\'','clockOffset':-15,'stopped':[1],'added':{'0':1750000000000},'jobs':[{'job':'Jobs.é\\''%','lock':'a','kind':'cron','schedule':'0 3 * * *','timeZone':'UTC','enabled':true,'overdue':60000},{'job':'Jobs.often','kind':'interval','interval':5000,'enabled':false,'overdue':false}],'seenAt':1767225600000,'time':1767225600000}",
    FirstBeatCounts,
  ),
  broken(
    "an instance is listed with the time when it was seen, and with the store's time, which goes on",
    'the time that instances tell should go on by now',
    TimeStandsStill,
  ),
  broken(
    'the times of instances are those of the store, whatever their own clocks say',
    'the times should be about the same, but the later ones are [7200000,7200000,7200000] ms ahead',
    AsksTheInstance,
  ),
];
