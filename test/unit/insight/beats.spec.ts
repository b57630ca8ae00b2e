import { expect, test } from '@jest/globals';
import { Beats, type ShownJob } from '../../../lib/insight/beats.js';
import type { Beat, HistoryStore } from '../../../lib/contract/history-store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const JOB: ShownJob = {
  job: 'report',
  kind: 'hand',
  enabled: true,
  overdue: false,
  next: undefined,
  last: undefined,
};

test('the list of jobs is told once, and anew each hour, as somebody may have damaged it in the store', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const told: Beat[] = [];
  const history = {
    beat(beat: Beat) {
      told.push(beat);
      return Promise.resolve({ time: clock.now(), known: true });
    },
  } as unknown as HistoryStore;
  const beats = new Beats(history, clock, {
    instance: 'here',
    version: undefined,
    every: 60_000,
    jobs: () => [JOB],
    leads: () => [],
    hung: () => [],
    kept: { count: 1, age: 1 },
    answered: () => undefined,
  });
  const lists = (): number => told.filter(({ jobs }) => jobs !== undefined).length;
  beats.start();
  await clock.advance(50 * 60_000);
  expect(told.length).toBeGreaterThan(45);
  expect(lists()).toBe(1);
  await clock.advance(20 * 60_000);
  expect(lists()).toBe(2);
  await clock.advance(24 * 3_600_000);
  expect(lists()).toBeLessThan(28);
  await beats.stop();
});
