import { afterEach, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import {
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockHealth,
  SchedulerLockInsight,
} from '../../lib/index.js';
import { FakeLockStore, ManualClock } from '../../lib/testing/index.js';
import { closeApps, gate, startApp } from './app.js';

/* How jobs are, as a whole application and the readers of its store know it. */

const MINUTE = 60_000;

@Injectable()
class Jobs {
  readonly gate = gate();

  @Cron('0 0 3 * * *', { timeZone: 'UTC' })
  @SchedulerLock({ name: 'each', oncePerTick: false })
  async each(): Promise<void> {}

  @Cron('0 0 5 * * *', { timeZone: 'UTC' })
  @SchedulerLock({ name: 'any-time', ttl: '1m', timeout: '5m', overdue: false })
  async anyTime(): Promise<void> {
    await this.gate.opened;
  }

  @SchedulerLock({ name: 'by-hand', ttl: '1m', timeout: '5m' })
  async byHand(): Promise<void> {
    await this.gate.opened;
  }

  @SchedulerLock<[tenant: string]>({ name: (tenant) => `tenant-${tenant}`, ttl: '1m', timeout: '5m' })
  async perTenant(_tenant: string): Promise<void> {
    await this.gate.opened;
  }

  @Cron('0 0 4 * * *', { name: 'nightly', timeZone: 'UTC' })
  @SchedulerLock({ name: 'scheduled', ttl: '1m', timeout: '5m' })
  async scheduled(): Promise<void> {
    await this.gate.opened;
  }
}

afterEach(closeApps);

test('a run that ignores its timeout is told of, as long as it goes on: its lock is free, and nobody runs the job again', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
  const store = new FakeLockStore({ clock });
  const app = await startApp([Jobs], { store, clock, insight: { beat: '30s' } });
  const [jobs, insight, health] = [
    app.get(Jobs),
    app.get(SchedulerLockInsight),
    app.get(SchedulerLockHealth),
  ];
  const hung: string[] = [];
  app.get(SchedulerLockEvents).on('hung', ({ job }) => void hung.push(job));
  await clock.advance(0);
  const run = jobs.scheduled();
  await clock.advance(4 * MINUTE);
  expect(await insight.job('Jobs.scheduled')).toMatchObject({ status: 'running' });
  await clock.advance(10 * MINUTE);
  expect(await store.inspect(['scheduled'])).toMatchObject([{ state: 'free' }]);
  expect(await insight.job('Jobs.scheduled')).toMatchObject({ status: 'hung', attention: true });
  expect(await insight.why('Jobs.scheduled')).toMatchObject({ cause: 'hung' });
  expect((await health.check()).schedulerLock).toMatchObject({
    status: 'degraded',
    hung: ['Jobs.scheduled'],
  });
  expect(hung).toEqual(['Jobs.scheduled']);
  await clock.advance(70 * MINUTE);
  expect(hung).toHaveLength(2);
  jobs.gate.open();
  await run.catch(() => undefined);
  expect((await health.check()).schedulerLock).toMatchObject({ hung: [] });
});

test.each(['anyTime', 'byHand'] as const)(
  'a run that hangs of a job that is never overdue is told of, too: %s',
  async (method) => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
    const store = new FakeLockStore({ clock });
    const app = await startApp([Jobs], { store, clock, insight: { beat: '30s' } });
    const hung: string[] = [];
    app.get(SchedulerLockEvents).on('hung', ({ job }) => void hung.push(job));
    await clock.advance(0);
    const run = app.get(Jobs)[method]();
    await clock.advance(14 * MINUTE);
    const health = app.get(SchedulerLockHealth);
    expect(hung).toEqual([`Jobs.${method}`]);
    expect((await health.check()).schedulerLock).toMatchObject({ status: 'degraded', hung });
    app.get(Jobs).gate.open();
    await run.catch(() => undefined);
    expect((await health.check()).schedulerLock).toMatchObject({ hung: [], failing: hung });
  },
);

test('a run that hangs is told of, too, if its lock is named by a function of its arguments', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
  const store = new FakeLockStore({ clock });
  const app = await startApp([Jobs], { store, clock, insight: { beat: '30s' } });
  const [insight, health] = [app.get(SchedulerLockInsight), app.get(SchedulerLockHealth)];
  const hung: (string | undefined)[] = [];
  app.get(SchedulerLockEvents).on('hung', ({ job, lock }) => void hung.push(`${job} ${lock}`));
  await clock.advance(5 * MINUTE);
  expect((await health.check()).schedulerLock).toMatchObject({ status: 'up', unknown: [], failing: [] });
  const runs = ['one', 'two'].map((tenant) => app.get(Jobs).perTenant(tenant));
  await clock.advance(14 * MINUTE);
  expect(hung.sort()).toEqual(['Jobs.perTenant tenant-one', 'Jobs.perTenant tenant-two']);
  expect((await health.check()).schedulerLock).toMatchObject({
    status: 'degraded',
    hung: ['Jobs.perTenant'],
  });
  expect(await insight.job('Jobs.perTenant')).toMatchObject({ status: 'hung', attention: true });
  await clock.advance(60 * MINUTE);
  expect(hung).toHaveLength(4);
  app.get(Jobs).gate.open();
  await Promise.allSettled(runs);
  await clock.advance(MINUTE);
  expect((await health.check()).schedulerLock).toMatchObject({ hung: [], unknown: [] });
});

