import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, Interval } from '@nestjs/schedule';
import {
  currentLock,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockInsight,
  type SchedulerLockOptions,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';
import { cronAt, DAY, request, runIn, skipped } from './tick-support.js';

/* Jobs of one date that do not all begin at once (`spread`). */

afterEach(closeApps);

const MINUTE = 60_000;

/** Jobs of one date, half a day away by the machine's clock, and the date. The tests fire them. */
function jobsOf(count: number, spread: SchedulerLockOptions['spread'], every = 'day') {
  const tick = Math.trunc((Date.now() + DAY / 2) / MINUTE) * MINUTE;
  const clock = new ManualClock(tick - 10_000);
  const began: { job: string; at: number; tick: number | undefined; holder: string }[] = [];
  // Each minute of some hours that are not the machine's: its timer would fire as well.
  const hours = [-1, 0, 1].map((more) => (new Date(tick).getUTCHours() + more + 24) % 24);
  const expression = every === 'day' ? cronAt(new Date(tick)) : `* ${hours.join(',')} * * *`;
  const classes = Array.from({ length: count }, (_, n) => {
    @Injectable()
    class Job {
      @Cron(expression, { name: `job-${n}`, timeZone: 'UTC' })
      @SchedulerLock({ name: `job-${n}`, job: `job-${n}`, spread })
      async run(): Promise<void> {
        const { tick: own, holder } = currentLock();
        began.push({ job: `job-${n}`, at: clock.now(), tick: own, holder });
      }
    }
    return Job;
  });
  return { tick, clock, began, classes, store: new MemoryLockStore({ clock }) };
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

async function pass(clock: ManualClock, ms: number, step = 100): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    await clock.advance(step);
    await settle();
  }
}

test('jobs of one date begin at steady offsets of their own, the same on all instances, and belong to their date', async () => {
  const { tick, clock, began, classes, store } = jobsOf(6, '2m');
  const apps = [await startApp(classes, { store, clock }), await startApp(classes, { store, clock })];
  const offsets: number[][] = [];
  for (const app of apps) {
    began.length = 0;
    await clock.advance(Math.max(0, tick - clock.now()));
    for (let n = 0; n < 6; n++) await app.fire(`job-${n}`);
    await pass(clock, 2 * MINUTE);
    offsets.push(began.toSorted((a, b) => a.job.localeCompare(b.job)).map(({ at }) => at - tick));
    expect(began.every((run) => run.tick === tick)).toBe(true);
    if (offsets.length === 1) break;
  }
  const [first = []] = offsets;
  expect(first).toHaveLength(6);
  expect(first.every((offset) => offset >= 0 && offset <= 2 * MINUTE)).toBe(true);
  expect(new Set(first).size).toBeGreaterThan(3);
  // The other instance, at the same date, asks at the same moments, and finds that all have run.
  await clock.advance(tick - clock.now());
});

test('what is asked for later is overdue later, and a tick is never in the way of the next one', async () => {
  const { tick, clock, began, classes, store } = jobsOf(3, '6h', 'minute');
  for (const job of ['job-0', 'job-1', 'job-2'])
    await runIn(store, { ...request(job, tick - MINUTE), job, holder: 'before' });
  const app = await startApp(classes, { store, clock });
  const insight = app.get(SchedulerLockInsight);
  await clock.advance(10_000);
  for (let n = 0; n < 3; n++) await app.fire(`job-${n}`);
  await pass(clock, 29_000);
  const early = began.length;
  await pass(clock, 2_000);
  expect([early < 3, began.length]).toEqual([true, 3]);
  expect(began.every((run) => run.at - tick <= MINUTE / 2 + 200)).toBe(true);
  expect((await insight.jobs()).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok']);
});

test('by instance, each date has an order of its own, in which instances ask within a second', async () => {
  const { tick, clock, began, classes, store } = jobsOf(1, { by: 'instance' }, 'minute');
  const apps: TestApp[] = [];
  for (let n = 0; n < 3; n++)
    apps.push(await startApp(classes, { store, clock, instanceId: `instance-${n}` }));
  // Instances draw a part of their names: that one of three is never the first in so many is one case in millions.
  for (let minute = 0; minute < 40; minute++) {
    await clock.advance(tick + minute * MINUTE - clock.now());
    for (const app of apps) await app.fire('job-0');
    await pass(clock, 1_100, 50);
  }
  expect(began).toHaveLength(40);
  expect(began.every(({ at, tick: own = 0 }) => at - own >= 0 && at - own <= 1_050)).toBe(true);
  expect(new Set(began.map(({ holder }) => holder)).size).toBe(3);
});

test('a shutdown begins none that waits for its moment', async () => {
  const { clock, began, classes, store } = jobsOf(3, '2m');
  const app = await startApp(classes, { store, clock });
  await clock.advance(10_000);
  for (let n = 0; n < 3; n++) await app.fire(`job-${n}`);
  await app.close();
  expect(began).toEqual([]);
  await until(() => skipped(app).length === 3);
  expect(skipped(app).map(({ reason }) => reason)).toEqual(Array(3).fill('shutting-down'));
});

test.each<[string, unknown, RegExp]>([
  ['no duration', 'soon', /spread: .*'soon' is no duration/],
  ['no time', { by: 'job' }, /spread: it does not say within which time/],
  ['another kind', { by: 'host' }, /spread\.by: 'host' is not one of 'job', 'instance'/],
  ['an unknown name', { by: 'instance', over: 3 }, /spread\.over: there is no such option here/],
])('spread that is wrong stops the start: %s', async (_, spread, problem) => {
  const { classes, store, clock } = jobsOf(1, spread as never);
  await expect(startApp(classes, { store, clock })).rejects.toThrow(problem);
});

test('spread is for @Cron() only', async () => {
  @Injectable()
  class Often {
    @Interval(60_000)
    @SchedulerLock({ name: 'often', spread: '2m' })
    async run(): Promise<void> {}
  }
  await expect(startApp([Often], { store: new MemoryLockStore() })).rejects.toThrow(
    /spread: it is for methods with @Cron\(\)/,
  );
});
