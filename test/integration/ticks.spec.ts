import 'reflect-metadata';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression, Interval, ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  currentLock,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
  SchedulerLockService,
  type SchedulerLockEvent,
} from '../../lib/index.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await provideRedis();
}, 120_000);
afterAll(async () => {
  await redis.stop();
});

async function fleet(
  size: number,
  job: new () => object,
): Promise<{ apps: TestingModule[]; events: SchedulerLockEvent[]; close(): Promise<void> }> {
  const keyPrefix = uniquePrefix();
  const events: SchedulerLockEvent[] = [];
  const apps = await Promise.all(
    Array.from({ length: size }, async (_, i) => {
      const app = await Test.createTestingModule({
        imports: [
          ScheduleModule.forRoot(),
          SchedulerLockModule.forRoot({ connection: redis.url, keyPrefix, instanceId: `instance-${i}` }),
        ],
        providers: [job],
      })
        .setLogger(new Logger())
        .compile();
      app.get(SchedulerLockEvents).on((event) => void events.push(event));
      await app.init();
      return app;
    }),
  );
  return { apps, events, close: async () => void (await Promise.all(apps.map((app) => app.close()))) };
}

const count = (events: SchedulerLockEvent[], type: string): number =>
  events.filter((event) => event.type === type).length;

test('a job that ends at once runs once per tick over the fleet, on the tick of its expression', async () => {
  @Injectable()
  class Quick {
    @Cron(CronExpression.EVERY_SECOND)
    @SchedulerLock()
    async run(): Promise<void> {
      ticks.push(currentLock().tick ?? Number.NaN);
    }
  }
  const ticks: number[] = [];
  const { events, close } = await fleet(3, Quick);
  // Each instance decides on each tick: all three of four ticks.
  await until(() => count(events, 'acquired') >= 4 && count(events, 'skipped') >= 8);
  await close();
  expect(new Set(ticks).size).toBe(ticks.length);
  expect(ticks.every((tick) => tick % 1_000 === 0)).toBe(true);
}, 60_000);

test('an interval runs once per interval over the fleet, whatever the phases', async () => {
  @Injectable()
  class Regular {
    @Interval(400)
    @SchedulerLock()
    async run(): Promise<void> {
      starts.push(currentLock().fencingToken ?? Number.NaN);
    }
  }
  const starts: number[] = [];
  const { close } = await fleet(3, Regular);
  await until(() => starts.length >= 6);
  await close();
  // Fencing tokens are Redis' time in microseconds here, so starts are compared on the store's own clock.
  const gaps = starts.slice(1).map((start, i) => start - (starts[i] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0.9 * 400_000);
}, 60_000);

test('a call by hand carries no tick and runs whenever the lock is free', async () => {
  @Injectable()
  class Rare {
    @Cron('0 0 0 1 1 *')
    @SchedulerLock()
    async run(): Promise<number | undefined> {
      return currentLock().tick ?? -1;
    }
  }
  const { apps, close } = await fleet(1, Rare);
  const job = apps[0]?.get(Rare);
  expect(await job?.run()).toBe(-1);
  expect(await job?.run()).toBe(-1);
  await close();
});

test('a tick given to run() starts once, and none older than it', async () => {
  const { apps, close } = await fleet(2, class Nothing {});
  const [first, second] = apps.map((app) => app.get(SchedulerLockService));
  const tick = Date.now();
  expect(await first?.run('dynamic', { job: 'report', tick }, () => 'ran')).toEqual({
    ran: true,
    value: 'ran',
  });
  expect(await second?.run('dynamic', { job: 'report', tick }, () => 'ran')).toMatchObject({
    ran: false,
    reason: 'already-ran',
    tick,
    finished: true,
  });
  expect(await second?.run('dynamic', { job: 'report', tick: tick - 1 }, () => 'ran')).toMatchObject({
    ran: false,
    reason: 'already-ran',
  });
  expect(await second?.run('dynamic', { job: 'other', tick }, () => 'ran')).toMatchObject({ ran: true });
  const future = Date.now() + 3_600_000;
  expect(await second?.run('dynamic', { job: 'report', tick: future }, () => 'ran')).toMatchObject({
    ran: false,
    reason: 'clock-skew',
    tick: future,
  });
  await close();
});
