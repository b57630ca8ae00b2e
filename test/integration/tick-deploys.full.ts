import 'reflect-metadata';
import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { type Duration, currentLock, SchedulerLock } from '../../lib/index.js';
import { until } from '../support/until.js';
import { gate, startApp, type TestApp } from './app.js';
import {
  acquired,
  daily,
  dieIn,
  fireAndWait,
  fleetsOnRedis,
  plainStore,
  request,
  runIn,
  skipped,
} from './tick-support.js';

/** Two versions of an application side by side, as during a rolling deploy. */

const shared = fleetsOnRedis();

interface Version {
  readonly expression: string;
  readonly timeZone?: string;
  /** Options of its decorator. */
  readonly lock?: { name?: string; job?: string; ttl?: Duration; rerun?: number };
  readonly work?: () => Promise<void>;
}

/** One version of `OldJobs`, whose job only fires when a test says so. */
function oldJobs({ expression, timeZone = 'UTC', lock = {}, work }: Version) {
  @Injectable()
  class OldJobs {
    @Cron(expression, { name: lock.job ?? 'OldJobs.report', timeZone, disabled: true })
    @SchedulerLock(lock)
    async report(): Promise<void> {
      await work?.();
    }
  }
  return OldJobs;
}

/** The same job after its class was renamed. */
function newJobs({ expression, lock = {} }: Version) {
  @Injectable()
  class NewJobs {
    @Cron(expression, { name: lock.job ?? 'NewJobs.report', timeZone: 'UTC', disabled: true })
    @SchedulerLock(lock)
    async report(): Promise<void> {}
  }
  return NewJobs;
}

const ticksOf = (...apps: TestApp[]): (number | undefined)[] => acquired(...apps).map(({ tick }) => tick);
const mismatches = (app: TestApp): number => app.events.filter((event) => 'mismatch' in event).length;

/** A daily expression (UTC) and its newest tick, `seconds` ago. */
function dailyAgo(seconds: number): { expression: string; tick: number } {
  const tick = Math.trunc(Date.now() / 1_000) * 1_000 - seconds * 1_000;
  const date = new Date(tick);
  return { expression: `${date.getUTCSeconds()} ${date.getUTCMinutes()} ${date.getUTCHours()} * * *`, tick };
}

test('a changed schedule runs at the dates of both versions as long as both are up, and never goes back to an older one', async () => {
  const options = shared();
  const [before, after] = [dailyAgo(120), dailyAgo(60)];
  const old = await startApp([oldJobs(before)], options);
  const next = await startApp([oldJobs(after)], options);
  await fireAndWait(old, 'OldJobs.report');
  await fireAndWait(next, 'OldJobs.report');
  expect(ticksOf(old)).toEqual([before.tick]);
  expect(ticksOf(next)).toEqual([after.tick]);
  // Late on the old version: its date is older than what the new one has started.
  await fireAndWait(old, 'OldJobs.report');
  expect(skipped(old)).toMatchObject([{ reason: 'already-ran', tick: after.tick }]);
  expect([mismatches(old), mismatches(next)]).toEqual([0, 1]);
});

test('with catchUp the newest date of a changed schedule is run at the deploy, once', async () => {
  const options = { ...shared(), catchUp: '1h' } as const;
  const store = await plainStore(options);
  const after = dailyAgo(60);
  await runIn(store, request('report', after.tick - 60_000, { schedule: 'the one before' }));
  @Injectable()
  class Jobs {
    @Cron(after.expression, { timeZone: 'UTC' })
    @SchedulerLock({ name: 'report', job: 'report' })
    async report(): Promise<void> {}
  }
  const first = await startApp([Jobs], options);
  await until(() => acquired(first).length === 1);
  expect(ticksOf(first)).toEqual([after.tick]);
  expect(mismatches(first)).toBe(1);
  const second = await startApp([Jobs], options);
  await until(() => skipped(second).length === 1);
  expect(ticksOf(second)).toEqual([]);
});

test('the same dates written in another way are the same ticks, with one warning', async () => {
  const options = shared();
  const { expression, tick } = dailyAgo(60);
  const [second, minute, hour] = expression.split(' ');
  const old = await startApp([oldJobs({ expression })], options);
  const next = await startApp(
    [oldJobs({ expression: `${second}-${second} ${minute} ${hour} * * *` })],
    options,
  );
  await fireAndWait(old, 'OldJobs.report');
  await fireAndWait(next, 'OldJobs.report');
  expect(ticksOf(old, next)).toEqual([tick]);
  expect(skipped(next)).toMatchObject([{ reason: 'already-ran', tick, finished: true }]);
});

