import type { Miss, MissEntry, MissResult } from '../../../lib/contract/history-store.js';
import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { begin, entries, history, KEPT, missOf, TICK } from './history-moves.js';
import { HOUR, type Kit, SHORT } from './kit.js';

const NEXT = TICK + HOUR;
/** By how much times of the store may differ, ms, as some are kept in whole milliseconds. */
const ROUNDING = 1_000;

/** A job has run for its tick. Returns the name of its lock. */
async function hasRun(kit: Kit): Promise<string> {
  const lease = await begin(kit, kit.name(), { tick: TICK });
  await kit.store.release(lease);
  return lease.name;
}

async function misses(kit: Kit, name: string): Promise<MissEntry[]> {
  const found = await entries(kit, name);
  return found.filter((entry) => entry.type === 'miss');
}

/** The store does not count the tick as missed, and keeps nothing. */
async function notMissed(kit: Kit, miss: Miss, what: string): Promise<void> {
  answers(await history(kit).miss(miss), { missed: false }, what);
  const found = await misses(kit, miss.name);
  check(found.length === 0, () => `${what} should keep nothing, but got ${show(found)}`);
}

async function missed(kit: Kit, miss: Miss, what: string): Promise<MissResult> {
  const result = await history(kit).miss(miss);
  answers(result, { missed: true }, what);
  return result;
}

