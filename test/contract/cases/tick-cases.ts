import { answers, check } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, SHORT } from './kit.js';
import { attempt, JOB, OTHER, start, TICK } from './tick-moves.js';

const INTERRUPTED = { outcome: 'aborted' } as const;

/** Rule 4: which ticks may start. */
export const tickCases: readonly CaseDefinition[] = [
  {
    rule: '4.1',
    sentence: 'a tick that was started is refused for good, and so is an older one; a newer one is not',
    async run(kit) {
      const name = kit.name();
      await start(kit, name);
      const refused = { acquired: false, reason: 'already-ran', tick: TICK, finished: true };
      answers((await attempt(kit, name, {}))[0], refused, 'the second attempt for a tick');
      answers((await attempt(kit, name, { tick: TICK - 1 }))[0], refused, 'an attempt for an older tick');
      await start(kit, name, { tick: TICK + 1 });
    },
  },
  {
    rule: '4.1',
    sentence: 'a tick is refused also when its lease has expired without a release',
    async run(kit) {
      const name = kit.name();
      await attempt(kit, name, { ttl: SHORT });
      const [lease] = await kit.takeExpired(name, 'after the lease of a tick');
      if (lease !== undefined) await kit.store.release(lease);
      const refused = { acquired: false, reason: 'already-ran', tick: TICK, finished: false };
      answers((await attempt(kit, name, {}))[0], refused, 'a second attempt for the tick');
    },
  },
  {
    rule: '4.6',
    sentence: 'jobs under one lock have ticks of their own',
    async run(kit) {
      const name = kit.name();
      await start(kit, name);
      await start(kit, name, { job: OTHER });
      answers((await attempt(kit, name, {}))[0], { reason: 'already-ran' }, 'the second attempt for a tick');
    },
  },
  {
    rule: '4.6',
    sentence: 'a call without a tick is not refused because of a tick, and does not change it',
    async run(kit) {
      const name = kit.name();
      await start(kit, name);
      await kit.store.release(await kit.take(name, { job: JOB }));
      answers((await attempt(kit, name, {}))[0], { reason: 'already-ran' }, 'the second attempt for a tick');
    },
  },
  {
    rule: '4.6',
    sentence: 'the end of a call without a tick does not count as the end of the interrupted tick before it',
    async run(kit) {
      const name = kit.name();
      await attempt(kit, name, { rerun: 1, ttl: SHORT });
      for (const lease of await kit.takeExpired(name, 'after the lease of a tick'))
        await kit.store.release(lease);
      const [again] = await attempt(kit, name, { rerun: 1 });
      answers(again, { acquired: true, attempt: 2 }, 'a rerun after a call without a tick');
    },
  },
  {
    rule: '4.6',
    sentence: 'a tick of a lock without a job runs once, too',
    async run(kit) {
      const [name, tick] = [kit.name(), TICK];
      await kit.store.release(await kit.take(name, { tick }));
      const again = await kit.store.acquire(kit.request(name, { tick, rerun: 1 }));
      answers(
        again,
        { acquired: false, reason: 'already-ran', finished: true },
        'a second attempt for the tick',
      );
    },
  },
  {
    rule: '4.2',
    sentence: "a tick too far in the future of the store's clock is refused with the store's time",
    async run(kit) {
      const tick = 8_000_000_000_000;
      const [result] = await attempt(kit, kit.name(), { tick, maxClockSkew: HOUR });
      answers(result, { acquired: false, reason: 'clock-skew' }, 'an attempt for a tick in 200 years');
      const storeTime = result.acquired ? undefined : result.storeTime;
      check(
        storeTime !== undefined && storeTime > 0 && storeTime < tick - HOUR,
        () => `storeTime should be the store's time, but is ${String(storeTime)}`,
      );
      const [allowed] = await attempt(kit, kit.name('far'), { tick });
      answers(allowed, { acquired: true }, 'the same without maxClockSkew');
    },
  },
  {
    rule: '4.5',
    sentence: 'an interrupted run is repeated as often as rerun says, and the attempts are counted',
    async run(kit) {
      const name = kit.name();
      await start(kit, name, { rerun: 2 }, INTERRUPTED);
      answers(
        (await attempt(kit, name, {}))[0],
        { reason: 'already-ran', finished: false },
        'an attempt without rerun',
      );
      answers(await start(kit, name, { rerun: 2 }, INTERRUPTED), { attempt: 2 }, 'the second run');
      answers(await start(kit, name, { rerun: 2 }, INTERRUPTED), { attempt: 3 }, 'the third run');
      const [fourth] = await attempt(kit, name, { rerun: 2 });
      answers(fourth, { acquired: false, reason: 'already-ran' }, 'the fourth run');
    },
  },
  {
    rule: '4.5',
    sentence: 'a run that has ended is not repeated, however it ended',
    async run(kit) {
      for (const outcome of ['completed', 'hollow', 'failed', 'timed-out'] as const) {
        const name = kit.name(outcome);
        await start(kit, name, { rerun: 1 }, { outcome });
        const [result] = await attempt(kit, name, { rerun: 1 });
        answers(result, { reason: 'already-ran', finished: true }, `a rerun of a run that was ${outcome}`);
      }
    },
  },
  {
    rule: '4.1',
    sentence: 'a refusal while the tick is running says so',
    async run(kit) {
      const name = kit.name();
      await attempt(kit, name, {});
      const [result] = await attempt(kit, name, { rerun: 1 });
      answers(
        result,
        { reason: 'held', tick: TICK, finished: false },
        'an attempt while the tick is running',
      );
    },
  },
  {
    rule: '4.7',
    sentence: 'only: known and interrupted refuse what never started',
    async run(kit) {
      const name = kit.name();
      for (const only of ['known', 'interrupted'] as const) {
        const [result] = await attempt(kit, name, { only, rerun: 1 });
        answers(result, { acquired: false, reason: 'already-ran' }, `a first start with only: '${only}'`);
      }
      await start(kit, name);
      const newer = { tick: TICK + 1, rerun: 1 };
      const [refused] = await attempt(kit, name, { ...newer, only: 'interrupted' });
      answers(refused, { reason: 'already-ran' }, "a new tick with only: 'interrupted'");
      await start(kit, name, { ...newer, only: 'known' }, INTERRUPTED);
      await start(kit, name, { ...newer, only: 'interrupted' });
    },
  },
  {
    rule: '4.8',
    sentence: 'the answer to a start says if the last start came from another schedule',
    async run(kit) {
      const name = kit.name();
      await start(kit, name, { schedule: 'nightly' });
      const same = await start(kit, name, { tick: TICK + 1, schedule: 'nightly' });
      answers(same, { previousSchedule: undefined }, 'a start from the same schedule');
      const other = await start(kit, name, { tick: TICK + 2, schedule: 'hourly' });
      answers(other, { previousSchedule: 'nightly' }, 'a start from another schedule');
    },
  },
  {
    rule: '4.9',
    sentence:
      'a run that failed is tried again once `retryIn` has passed, as its next attempt, and not before',
    async run(kit) {
      const failed = (retryIn: number) => ({ outcome: 'failed', retryIn }) as const;
      const early = kit.name('early');
      await start(kit, early, { rerun: 5 }, failed(HOUR));
      const [refused] = await attempt(kit, early, { rerun: 5 });
      answers(
        refused,
        { acquired: false, reason: 'already-ran', tick: TICK, finished: false },
        'an attempt before its time',
      );
      const left = refused.acquired ? undefined : refused.expiresIn;
      check(
        left !== undefined && left > HOUR / 2 && left <= HOUR,
        () => `expiresIn should be what is left of retryIn, but is ${String(left)}`,
      );
      const due = kit.name('due');
      await start(kit, due, {}, failed(SHORT));
      await kit.wait(2 * SHORT);
      const [second, lease] = await attempt(kit, due, { only: 'interrupted' });
      answers(second, { acquired: true, attempt: 2 }, 'an attempt when its time has come');
      await kit.store.release(lease, { outcome: 'failed' });
      const [third] = await attempt(kit, due, {});
      answers(third, { reason: 'already-ran', finished: true }, 'an attempt after the last one');
    },
  },
  {
    rule: '4.9',
    sentence:
      'a tick whose run is to be tried again is not finished where its lock is taken, and over where a newer one began',
    async run(kit) {
      const name = kit.name();
      await start(kit, name, {}, { outcome: 'failed', retryIn: SHORT });
      const other = await kit.take(name);
      answers(
        (await attempt(kit, name, {}))[0],
        { reason: 'held', tick: TICK, finished: false },
        'an attempt while somebody else has the lock',
      );
      await kit.store.release(other);
      await start(kit, name, { tick: TICK + 1 });
      await kit.wait(2 * SHORT);
      const [late] = await attempt(kit, name, {});
      answers(late, { reason: 'already-ran', tick: TICK + 1 }, 'an attempt after a newer tick');
    },
  },
  {
    rule: '4.5',
    sentence: 'an acquire of a rerun that is sent again answers with its attempt',
    async run(kit) {
      const name = kit.name();
      await start(kit, name, { rerun: 1 }, INTERRUPTED);
      const request = kit.request(name, { job: JOB, tick: TICK, rerun: 1 });
      const first = await kit.store.acquire(request);
      answers(first, { acquired: true, attempt: 2 }, 'the second run');
      answers(await kit.store.acquire(request), { ...first }, 'the same acquire, sent again');
    },
  },
];
