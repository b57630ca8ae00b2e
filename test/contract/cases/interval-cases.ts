import { answers, check } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, SHORT } from './kit.js';

const JOB = 'Contract.job';

/** Rule 4: which starts an interval allows. */
export const intervalCases: readonly CaseDefinition[] = [
  {
    rule: '4.3',
    sentence: 'an interval is refused until it has passed, and says when it will have',
    async run(kit) {
      const name = kit.name();
      const interval = { job: JOB, interval: HOUR };
      await kit.store.release(await kit.take(name, interval));
      const result = await kit.store.acquire(kit.request(name, interval));
      answers(result, { acquired: false, reason: 'already-ran' }, 'an attempt within the interval');
      const wait = result.acquired ? undefined : result.expiresIn;
      check(
        wait !== undefined && wait > HOUR / 2 && wait <= HOUR * 0.9,
        () => `expiresIn should be at most nine tenths of the interval, but is ${String(wait)}`,
      );
    },
  },
  {
    rule: '4.3',
    sentence: 'an interval whose length was changed counts from its last start by the new length',
    async run(kit) {
      const name = kit.name('shorter');
      await kit.store.release(await kit.take(name, { job: JOB, interval: HOUR }));
      await kit.wait(SHORT);
      const shorter = await kit.store.acquire(kit.request(name, { job: JOB, interval: SHORT }));
      answers(shorter, { acquired: true }, `an attempt ${SHORT} ms later, by an interval as short`);
      const other = kit.name('longer');
      await kit.store.release(await kit.take(other, { job: JOB, interval: 1 }));
      await kit.wait(SHORT);
      const longer = await kit.store.acquire(kit.request(other, { job: JOB, interval: HOUR }));
      answers(longer, { acquired: false, reason: 'already-ran' }, 'an attempt by a longer interval');
    },
  },
  {
    rule: '4.3',
    sentence: 'an interval whose due time lies further ahead than an interval can put it may start at once',
    needs: ['setClockBack'],
    async run(kit) {
      const name = kit.name();
      const interval = { job: JOB, interval: HOUR };
      await kit.store.release(await kit.take(name, interval));
      await kit.setClockBack(name, HOUR / 20);
      const little = await kit.store.acquire(kit.request(name, interval));
      answers(little, { acquired: false, reason: 'already-ran' }, 'an attempt after three minutes back');
      await kit.setClockBack(name, 3 * HOUR);
      const far = kit.request(name, interval);
      const result = await kit.store.acquire(far);
      answers(result, { acquired: true }, 'an attempt after three hours back');
      if (result.acquired) await kit.store.release({ ...far, fencingToken: result.fencingToken });
      const next = await kit.store.acquire(kit.request(name, interval));
      answers(next, { acquired: false, reason: 'already-ran' }, 'the next attempt');
      const wait = next.acquired ? undefined : next.expiresIn;
      check(
        wait !== undefined && wait > HOUR / 2 && wait <= HOUR * 0.9,
        () => `expiresIn should be at most nine tenths of the interval, but is ${String(wait)}`,
      );
    },
  },
];
