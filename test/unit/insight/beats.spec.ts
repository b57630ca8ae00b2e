import { expect, test } from '@jest/globals';
import { Beats, type ShownJob } from '../../../lib/insight/beats.js';
import type { Beat, HistoryStore } from '../../../lib/contract/history-store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const JOB: ShownJob = {
  job: 'report',
  kind: 'hand',
  enabled: true,
  overdue: false,
};

/** An instance that beats each minute. */
function started(jobs: () => ShownJob[]) {
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
    jobs,
    leads: () => [],
    hung: () => [],
    kept: { count: 1, age: 1 },
    answered: () => undefined,
  });
  beats.start();
  return { beats, clock, told };
}

test('jobs that are made one per turn are told together, within a second', async () => {
  const jobs = [JOB];
  const { beats, clock, told } = started(() => jobs);
  await clock.advance(30_000);
  expect(told).toHaveLength(1);
  for (let n = 1; n <= 200; n++) {
    jobs.push({ ...JOB, job: `made-${n}` });
    beats.soon();
    await clock.advance(1);
  }
  // The first one at once.
  expect(told).toHaveLength(2);
  await clock.advance(1_000);
  expect(told).toHaveLength(3);
  expect(told[2]?.jobs).toHaveLength(201);
  beats.soon();
  await beats.stop();
  expect(told).toHaveLength(4);
});

test('a clock that is corrected says since when the instance is up by its new time', async () => {
  const { beats, clock, told } = started(() => [JOB]);
  await clock.advance(30_000);
  clock.setWallClock(clock.now() + 3_600_000);
  await clock.advance(30_000);
  const [first, second] = told.map(({ startedAt }) => startedAt);
  expect(Number(second) - Number(first)).toBe(3_600_000);
  await beats.stop();
});

test('the list of jobs is told once', async () => {
  const { beats, clock, told } = started(() => [JOB]);
  await clock.advance(24 * 3_600_000);
  expect(told.length).toBeGreaterThan(45);
  expect(told.filter(({ jobs }) => jobs !== undefined)).toHaveLength(1);
  await beats.stop();
});