/** Rule 17: ticks that nobody has started. */
export const missCases: readonly CaseDefinition[] = [
  {
    rule: '17.1',
    sentence: 'a tick that nobody has started is kept as missed, with the reason',
    needs: ['history'],
    async run(kit) {
      const name = await hasRun(kit);
      const facts = { instance: 'host:1:é"', reason: 'held', count: 3, holder: "it's", tick: NEXT };
      const result = await missed(kit, missOf(name, facts), 'a miss of a tick after the last');
      answers(result, { tick: NEXT }, 'a miss of a tick');
      await missed(kit, missOf(name, { tick: NEXT + HOUR }), 'a miss of the tick after that');
      const [second, first] = await misses(kit, name);
      answers(first ?? {}, { lock: name, job: 'job', ...facts }, 'entries');
      answers(second ?? {}, { tick: NEXT + HOUR, holder: undefined }, 'entries');
      check(Number(first?.at) > TICK, () => `at should be a time of the store, but is ${String(first?.at)}`);
    },
  },
  {
    rule: '17.1',
    sentence: 'a tick was not missed if it or a newer one was started',
    needs: ['history'],
    async run(kit) {
      const name = await hasRun(kit);
      await notMissed(kit, missOf(name, { tick: TICK - HOUR }), 'a miss of a tick before the last');
      await notMissed(kit, missOf(name, { tick: TICK }), 'a miss of a tick that was started');
    },
  },
  {
    rule: '17.1',
    sentence: 'a tick was not missed while a run of the job goes on',
    needs: ['history'],
    async run(kit) {
      const { name } = await begin(kit, kit.name(), { tick: TICK });
      await notMissed(kit, missOf(name, { tick: NEXT }), 'a miss while a run of the job goes on');
    },
  },
  {
    rule: '17.1',
    sentence: 'a tick was missed while a run of another job has the lock',
    needs: ['history'],
    async run(kit) {
      const name = await hasRun(kit);
      await begin(kit, name, { job: 'other', tick: NEXT });
      await missed(kit, missOf(name, { tick: NEXT }), 'a miss while another job has the lock');
    },
  },
  {
    rule: '17.1',
    sentence: 'the very first tick of a job can be missed',
    needs: ['history'],
    async run(kit) {
      await missed(kit, missOf(kit.name('unknown'), { tick: NEXT }), 'a miss under an unknown lock');
      const name = await hasRun(kit);
      await missed(kit, missOf(name, { job: 'other', tick: NEXT }), 'a miss of an unknown job');
      const interval = missOf(kit.name('never'), { tick: NEXT, grace: 1 });
      await missed(kit, interval, 'a miss of an interval that never ran');
    },
  },
  {
    rule: '17.2',
    sentence: 'of many instances that note that a miss was reported, exactly one is the first',
    needs: ['history'],
    async run(kit) {
      const name = await hasRun(kit);
      const alarm = Object.freeze({ name, job: 'job', tick: NEXT, kept: KEPT });
      const results = await kit.atOnce(
        Array.from({ length: 20 }, () => alarm),
        async (store, each) => store.history?.told(each),
      );
      const count = results.filter((first) => first === true).length;
      check(count === 1, () => `of 20 that note an alarm one should be the first, but ${count} were`);
      const next = await history(kit).told({ ...alarm, tick: NEXT + HOUR });
      check(next, () => 'an alarm of the next tick should be the first of it');
      const again = await history(kit).told(alarm);
      check(!again, () => 'a later alarm of the same tick should not be the first');
      const other = await history(kit).told({ ...alarm, job: 'other' });
      check(other, () => 'an alarm of another job should be the first of it');
      await missed(kit, missOf(name, { tick: NEXT }), 'a miss of a tick after an alarm');
    },
  },
  {
    rule: '17.2',
    sentence: 'no instance is the first to note the report of a tick, if that of a newer one was noted',
    needs: ['history'],
    async run(kit) {
      const name = await hasRun(kit);
      const alarm = Object.freeze({ name, job: 'job', tick: NEXT, kept: KEPT });
      check(await history(kit).told(alarm), () => 'the first alarm should be the first');
      const older = await history(kit).told({ ...alarm, tick: TICK });
      check(!older, () => 'an alarm of an older tick should not be the first');
      const other = await history(kit).told({ ...alarm, job: 'other', tick: TICK });
      check(other, () => 'an alarm of an older tick of another job should be the first of it');
    },
  },
  {
    rule: '17.1',
    sentence: 'a tick that is noted late is kept, and can be missed after all',
    needs: ['history'],
    async run(kit) {
      const { name, ...lease } = await begin(kit, kit.name(), { tick: NEXT });
      const late = await history(kit).miss(missOf(name, { tick: TICK, late: true }));
      answers(late, { missed: false }, 'a late miss while a newer tick runs');
      const kept = await misses(kit, name);
      check(kept.length === 1, () => `a late miss should be kept for people, but got ${show(kept)}`);
      await kit.store.release({ ...lease, name }, { outcome: 'abandoned' });
      await missed(kit, missOf(name, { tick: TICK }), 'a miss of the tick, as nothing newer was started');
      const again = await history(kit).miss(missOf(name, { tick: TICK, instance: 'other' }));
      answers(again, { missed: true }, 'a later miss of the same tick');
      const found = await misses(kit, name);
      check(found.length === 2, () => `each instance should be listed once, but got ${show(found)}`);
    },
  },
  {
    rule: '17.1',
    sentence: 'an interval was missed when its grace has passed since it was due, and not before',
    needs: ['history'],
    async run(kit) {
      const long = await begin(kit, kit.name('long'), { interval: HOUR });
      await kit.store.release(long);
      await notMissed(kit, missOf(long.name, { grace: 0 }), 'a miss of an interval that is not due');
      const { name, ...lease } = await begin(kit, kit.name('short'), { interval: SHORT });
      await kit.store.release({ ...lease, name });
      const later = await begin(kit, kit.name('later'), { interval: SHORT });
      await kit.store.release(later);
      await kit.until('the interval should be due', async () => {
        const { missed: isDue } = await history(kit).miss(missOf(later.name, { grace: 0 }));
        return isDue;
      });
      await notMissed(kit, missOf(name, { grace: HOUR }), 'a miss of an interval within its grace');
      let result: MissResult = { missed: false };
      await kit.until('the interval should count as missed', async () => {
        result = await history(kit).miss(missOf(name, { grace: SHORT }));
        return result.missed;
      });
      const due = lease.fencingToken / 1_000 + SHORT;
      const isDue = Math.abs(Number(result.tick) - due) < ROUNDING;
      check(isDue, () => `the first miss should tell when it was due (${due}), but got ${show(result)}`);
      const again = await history(kit).miss(missOf(name, { grace: SHORT }));
      answers(again, { ...result }, 'a later miss of the same interval');
    },
  },
];
