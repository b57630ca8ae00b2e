import { answers, check } from './assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, SHORT } from './kit.js';

const JOB = 'Contract.job';

/** Rule 4: what may start by an interval. */
export const intervalCases: readonly CaseDefinition[] = [
  {
    rule: 4,
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
    rule: 4,
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
];
