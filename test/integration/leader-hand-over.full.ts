import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { Cron, Interval, SchedulerRegistry } from '@nestjs/schedule';
import { createRequire } from 'node:module';
import {
  type Duration,
  currentLock,
  MemoryLockStore,
  SchedulerLeader,
  SchedulerLock,
  StoreUnavailableError,
} from '../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { elected, leads, occupied } from './leader-support.js';
import { acquired, cronAt, DAY, daily, dieIn, request, runIn, skipped } from './tick-support.js';

/** The class that `@nestjs/schedule` fires by: its own copy of `cron`. */
const { CronJob } = createRequire(createRequire(import.meta.url).resolve('@nestjs/schedule'))('cron') as {
  CronJob: new (cronTime: string, onTick: () => void) => never;
};

afterEach(closeApps);

const TTL = 900;
const options = (store: MemoryLockStore) => ({ store, leader: { name: 'main', ttl: TTL } });

describe('a new leader', () => {
  /** A daily job whose newest tick was half a minute ago. */
  function nightly(ttl?: Duration) {
    const { expression, tick } = daily();
    const runs: (number | undefined)[] = [];
    @Injectable()
    class Nightly {
      @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock({ name: 'nightly', job: 'nightly', ttl })
      async run(): Promise<void> {
        runs.push(currentLock().tick);
      }
    }
    return { Nightly, runs, tick };
  }
  const long = (store: MemoryLockStore) => ({ store, leader: { name: 'main', ttl: '1m' } as const });
  const brief = (store: MemoryLockStore) => ({ ...options(store), shutdownTimeout: 1_000 });
  /** Who stands by leads within 3 s when it can. */
  const soon = (store: MemoryLockStore) => ({ store, leader: { name: 'main', ttl: '9s' } as const });

  test('runs the newest tick that nobody started', async () => {
    const { Nightly, runs, tick } = nightly();
    const store = new MemoryLockStore();
    await runIn(store, request('nightly', tick - DAY));
    const app = await startApp([Nightly], long(store));
    await until(() => runs.length === 1);
    expect(runs).toEqual([tick]);
    expect(acquired(app)).toMatchObject([{ lock: 'main' }, { job: 'nightly', tick, attempt: 1 }]);
  });

  test('waits for the lease that its predecessor has left behind', async () => {
    const { Nightly, runs, tick } = nightly();
    const store = new MemoryLockStore();
    await dieIn(store, request('nightly', tick - DAY));
    await startApp([Nightly], long(store));
    await until(() => runs.length === 1);
    expect(runs).toEqual([tick]);
  });

  test('tries again where the store does not answer for the job', async () => {
    const { Nightly, runs, tick } = nightly();
    class Unsteady extends MemoryLockStore {
      failures = 0;
      override acquire(lease: AcquireRequest): Promise<AcquireResult> {
        if (lease.only === undefined || (this.failures += 1) > 1) return super.acquire(lease);
        return Promise.reject(new StoreUnavailableError('gone', { outcome: 'not-applied' }));
      }
    }
    const store = new Unsteady();
    await runIn(store, request('nightly', tick - DAY));
    const app = await startApp([Nightly], long(store));
    await until(() => runs.length === 1);
    expect(runs).toEqual([tick]);
    expect(skipped(app)).toMatchObject([{ reason: 'store-unavailable' }]);
  });

  test('that resigns meanwhile leaves the tick to the next one', async () => {
    const { Nightly, runs, tick } = nightly();
    const store = new MemoryLockStore();
    // Longer than the start takes on a busy machine.
    await dieIn(store, request('nightly', tick - DAY, { ttl: 8_000 }));
    const app = await startApp([Nightly], long(store));
    await until(() => skipped(app).length === 1);
    expect(skipped(app)).toMatchObject([{ reason: 'held', job: 'nightly' }]);
    await app.get(SchedulerLeader).resign();
    // When the lease has ended that was in the way.
    await until(() => skipped(app).length === 2);
    expect(skipped(app)[1]).toMatchObject({
      reason: 'not-leader',
      lock: 'main',
      job: 'nightly',
      callTick: tick,
    });
    expect(runs).toEqual([]);
  });

  test.each([
    ['that was started before', 'started'],
    ['of a job that never ran', 'unknown'],
    ['that is older than two ttls, shutdownTimeout and the ttl of its job, nor asks for it', 'old'],
  ])('does not run a tick %s', async (_, situation) => {
    const { Nightly, runs, tick } = nightly(situation === 'old' ? '10s' : '5m');
    const store = new MemoryLockStore();
    if (situation !== 'unknown') {
      await runIn(store, request('nightly', situation === 'started' ? tick : tick - DAY));
    }
    const app = await startApp([Nightly], situation === 'old' ? brief(store) : long(store));
    await elected(app);
    if (situation === 'old') {
      expect(skipped(app)).toEqual([]);
    } else {
      await until(() => skipped(app).length === 1);
      expect(skipped(app)).toMatchObject([{ reason: 'already-ran', job: 'nightly' }]);
    }
    expect(runs).toEqual([]);
  });

  test('alone runs what is to be caught up; the others do not', async () => {
    const { expression, tick } = daily();
    const { store } = await occupied();
    await runIn(store, request('nightly', tick - DAY));
    @Injectable()
    class Nightly {
      @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock({ name: 'nightly', job: 'nightly', catchUp: '1h' })
      async run(): Promise<void> {}
    }
    const app = await startApp([Nightly], options(store));
    expect(acquired(app)).toEqual([]);
    expect(skipped(app)).toEqual([]);
  });

  test('does not run the first tick that a job ever had, if it came while nobody led', async () => {
    const { store, free } = await occupied();
    const runs: (string | undefined)[] = [];
    const tick = Math.ceil((Date.now() + 2_000) / 1_000) * 1_000;
    const [date, timeZone] = [new Date(tick), 'UTC'];
    @Injectable()
    class Jobs {
      @Cron(cronAt(date), { name: 'new', timeZone })
      @SchedulerLock({ job: 'new', name: 'new' })
      async new(): Promise<void> {
        runs.push(currentLock().job);
      }
      @Cron(cronAt(date), { name: 'known', timeZone })
      @SchedulerLock({ job: 'known', name: 'known' })
      async known(): Promise<void> {
        runs.push(currentLock().job);
      }
    }
    await runIn(store, request('known', tick - DAY));
    const app = await startApp([Jobs], soon(store));
    const refused = () => skipped(app).filter(({ reason }) => reason === 'not-leader');
    await until(() => refused().length === 2);
    await free();
    await elected(app);
    const asked = () => skipped(app).filter(({ reason }) => reason === 'already-ran');
    await until(() => runs.length === 1 && asked().length === 1);
    expect(runs).toEqual(['known']);
    expect(asked()).toMatchObject([{ job: 'new', callTick: tick }]);
  });

  test('runs what came while the last one waited for its jobs, for however long, before it gave its lease back', async () => {
    const ttl = 500;
    const store = new MemoryLockStore();
    const job = gate();
    const began = gate();
    const runs: (number | undefined)[] = [];
    const tick = Math.ceil((Date.now() + 2_000) / 1_000) * 1_000;
    @Injectable()
    class Jobs {
      @Interval(10)
      async long(): Promise<void> {
        began.open();
        await job.opened;
      }
      @Cron(cronAt(new Date(tick)), { timeZone: 'UTC' })
      @SchedulerLock({ job: 'daily', name: 'daily' })
      async daily(): Promise<void> {
        runs.push(currentLock().tick);
      }
    }
    await runIn(store, request('daily', tick - DAY));
    const start = () => startApp([Jobs], { store, leader: { name: 'main', ttl } });
    const first = await start();
    await began.opened;
    const second = await start();
    const closed = first.close();
    await until(() => Date.now() > tick + 3 * ttl);
    // Unless the machine is so slow that the first one has lost its lease.
    expect(runs.length === 0 || leads(second)).toBe(true);
    job.open();
    await closed;
    await until(() => runs.length > 0);
    expect(runs).toEqual([tick]);
  });

  describe('leaves alone a job that was stopped on it, also one that looks like another:', () => {
    /** A date that was within the last second: not older than two of those ttls when it is handed over. */
    const justNow = () => {
      const tick = Math.trunc(Date.now() / 1_000) * 1_000;
      return { expression: cronAt(new Date(tick)), tick };
    };
    const ran = async (runs: string[]): Promise<void> => void runs.push(currentLock().job ?? '');
    /** Starts an instance with these jobs, all of which missed their tick, and lets it lead when some have been stopped. */
    async function handOver(
      providers: Type[],
      jobs: string[],
      tick: number,
      stop: (registry: SchedulerRegistry, keys: string[]) => unknown,
    ): Promise<TestApp> {
      const { store, free } = await occupied();
      for (const job of jobs) await runIn(store, request(job, tick - DAY));
      const app = await startApp(providers, soon(store));
      const registry = app.get(SchedulerRegistry);
      await stop(registry, [...registry.getCronJobs().keys()]);
      await free();
      await elected(app);
      return app;
    }

    test.each<[string, (registry: SchedulerRegistry, key: string) => unknown]>([
      ['stopped', (registry, key) => registry.getCronJob(key).stop()],
      ['deleted', (registry, key) => registry.deleteCronJob(key)],
    ])('one without a name, %s, beside a twin', async (_, act) => {
      for (const stopped of [0, 1]) {
        const { expression, tick } = justNow();
        const runs: string[] = [];
        @Injectable()
        class Twins {
          @Cron(expression, { timeZone: 'UTC' })
          @SchedulerLock({ job: 'twin-0', name: 'twin-0' })
          async first(): Promise<void> {
            await ran(runs);
          }
          @Cron(expression, { timeZone: 'UTC' })
          @SchedulerLock({ job: 'twin-1', name: 'twin-1' })
          async second(): Promise<void> {
            await ran(runs);
          }
          @Cron(expression, { name: 'last', timeZone: 'UTC' })
          @SchedulerLock({ job: 'last', name: 'last' })
          async last(): Promise<void> {
            await ran(runs);
          }
        }
        const jobs = ['twin-0', 'twin-1', 'last'];
        await handOver([Twins], jobs, tick, (registry, keys) => act(registry, keys[stopped] ?? ''));
        await until(() => runs.length === 2);
        expect(runs).toEqual([`twin-${1 - stopped}`, 'last']);
      }
    });

    test('that of one of two classes which inherit it', async () => {
      const { expression, tick } = justNow();
      const runs: string[] = [];
      abstract class Sync {
        @Cron(expression, { timeZone: 'UTC' })
        @SchedulerLock()
        async run(): Promise<void> {
          await ran(runs);
        }
      }
      @Injectable()
      class Users extends Sync {}
      @Injectable()
      class Orders extends Sync {}
      const stop = (registry: SchedulerRegistry, [, orders = '']: string[]) =>
        registry.getCronJob(orders).stop();
      await handOver([Users, Orders], ['Users.run', 'Orders.run'], tick, stop);
      await until(() => runs.length > 0);
      expect(runs).toEqual(['Users.run']);
    });

    test('one whose name has been given to another job, which runs on the leader as any that is added', async () => {
      const { expression, tick } = justNow();
      const runs: string[] = [];
      const names: string[] = [];
      @Injectable()
      class Jobs {
        @Cron(expression, { name: 'replaced', timeZone: 'UTC' })
        @SchedulerLock({ job: 'replaced', name: 'replaced' })
        async replaced(): Promise<void> {
          await ran(runs);
        }
        @Cron(expression, { name: 'last', timeZone: 'UTC' })
        @SchedulerLock({ job: 'last', name: 'last' })
        async last(): Promise<void> {
          await ran(runs);
        }
      }
      const app = await handOver([Jobs], ['replaced', 'last'], tick, (registry) => {
        registry.deleteCronJob('replaced');
        const job = new CronJob(expression, () => void names.push(currentLock().name));
        registry.addCronJob('replaced', job);
      });
      await until(() => runs.length > 0);
      expect(runs).toEqual(['last']);
      await app.fire('replaced');
      expect(names).toEqual(['main']);
    });
  });
});
