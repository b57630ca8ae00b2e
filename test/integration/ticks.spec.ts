import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression, Interval, ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  type Duration,
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
const open = new Set<Fleet>();
// Also after a test that failed half-way: an application left open keeps the run from ending.
afterEach(async () => {
  for (const fleet of open) await fleet.close();
});
afterAll(async () => {
  await redis.stop();
});

interface Fleet {
  readonly apps: TestingModule[];
  readonly events: SchedulerLockEvent[];
  close(): Promise<void>;
}

async function fleet(
  size: number,
  job: new () => object,
  {
    keyPrefix = uniquePrefix(),
    shutdownTimeout = '25s',
  }: { keyPrefix?: string; shutdownTimeout?: Duration } = {},
): Promise<Fleet> {
  const events: SchedulerLockEvent[] = [];
  const apps = await Promise.all(
    Array.from({ length: size }, async (_, i) => {
      const app = await Test.createTestingModule({
        imports: [
          ScheduleModule.forRoot(),
          SchedulerLockModule.forRoot({
            connection: redis.url,
            keyPrefix,
            shutdownTimeout,
            instanceId: `instance-${i}`,
          }),
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
  const fleet: Fleet = {
    apps,
    events,
    close: async () => {
      if (open.delete(fleet)) await Promise.all(apps.map((app) => app.close()));
    },
  };
  open.add(fleet);
  return fleet;
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
      // Fencing tokens are Redis' time in microseconds here, and an interval is due by its milliseconds.
      starts.push(Math.floor((currentLock().fencingToken ?? Number.NaN) / 1_000));
    }
  }
  const starts: number[] = [];
  const { close } = await fleet(3, Regular);
  await until(() => starts.length >= 6);
  await close();
  const gaps = starts.slice(1).map((start, i) => start - (starts[i] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0.9 * 400);
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

/** A cron expression whose newest tick was half a minute ago, and whose next one is a day later. */
function daily(): { expression: string; tick: number } {
  const tick = Math.trunc(Date.now() / 1_000) * 1_000 - 30_000;
  const date = new Date(tick);
  return { expression: `${date.getUTCSeconds()} ${date.getUTCMinutes()} ${date.getUTCHours()} * * *`, tick };
}

const attempts = (events: SchedulerLockEvent[], job: string): (number | undefined)[] =>
  events.flatMap((event) => (event.type === 'acquired' && event.job === job ? [event.attempt] : []));

test('a tick that nobody started runs once when instances start, with catchUp; one of a new job does not', async () => {
  const { expression, tick } = daily();
  const runs: string[] = [];
  @Injectable()
  class Nightly {
    @Cron(expression, { timeZone: 'UTC' })
    @SchedulerLock({ name: 'known', job: 'known', catchUp: '1h' })
    async known(): Promise<void> {
      runs.push(`known ${currentLock().tick}`);
    }

    @Cron(expression, { timeZone: 'UTC' })
    @SchedulerLock({ name: 'new', job: 'new', catchUp: '1h' })
    async fresh(): Promise<void> {
      runs.push('new');
    }

    @Cron(expression, { timeZone: 'UTC' })
    @SchedulerLock({ name: 'late', job: 'late', catchUp: '10s' })
    async late(): Promise<void> {
      runs.push('late');
    }
  }
  const keyPrefix = uniquePrefix();
  const before = await fleet(1, class Nothing {}, { keyPrefix });
  const locks = before.apps[0]?.get(SchedulerLockService);
  for (const job of ['known', 'late']) {
    expect(await locks?.run(job, { job, tick: tick - 86_400_000 }, () => 'ran')).toMatchObject({ ran: true });
  }
  await before.close();
  const { events, close } = await fleet(3, Nightly, { keyPrefix });
  await until(() => count(events, 'skipped') >= 5 && count(events, 'released') >= 1);
  await close();
  expect(runs).toEqual([`known ${tick}`]);
}, 60_000);

test('a run that a shutdown interrupted is repeated by one of the others, at most as often as rerun says', async () => {
  const { expression, tick } = daily();
  @Injectable()
  class Long {
    @Cron(expression, { timeZone: 'UTC' })
    @SchedulerLock({ name: 'long', job: 'long', ttl: '1s', catchUp: '1h', rerun: 1 })
    async run(): Promise<void> {
      const { signal } = currentLock();
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    }
  }
  const keyPrefix = uniquePrefix();
  const before = await fleet(1, class Nothing {}, { keyPrefix });
  const locks = before.apps[0]?.get(SchedulerLockService);
  await locks?.run('long', { job: 'long', tick: tick - 86_400_000 }, () => 'ran');
  await before.close();

  const first = await fleet(1, Long, { keyPrefix, shutdownTimeout: '1ms' });
  await until(() => count(first.events, 'acquired') === 1);
  const others = await fleet(2, Long, { keyPrefix, shutdownTimeout: '1ms' });
  await until(() => count(others.events, 'skipped') >= 2);
  await first.close();
  await until(() => count(others.events, 'acquired') === 1);
  expect(attempts(first.events, 'long')).toEqual([1]);
  expect(attempts(others.events, 'long')).toEqual([2]);

  const late = await fleet(1, Long, { keyPrefix, shutdownTimeout: '1ms' });
  await others.close();
  await until(() => late.events.some((event) => event.type === 'skipped' && event.reason === 'already-ran'));
  await late.close();
  expect(attempts(late.events, 'long')).toEqual([]);
}, 60_000);
