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
function started(jobs: () => ShownJob[], known = (_beat: Beat): boolean => true, took: number[] = []) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const ahead = clock.now() - clock.monotonic() + 5_000;
  const told: Beat[] = [];
  const history = {
    async beat(beat: Beat) {
      told.push(beat);
      const time = clock.monotonic() + ahead;
      const wait = took.shift() ?? 0;
      if (wait > 0) await new Promise<void>((resolve) => void clock.setTimer(resolve, wait));
      return { ...(beat.brief ? {} : { time }), known: known(beat) };
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

test('the store is asked for its clock and the list of jobs each quarter of an hour; beats between are brief', async () => {
  const { beats, clock, told } = started(() => [JOB]);
  await clock.advance(6 * 3_600_000);
  const full = told.filter(({ brief }) => brief === undefined);
  expect(told.length).toBeGreaterThan(360);
  expect(full.length).toBeGreaterThanOrEqual(6 * 4 - 1);
  expect(full.length).toBeLessThanOrEqual(6 * 4);
  expect(beats.clockOffset).toBe(5_000);
  await beats.stop();
});

test('a beat is not brief after this clock was set, so that its offset is right at once', async () => {
  const { beats, clock, told } = started(() => [JOB]);
  await clock.advance(120_000);
  expect(told.at(-1)).toMatchObject({ brief: true, clockOffset: 5_000 });
  clock.setWallClock(clock.now() - 3_000);
  await clock.advance(60_000);
  expect(told.at(-1)).not.toHaveProperty('brief');
  expect(beats.clockOffset).toBe(8_000);
  await clock.advance(60_000);
  expect(told.at(-1)).toMatchObject({ brief: true, clockOffset: 8_000 });
  await beats.stop();
});

test('a brief beat that the store does not know comes again at once, in full, and with the list if that is lost as well', async () => {
  let isLost = false;
  const { beats, clock, told } = started(
    () => [JOB],
    ({ jobs }) => !isLost || jobs !== undefined,
  );
  await clock.advance(120_000);
  const before = told.length;
  isLost = true;
  await clock.advance(60_000);
  const came = told.slice(before, before + 3).map(({ brief, jobs }) => [brief, jobs?.length]);
  expect(came).toEqual([
    [true, undefined],
    [undefined, undefined],
    [undefined, 1],
  ]);
  await beats.stop();
});

test('a slow answer says little of the clock: the next beat asks again', async () => {
  const { beats, clock, told } = started(() => [JOB], undefined, [6_000]);
  await clock.advance(30_000);
  // The store read its clock at the beginning of the six seconds, not half-way.
  expect(beats.clockOffset).toBe(2_000);
  await clock.advance(30_000);
  expect(told.at(-1)).not.toHaveProperty('brief');
  expect(beats.clockOffset).toBe(5_000);
  await clock.advance(60_000);
  expect(told.at(-1)).toHaveProperty('brief');
  await beats.stop();
});

test('the last beat is not brief, so that none of those before it comes later', async () => {
  const { beats, clock, told } = started(() => [JOB]);
  await clock.advance(120_000);
  expect(told.at(-1)).toHaveProperty('brief');
  await beats.stop();
  expect(told.at(-1)).toMatchObject({ left: true });
  expect(told.at(-1)).not.toHaveProperty('brief');
});
