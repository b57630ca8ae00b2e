import 'reflect-metadata';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { CronExpression, SchedulerRegistry } from '@nestjs/schedule';
import { type Lock, SchedulerLockService, tickOf } from '../../lib/index.js';
import { until } from '../support/until.js';
import { startApp, type TestApp } from './app.js';
import { CronJob } from './support/cron.js';
import { shiftClocks } from './support/shifted-clock.js';
import { acquired, fleetsOnRedis, skipped } from './tick-support.js';

afterEach(() => void jest.restoreAllMocks());
const shared = fleetsOnRedis();

const timeZone = 'UTC';
/** By how much the second clock is ahead, ms: when the first one fires, the job of the second has long ended. */
const AHEAD = 400;
/** Ticks that both instances have decided on. */
const TICKS = 3;

/** Two instances, one of which has a wrong clock, that make the same job. */
async function fleet(make: (app: TestApp) => void): Promise<[TestApp, TestApp]> {
  const at = shiftClocks();
  const options = shared();
  const start = async (): Promise<TestApp> => {
    const app = await startApp([], options);
    make(app);
    return app;
  };
  return [await at(0, start), await at(AHEAD, start)];
}

const jobOf = (app: TestApp, name: string) => app.get(SchedulerRegistry).getCronJob(name);

describe('a cron job that is made at run time', () => {
  test('runs once per tick over the fleet, whatever the clocks say', async () => {
    const runs: Lock[] = [];
    const apps = await fleet((app) => {
      app
        .get(SchedulerLockService)
        .cron('report', CronExpression.EVERY_SECOND, { timeZone }, (lock) => void runs.push(lock));
    });
    await until(() => apps.every((app) => acquired(app).length + skipped(app).length >= TICKS));
    for (const app of apps) void jobOf(app, 'report').stop();
    const ticks = runs.map(({ tick }) => tick ?? 0);
    expect(ticks.filter((tick) => tick % 1_000 !== 0)).toEqual([]);
    expect([...new Set(ticks)]).toEqual(ticks);
    expect(runs[0]).toMatchObject({ name: 'report', job: 'report', attempt: 1 });
    expect(apps.flatMap(skipped).map(({ reason }) => reason)).toContain('already-ran');
  });
});

test('a cron job that calls run() with tickOf() has the ticks that a decorated one has', async () => {
  const ticks: (number | undefined)[] = [];
  const apps = await fleet((app) => {
    const onTick = (): unknown =>
      app.get(SchedulerLockService).run('own', { tick: tickOf(job) }, ({ tick }) => void ticks.push(tick));
    const job = CronJob.from({ cronTime: CronExpression.EVERY_SECOND, onTick, start: true });
    app.get(SchedulerRegistry).addCronJob('own', job as never);
  });
  await until(() => apps.every((app) => acquired(app).length + skipped(app).length >= TICKS));
  for (const app of apps) void jobOf(app, 'own').stop();
  expect(ticks.filter((tick = 1) => tick % 1_000 !== 0)).toEqual([]);
  expect([...new Set(ticks)]).toEqual(ticks);
  expect(apps.flatMap(skipped).map(({ reason }) => reason)).toContain('already-ran');
});

test('an interval that is made at run time runs once per interval over the fleet', async () => {
  const runs: Lock[] = [];
  const apps = await fleet((app) =>
    app.get(SchedulerLockService).interval('poll', 400, (lock) => void runs.push(lock)),
  );
  await until(() => runs.length > 4);
  for (const app of apps) app.get(SchedulerRegistry).deleteInterval('poll');
  // Fencing tokens are Redis' time in microseconds here, and an interval is due by its milliseconds.
  const starts = runs.map(({ fencingToken = 0 }) => Math.floor(fencingToken / 1_000));
  const gaps = starts.slice(1).map((at, i) => at - (starts[i] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0.9 * 400);
});
