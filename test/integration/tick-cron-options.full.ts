import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { currentLock, MemoryLockStore, SchedulerLock } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { acquired, DAY, daily, fireAndWait, plainStore, request, runIn, skipped } from './tick-support.js';

afterEach(closeApps);

/** The ticks that a job has run for, on all instances. */
const ticksOf = (job: string, ...apps: TestApp[]): number[] =>
  acquired(...apps)
    .filter((event) => event.job === job)
    .map(({ tick }) => tick ?? NaN);

const ascending = (a: number, b: number): number => a - b;

/** Keeps the event loop busy. */
const block = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

test('ticks of a job with a threshold, and of one that fires late because the event loop was busy, are its dates', async () => {
  const late: { tick: number; at: number }[] = [];
  @Injectable()
  class Jobs {
    @Cron(CronExpression.EVERY_SECOND, { threshold: 5_000 })
    @SchedulerLock({ job: 'tolerant' })
    async tolerant(): Promise<void> {
      late.push({ tick: currentLock().tick ?? NaN, at: Date.now() });
    }
  }
  const store = new MemoryLockStore();
  const apps = await Promise.all([startApp([Jobs], { store }), startApp([Jobs], { store })]);
  await until(() => late.length >= 1);
  // Beyond the next date, and the one after it may be missed.
  block(1_500);
  await until(() => late.length >= 3);
  // In the order in which they ran, on either instance.
  const ticks = late.map(({ tick }) => tick);
  expect(ticks.toSorted(ascending)).toEqual(ticksOf('tolerant', ...apps).toSorted(ascending));
  expect(ticks.every((tick) => tick % 1_000 === 0)).toBe(true);
  expect(ticks).toEqual([...new Set(ticks)].toSorted(ascending));
  expect(late.every(({ tick, at }) => tick <= at)).toBe(true);
});

test('with oncePerTick: false a tick runs as often as it is fired, one run at a time', async () => {
  const { expression } = daily();
  const running = gate();
  const ticks: (number | undefined)[] = [];
  @Injectable()
  class Jobs {
    @Cron(expression, { name: 'often', timeZone: 'UTC' })
    @SchedulerLock({ name: 'often', job: 'often', oncePerTick: false })
    async often(): Promise<void> {
      ticks.push(currentLock().tick);
      await running.opened;
    }
  }
  const store = new MemoryLockStore();
  await runIn(store, request('often', Date.now() - DAY));
  const options = { store, catchUp: '1h', rerun: 1 } as const;
  const [one, two] = await Promise.all([startApp([Jobs], options), startApp([Jobs], options)]);
  const fired = one.fire('often');
  await until(() => acquired(one).length === 1);
  await fireAndWait(two, 'often');
  expect(skipped(two)).toMatchObject([{ reason: 'held' }]);
  running.open();
  await fired;
  await until(() => one.events.some(({ type }) => type === 'released'));
  await fireAndWait(two, 'often');
  await fireAndWait(one, 'often');
  // Nor was there a tick to catch up with.
  expect(ticks).toStrictEqual([undefined, undefined, undefined]);
});

test('a job for one Date has it as its tick, to the millisecond, and runs on one instance', async () => {
  const date = new Date(Date.now() + 3_000);
  @Injectable()
  class Jobs {
    @Cron(date)
    @SchedulerLock({ job: 'once' })
    async once(): Promise<void> {}
  }
  const store = new MemoryLockStore();
  const apps = await Promise.all([startApp([Jobs], { store }), startApp([Jobs], { store })]);
  await until(() =>
    apps.every(({ events }) => events.some((event) => 'job' in event && event.job === 'once')),
  );
  expect(ticksOf('once', ...apps)).toEqual([date.getTime()]);
});

test('an offset from UTC is that of the ticks', async () => {
  const tick = Math.trunc(Date.now() / 1_000) * 1_000 - 30_000;
  // Read as UTC, it shows the time of day five and a half hours east of it.
  const there = new Date(tick + 330 * 60_000);
  const expression = `${there.getUTCSeconds()} ${there.getUTCMinutes()} ${there.getUTCHours()} * * *`;
  @Injectable()
  class Jobs {
    @Cron(expression, { name: 'offset', utcOffset: 330 })
    @SchedulerLock({ job: 'offset' })
    async offset(): Promise<void> {}
  }
  const app = await startApp([Jobs]);
  await fireAndWait(app, 'offset');
  expect(ticksOf('offset', app)).toEqual([tick]);
});

test('a job with an initialDelay has ticks from then on, and is not caught up before', async () => {
  const begin = Date.now();
  const nightly = new Date(begin - 30_000);
  const expression = `${nightly.getUTCSeconds()} ${nightly.getUTCMinutes()} ${nightly.getUTCHours()} * * *`;
  const caughtUp: number[] = [];
  @Injectable()
  class Jobs {
    @Cron(CronExpression.EVERY_SECOND, { initialDelay: 1_500 })
    @SchedulerLock({ job: 'delayed' })
    async delayed(): Promise<void> {}

    @Cron(expression, { timeZone: 'UTC', initialDelay: 1_500 })
    @SchedulerLock({ name: 'nightly', job: 'nightly', catchUp: '1h' })
    async nightly(): Promise<void> {
      caughtUp.push(Date.now());
    }
  }
  const options = { store: new MemoryLockStore() };
  const store = await plainStore(options);
  const tick = Math.trunc(nightly.getTime() / 1_000) * 1_000;
  await runIn(store, request('nightly', tick - DAY));
  const app = await startApp([Jobs], options);
  await until(() => ticksOf('delayed', app).length > 0 && caughtUp.length > 0);
  expect(Math.min(...ticksOf('delayed', app), ...caughtUp)).toBeGreaterThanOrEqual(begin + 1_500);
  expect(ticksOf('nightly', app)).toEqual([tick]);
  expect(skipped(app)).toEqual([]);
});