test('another time zone has dates of its own: the later ones run, the earlier ones are refused, with a warning', async () => {
  const options = shared();
  const { expression, tick } = dailyAgo(60);
  const inUtc = await startApp([oldJobs({ expression })], options);
  const inKolkata = await startApp([oldJobs({ expression, timeZone: 'Asia/Kolkata' })], options);
  // Of today or of yesterday, but before that of UTC.
  await fireAndWait(inKolkata, 'OldJobs.report');
  const [earlier = Infinity] = ticksOf(inKolkata);
  expect(earlier).toBeLessThan(tick);
  await fireAndWait(inUtc, 'OldJobs.report');
  await fireAndWait(inKolkata, 'OldJobs.report');
  expect(ticksOf(inUtc)).toEqual([tick]);
  expect(skipped(inKolkata)).toMatchObject([{ reason: 'already-ran', tick }]);
  expect(mismatches(inUtc)).toBe(1);
});

test('a renamed class is another job with another lock: a tick runs on both versions', async () => {
  const options = shared();
  const { expression, tick } = daily();
  const old = await startApp([oldJobs({ expression })], options);
  const next = await startApp([newJobs({ expression })], options);
  await fireAndWait(old, 'OldJobs.report');
  await fireAndWait(next, 'NewJobs.report');
  expect(ticksOf(old, next)).toEqual([tick, tick]);
});

test('a renamed class with the old name as its `job` is the same job: a tick runs once', async () => {
  const options = shared();
  const { expression, tick } = daily();
  const old = await startApp([oldJobs({ expression })], options);
  const next = await startApp([newJobs({ expression, lock: { job: 'OldJobs.report' } })], options);
  await fireAndWait(old, 'OldJobs.report');
  await fireAndWait(next, 'OldJobs.report');
  expect(ticksOf(old, next)).toEqual([tick]);
  expect(skipped(next)).toMatchObject([{ reason: 'already-ran', tick, job: 'OldJobs.report' }]);
});

test('a renamed class with only its lock name kept is not run at the same time, but once more for the same tick', async () => {
  const options = shared();
  const { expression, tick } = daily();
  const { opened, open } = gate();
  const work = (): Promise<void> => opened;
  const lock = { name: 'report' };
  const old = await startApp([oldJobs({ expression, lock, work })], options);
  const next = await startApp([newJobs({ expression, lock })], options);
  await old.fire('OldJobs.report');
  await until(() => acquired(old).length === 1);
  await fireAndWait(next, 'NewJobs.report');
  expect(skipped(next)).toMatchObject([{ reason: 'held' }]);
  open();
  await until(() => old.events.some(({ type }) => type === 'released'));
  await fireAndWait(next, 'NewJobs.report');
  expect(ticksOf(old, next)).toEqual([tick, tick]);
});

test('versions with different ttls exclude each other, and know the same ticks', async () => {
  const { expression, tick } = daily();
  for (const [mine, theirs] of [
    ['1s', '1m'],
    ['1m', '1s'],
  ] as const) {
    const options = shared();
    const { opened, open } = gate();
    const old = await startApp([oldJobs({ expression, lock: { ttl: mine }, work: () => opened })], options);
    const next = await startApp([oldJobs({ expression, lock: { ttl: theirs } })], options);
    await old.fire('OldJobs.report');
    await until(() => acquired(old).length === 1);
    await fireAndWait(next, 'OldJobs.report');
    const [refusal] = skipped(next);
    expect(refusal).toMatchObject({ reason: 'held', tick, finished: false });
    // It is the holder's ttl that counts.
    expect((refusal?.expiresIn ?? 0) > 1_000).toBe(mine === '1m');
    open();
    await until(() => old.events.some(({ type }) => type === 'released'));
    await fireAndWait(next, 'OldJobs.report');
    expect(ticksOf(old, next)).toEqual([tick]);
  }
});

test('a new version with another ttl and rerun takes over from an old one that was killed, when its lease is over', async () => {
  const { expression, tick } = daily();
  const options = shared();
  const attempts: number[] = [];
  const work = async (): Promise<void> => void attempts.push(currentLock().attempt);
  const store = await plainStore(options);
  await dieIn(store, { ...request('OldJobs.report', tick, { ttl: 1_000 }) });
  const next = await startApp([oldJobs({ expression, lock: { ttl: '1m', rerun: 1 }, work })], options);
  await next.fire('OldJobs.report');
  await until(() => attempts.length > 0);
  expect(attempts).toEqual([2]);
});
