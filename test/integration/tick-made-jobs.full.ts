import 'reflect-metadata';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, type CronOptions, SchedulerRegistry } from '@nestjs/schedule';
import { MemoryLockStore, SchedulerLock } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';
import { CronTime } from './support/cron.js';
import { acquired, cronAt, DAY, daily, skipped } from './tick-support.js';

afterEach(closeApps);

/** A job that fires on each instance when a test says so; its own is the first of the scheduler's cron jobs. */
function jobs(expression: string | Date, options?: CronOptions) {
  @Injectable()
  class Jobs {
    @Cron(expression, options)
    @SchedulerLock({ name: 'first', job: 'first' })
    async first(): Promise<void> {}

    @Cron(expression, options?.name === undefined ? options : { ...options, name: 'second' })
    @SchedulerLock({ name: 'second', job: 'second' })
    async second(): Promise<void> {}
  }
  return Jobs;
}

async function fleet(...parameters: Parameters<typeof jobs>): Promise<[TestApp, TestApp]> {
  const store = new MemoryLockStore();
  const [one, two] = [
    await startApp([jobs(...parameters)], { store }),
    await startApp([jobs(...parameters)], { store }),
  ];
  return [one, two];
}

const cronJobs = (app: TestApp) => [...app.get(SchedulerRegistry).getCronJobs().values()];

/** Fires the job in this place on one instance after the other, and waits until each has decided. */
async function fire(apps: readonly TestApp[], place: number): Promise<void> {
  for (const app of apps) {
    const decided = (): number => acquired(app).length + skipped(app).length;
    const before = decided();
    void cronJobs(app)[place]?.fireOnTick();
    await until(() => decided() > before);
  }
}

describe('a job has the ticks of the cron job that was made of it', () => {
  test('also where cron fires it while it makes it, as its date has just passed', async () => {
    const { expression, tick } = daily();
    const store = new MemoryLockStore();
    const warn = jest.spyOn(console, 'warn').mockReturnValue();
    // What `cron` finds in the first look at its clock: the date that came in the milliseconds before.
    const timeout = jest.spyOn(CronTime.prototype, 'getTimeout');
    const apps: TestApp[] = [];
    try {
      for (let i = 0; i < 2; i++) {
        timeout.mockReturnValueOnce(-1);
        apps.push(await startApp([jobs(expression, { timeZone: 'UTC' })], { store }));
      }
    } finally {
      timeout.mockRestore();
      warn.mockRestore();
    }
    await until(() => apps.every((app) => acquired(app).length + skipped(app).length === 1));
    expect(acquired(...apps).map(({ job, tick: started }) => [job, started])).toEqual([['first', tick]]);
    expect(apps.flatMap(skipped)).toMatchObject([{ job: 'first', callTick: tick }]);
  });

  test('also without a name, when its time is changed, whatever another one of its expression does', async () => {
    const { expression } = daily();
    const later = Math.trunc(Date.now() / 1_000) * 1_000 - 10_000;
    const apps = await fleet(expression, { timeZone: 'UTC' });
    for (const app of apps) {
      const time = new CronTime(cronAt(new Date(later)), 'UTC');
      cronJobs(app)[0]?.setTime(time as never);
    }
    await fire(apps, 0);
    await fire(apps, 1);
    expect(acquired(...apps).map(({ job, tick }) => [job, tick])).toEqual([
      ['first', later],
      ['second', later - 20_000],
    ]);
    expect(apps.flatMap(skipped).map(({ reason }) => reason)).toEqual(['already-ran', 'already-ran']);
  });

  test.each([
    ['timeZone', { timeZone: '' }],
    ['name', { name: '', timeZone: 'UTC' }],
  ])('also with an empty %s, as configuration may give it', async (_, options) => {
    const { expression, tick } = daily();
    const apps = await fleet(expression, options);
    await fire(apps, 0);
    expect(acquired(...apps).map((event) => event.tick)).toEqual([tick]);
    expect(apps.flatMap(skipped)).toMatchObject([{ reason: 'already-ran', callTick: tick }]);
  });
});

test('a job that is fired in the scheduler before its only date runs there, and belongs to no tick', async () => {
  const app = await startApp([jobs(new Date(Date.now() + DAY))]);
  await fire([app], 0);
  await until(() => app.events.some(({ type }) => type === 'released'));
  await fire([app], 0);
  await until(() => acquired(app).length === 2);
  expect(acquired(app).map(({ job, tick }) => [job, tick])).toEqual([
    ['first', undefined],
    ['first', undefined],
  ]);
});