test('whoever reads the store hears of a run that hangs when its instance says so, not with the next beat', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
  const store = new FakeLockStore({ clock });
  const app = await startApp([Jobs], { store, clock, insight: { beat: '5m' } });
  const [jobs, insight, hung] = [app.get(Jobs), app.get(SchedulerLockInsight), [] as number[]];
  app.get(SchedulerLockEvents).on('hung', ({ at }) => void hung.push(at));
  await clock.advance(0);
  const run = jobs.scheduled();
  await clock.advance(6 * MINUTE + 2_000);
  expect(hung).toHaveLength(1);
  expect(await insight.job('Jobs.scheduled')).toMatchObject({ status: 'hung' });
  jobs.gate.open();
  await run.catch(() => undefined);
});

test('a job of which each instance runs each tick is never overdue: nobody knows which ticks were started', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
  const store = new FakeLockStore({ clock });
  const app = await startApp([Jobs], { store, clock });
  await clock.advance(0);
  await app.get(Jobs).each();
  await clock.advance(5 * MINUTE);
  expect(await app.get(SchedulerLockInsight).job('Jobs.each')).toMatchObject({
    status: 'ok',
    attention: false,
  });
  expect((await app.get(SchedulerLockHealth).check()).schedulerLock).toMatchObject({ overdue: [] });
});

test('a job that is stopped on the only instance is off, to all that ask', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
  const store = new FakeLockStore({ clock });
  const app = await startApp([Jobs], { store, clock, insight: { beat: '30s' } });
  await clock.advance(0);
  const cronJob = app.get(SchedulerRegistry).getCronJob('nightly');
  void cronJob.stop();
  await clock.advance(70 * MINUTE);
  const insight = app.get(SchedulerLockInsight);
  const off = { status: 'off', attention: false };
  expect(await insight.job('Jobs.scheduled')).toMatchObject(off);
  const { sentence } = await insight.why('Jobs.scheduled');
  expect(sentence).toMatch(/^It is switched off \(its cron job was stopped\) on /);
  const { jobs } = app.get(SchedulerLockHealth).state();
  expect(jobs.get('Jobs.scheduled')).toMatchObject(off);
  cronJob.start();
  await clock.advance(MINUTE);
  expect(await insight.job('Jobs.scheduled')).not.toMatchObject(off);
});

test('a cron job that is stopped and started again and again is told with each beat, and the list of jobs only once', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
  const store = new FakeLockStore({ clock });
  const beat = jest.spyOn(store.history, 'beat');
  const app = await startApp([Jobs], { store, clock, insight: { beat: '30s' } });
  const insight = app.get(SchedulerLockInsight);
  const cronJob = app.get(SchedulerRegistry).getCronJob('nightly');
  const stoppedThere = async (): Promise<string[]> => {
    const [here] = await insight.instances();
    return here!.jobs.filter(({ stopped }) => stopped).map(({ job }) => job);
  };
  await clock.advance(0);
  for (let n = 0; n < 25; n++) {
    void cronJob.stop();
    await clock.advance(MINUTE);
    expect(await stoppedThere()).toEqual(['Jobs.scheduled']);
    cronJob.start();
    await clock.advance(MINUTE);
    expect(await stoppedThere()).toEqual([]);
  }
  expect(new Set(beat.mock.calls.map(([{ catalogue }]) => catalogue)).size).toBe(1);
  expect(beat.mock.calls.filter(([{ jobs }]) => jobs !== undefined)).toHaveLength(1);
});

test('a decorated job that was deleted from the registry has no judgement, and is watched again when it is put back', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 3, 58));
  const store = new FakeLockStore({ clock });
  const app = await startApp([Jobs], { store, clock, insight: { beat: '30s' } });
  const [registry, health] = [app.get(SchedulerRegistry), app.get(SchedulerLockHealth)];
  const cronJob = registry.getCronJob('nightly');
  registry.deleteCronJob('nightly');
  await clock.advance(MINUTE);
  expect(health.state().jobs.has('Jobs.scheduled')).toBe(false);
  expect((await health.check()).schedulerLock).toMatchObject({ status: 'up', unknown: [] });
  registry.addCronJob('nightly', cronJob);
  cronJob.start();
  await clock.advance(4 * MINUTE);
  const overdue = [{ job: 'Jobs.scheduled', tick: '2026-01-01T04:00:00.000Z' }];
  expect((await health.check()).schedulerLock).toMatchObject({ overdue });
  registry.deleteCronJob('nightly');
  await clock.advance(MINUTE);
  expect((await health.check()).schedulerLock).toMatchObject({ status: 'up', overdue: [] });
  const [{ jobs = [] } = {}] = await store.history.instances();
  expect(jobs.map(({ job }) => job)).toEqual(['Jobs.each', 'Jobs.anyTime', 'Jobs.byHand', 'Jobs.perTenant']);
});
