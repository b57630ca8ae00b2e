import 'reflect-metadata';
import { afterEach, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { SchedulerLock } from '../../lib/index.js';
import { until } from '../support/until.js';
import { startApp, type TestApp } from './app.js';
import { acquired, daily, fireAndWait, fleetsOnRedis, skipped } from './tick-support.js';

// Hooks are called in the order of their registration: before the applications are closed.
afterEach(() => void jest.restoreAllMocks());
const shared = fleetsOnRedis();

/** A job that only fires when a test says so. */
function job(expression: string, timeZone = 'UTC', options: { oncePerTick?: boolean } = {}) {
  @Injectable()
  class Job {
    @Cron(expression, { name: 'report', timeZone, disabled: true })
    @SchedulerLock({ name: 'report', job: 'report', ...options })
    async run(): Promise<void> {}
  }
  return Job;
}

/** Fires the job until there is a tick that nobody has started. */
async function runNewTick(app: TestApp): Promise<void> {
  const before = acquired(app).length;
  await until(async () => {
    await fireAndWait(app, 'report');
    return acquired(app).length > before;
  });
}

/** What the applications have logged. All of it is in one of them: Nest has one logger for a process. */
const lines = (level: string, ...apps: TestApp[]): string[] =>
  apps.flatMap(({ logs }) => logs.own).filter((line) => line.startsWith(`${level}: `));

const mismatches = (app: TestApp) => app.events.filter((event) => 'mismatch' in event);

test('instances that disagree on the schedule of a job each say so once, in an event and a warning', async () => {
  const options = shared();
  const berlin = await startApp([job(CronExpression.EVERY_SECOND, 'Europe/Berlin')], options);
  const kolkata = await startApp([job(CronExpression.EVERY_SECOND, 'Asia/Kolkata')], options);
  for (let round = 0; round < 3; round++) {
    await runNewTick(berlin);
    await runNewTick(kolkata);
  }
  const [inBerlin, inKolkata] = ['Europe/Berlin', 'Asia/Kolkata'].map((zone) => `* * * * * * (${zone})`);
  expect(mismatches(kolkata)).toEqual([
    expect.objectContaining({ job: 'report', mismatch: { schedule: inKolkata, previousSchedule: inBerlin } }),
  ]);
  expect(mismatches(berlin)).toEqual([
    expect.objectContaining({ job: 'report', mismatch: { schedule: inBerlin, previousSchedule: inKolkata } }),
  ]);
  const warning = (here: string | undefined, before: string | undefined): string =>
    `warn: report: scheduled as "${here}" here, but its last start came from "${before}". ` +
    'If this is no deploy of a new schedule, give the job one expression and one timeZone on all instances: they have to agree on its ticks.';
  expect(lines('warn', berlin, kolkata)).toEqual([
    warning(inKolkata, inBerlin),
    warning(inBerlin, inKolkata),
  ]);
});

test('instances that agree on the schedule say nothing', async () => {
  const options = shared();
  const apps = [];
  for (const _ of [1, 2]) apps.push(await startApp([job(CronExpression.EVERY_SECOND)], options));
  for (const app of [...apps, ...apps]) await runNewTick(app);
  expect(apps.flatMap(mismatches)).toEqual([]);
});

test.each([
  ['of the lock', false, undefined, [1, 1]],
  ['of the module', undefined, false, [1, 1]],
  ['of the lock, which goes before that of the module', true, false, [1, 0]],
  ['not given', undefined, undefined, [1, 0]],
])(
  'whether another instance may run the same tick again is told by oncePerTick %s',
  async (_, own, all, runs) => {
    const options = { ...shared(), oncePerTick: all };
    const given = own === undefined ? {} : { oncePerTick: own };
    const { expression, tick } = daily();
    const apps = [];
    for (const _ of [1, 2]) apps.push(await startApp([job(expression, 'UTC', given)], options));
    for (const app of apps) await fireAndWait(app, 'report');
    expect(apps.map((app) => acquired(app).length)).toEqual(runs);
    // Without it no tick is kept, so nobody else is refused for it either.
    const kept = own ?? all ?? true;
    expect(acquired(...apps).map((event) => event.tick)).toEqual(
      runs.filter((count) => count > 0).map(() => (kept ? tick : undefined)),
    );
  },
);

const HOUR = 3_600_000;

test('an instance whose clock is far ahead runs nothing, says so with both times, and locks nobody out', async () => {
  const options = shared();
  const ahead = await startApp([job(CronExpression.EVERY_SECOND)], options);
  const right = await startApp([job(CronExpression.EVERY_SECOND)], options);
  const now = Date.now.bind(Date);
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + HOUR);
  await fireAndWait(ahead, 'report');
  clock.mockRestore();
  const [refusal] = skipped(ahead);
  expect(refusal).toMatchObject({ reason: 'clock-skew', job: 'report' });
  const { at = 0, tick = 0, storeTime = 0 } = refusal ?? {};
  expect(tick).toBeGreaterThan(storeTime + 60_000);
  expect(storeTime).toBeLessThan(at - HOUR / 2);
  const errors = lines('error', ahead, right);
  expect(errors).toHaveLength(1);
  for (const time of [tick, at, storeTime]) expect(errors[0]).toContain(new Date(time).toISOString());
  expect(errors[0]).toContain('either may be wrong');
  await runNewTick(right);
  expect(acquired(right)).toHaveLength(1);
});
