import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { CronExpression, SchedulerRegistry } from '@nestjs/schedule';
import {
  currentLock,
  type CronJobOptions,
  type Lock,
  MemoryLockStore,
  SchedulerLockService,
  type SchedulerLockModuleOptions,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { acquired, daily, DAY, dieIn, request, runIn, skipped } from './tick-support.js';

afterEach(closeApps);

const timeZone = 'UTC';
const EVERY_SECOND = CronExpression.EVERY_SECOND;
const locksOf = (app: TestApp): SchedulerLockService => app.get(SchedulerLockService);
const decided = (app: TestApp): number => acquired(app).length + skipped(app).length;

/** Turns of the event loop in which a job that is to run has long begun. */
async function turns(): Promise<void> {
  let count = 0;
  const probe = setInterval(() => (count += 1), 10);
  await until(() => count > 20);
  clearInterval(probe);
}

test('fireOnTick() is a fire of the schedule: it starts the newest tick, once over the fleet', async () => {
  const { expression, tick } = daily();
  const store = new MemoryLockStore();
  const ticks: unknown[] = [];
  for (const n of [1, 2]) {
    const app = await startApp([], { store });
    const job = locksOf(app).cron('report', expression, { timeZone }, (lock) => void ticks.push(lock.tick));
    job.fireOnTick();
    const over = n === 1 ? 'released' : 'skipped';
    await until(() => app.events.some(({ type }) => type === over));
  }
  expect(ticks).toStrictEqual([tick]);
});

describe('a tick that nobody started', () => {
  // Taken once: a second later it would be another tick.
  const { expression, tick } = daily();

  const known = async (store: MemoryLockStore): Promise<void> => runIn(store, request('report', tick - DAY));

  /** An instance that makes the job, either when it starts or later, and then does something with it. */
  async function make(
    options: SchedulerLockModuleOptions,
    early: boolean,
    given: CronJobOptions,
    then: (app: TestApp) => void = () => undefined,
  ): Promise<{ app: TestApp; runs: Lock[] }> {
    const runs: Lock[] = [];
    const create = (locks: SchedulerLockService): unknown =>
      locks.cron('report', expression, { timeZone, ...given }, (lock) => void runs.push(lock));
    @Injectable()
    class Early {
      constructor(private readonly locks: SchedulerLockService) {}
      onModuleInit(): void {
        if (early) create(this.locks);
      }
    }
    const app = await startApp([Early], options);
    if (!early) create(locksOf(app));
    then(app);
    return { app, runs };
  }

  const places = [
    ['when the application starts', true],
    ['later', false],
  ] as const;

  test.each(places)('is run late with catchUp where the job is made %s', async (_, early) => {
    const store = new MemoryLockStore();
    await known(store);
    const { runs } = await make({ store }, early, { catchUp: '1h' });
    await until(() => runs.length > 0);
    expect(runs[0]?.tick).toBe(tick);
    const other = await make({ store }, early, { catchUp: '1h' });
    await until(() => decided(other.app) > 0);
    expect(skipped(other.app)).toMatchObject([{ reason: 'already-ran' }]);
  });

  test.each(places)(
    'is run again with rerun if it was interrupted, by a job that is made %s',
    async (_, early) => {
      const store = new MemoryLockStore();
      await dieIn(store, request('report', tick, { ttl: 300 }));
      const { runs } = await make({ store }, early, { rerun: 1 });
      await until(() => runs.length > 0);
      expect(runs[0]).toMatchObject({ attempt: 2 });
    },
  );

  test.each(places)('is not run for a job of which nothing is known, made %s', async (_, early) => {
    const { app, runs } = await make({ store: 'memory' }, early, { catchUp: '1h' });
    await until(() => decided(app) > 0);
    expect(skipped(app)).toMatchObject([{ reason: 'already-ran' }]);
    expect(runs).toEqual([]);
  });

  const ends: [string, boolean, (registry: SchedulerRegistry) => void][] = places.flatMap(([when, early]) => [
    [`made ${when} and stopped`, early, (registry) => void registry.getCronJob('report').stop()],
    [`made ${when} and deleted`, early, (registry) => registry.deleteCronJob('report')],
  ]);
  test.each(ends)('is not run for a job that was %s', async (_, early, end) => {
    const store = new MemoryLockStore();
    await known(store);
    const { app, runs } = await make({ store }, early, { catchUp: '1h', rerun: 1 }, ({ get }) =>
      end(get(SchedulerRegistry)),
    );
    await turns();
    expect([decided(app), runs.length]).toEqual([0, 0]);
  });

  test.each([
    ['stopped', (registry: SchedulerRegistry) => void registry.getCronJob('report').stop()],
    ['deleted', (registry: SchedulerRegistry) => registry.deleteCronJob('report')],
  ])(
    'because the lock was taken is not run when that comes free, if the job was %s by then',
    async (_, end) => {
      const store = new MemoryLockStore();
      await known(store);
      await dieIn(store, { name: 'report', token: 'other', ttl: 500, holder: 'other' });
      const { app, runs } = await make({ store }, false, { catchUp: '1h' });
      await until(() => skipped(app).length > 0);
      end(app.get(SchedulerRegistry));
      const free = async (): Promise<boolean> => (await locksOf(app).run('report', () => undefined)).ran;
      await until(free);
      await turns();
      expect(runs).toEqual([]);
    },
  );
});

describe('a cron job that is made at run time', () => {
  test('is made anew after it was deleted, with another expression', async () => {
    const app = await startApp([]);
    const runs: string[] = [];
    const registry = app.get(SchedulerRegistry);
    locksOf(app).cron('report', daily().expression, { timeZone, catchUp: '1h' }, () => void runs.push('old'));
    registry.deleteCronJob('report');
    locksOf(app).cron('report', EVERY_SECOND, { timeZone }, () => void runs.push('new'));
    await until(() => runs.length > 0);
    expect(runs).not.toContain('old');
  });

  test('is not started if it is disabled, until it is started by hand', async () => {
    const app = await startApp([]);
    const begun: string[] = [];
    const off = locksOf(app).cron('off', EVERY_SECOND, { cron: { disabled: true } }, () => begun.push('off'));
    locksOf(app).cron('on', EVERY_SECOND, () => begun.push('on'));
    await until(() => begun.filter((job) => job === 'on').length > 1);
    expect(begun).not.toContain('off');
    off.start();
    await until(() => begun.includes('off'));
  });

  test('that throws is told of in the log, and goes on', async () => {
    const app = await startApp([]);
    let runs = 0;
    locksOf(app).cron('report', EVERY_SECOND, () => {
      runs += 1;
      throw new Error('on purpose');
    });
    await until(() => runs > 1);
    expect(app.logs.own).toContain('error: Error: on purpose');
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'released', outcome: 'failed' }));
  });

  test('runs outside of the lock of the job that has made it', async () => {
    const app = await startApp([]);
    const locks = locksOf(app);
    const results: unknown[] = [];
    const { opened, open } = gate();
    const askForOuter = async (): Promise<void> => {
      const { ran } = await locks.run('outer', () => undefined);
      results.push(ran);
    };
    const outer = locks.run('outer', async () => {
      locks.cron('again', EVERY_SECOND, askForOuter);
      locks.interval('poll', 100, askForOuter);
      await opened;
    });
    await until(() => ['again', 'poll'].every((name) => acquired(app).some(({ job }) => job === name)));
    await until(() => results.length > 1);
    open();
    await outer;
    expect(results.slice(0, 2)).toEqual([false, false]);
  });

  test('has the lock that it was given, and is the job of its name', async () => {
    const app = await startApp([]);
    const runs: Lock[] = [];
    locksOf(app).cron('registered', EVERY_SECOND, { lock: 'locked' }, (lock) => {
      runs.push(lock, currentLock());
    });
    await until(() => runs.length > 0);
    expect(runs.map(({ name, job }) => [name, job])).toEqual([
      ['locked', 'registered'],
      ['locked', 'registered'],
    ]);
    expect(app.get(SchedulerRegistry).getCronJob('registered')).toBeDefined();
  });

  test('is waited for by a shutdown, and fires no more after it', async () => {
    const app = await startApp([]);
    const { opened, open } = gate();
    const seen: string[] = [];
    const job = locksOf(app).cron('report', EVERY_SECOND, async () => {
      seen.push('began');
      await opened;
      seen.push('ended');
    });
    locksOf(app).cron('off', EVERY_SECOND, { cron: { disabled: true } }, () => void seen.push('off'));
    locksOf(app).interval('poll', 50, () => undefined);
    await until(() => seen.length > 0);
    const closed = app.close().then(() => seen.push('closed'));
    open();
    await closed;
    expect(seen).toEqual(['began', 'ended', 'closed']);
    const registry = app.get(SchedulerRegistry);
    expect([...registry.getCronJobs().keys(), ...registry.getIntervals()]).toEqual([]);
    expect((job as unknown as { isActive: boolean }).isActive).toBe(false);
  });
});
