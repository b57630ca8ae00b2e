import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CronExpression, Interval, SchedulerRegistry } from '@nestjs/schedule';
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  LeaderElection,
  MemoryLockStore,
  SchedulerLeader,
  SchedulerLockModule,
  SchedulerLockService,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, NotedStore, startApp, startModule, type TestApp } from './app.js';
import { elected, leads } from './leader-support.js';
import { CronJob } from './support/cron.js';

afterEach(closeApps);

const LEADER = { name: 'main', ttl: 900 };
const options = (store: MemoryLockStore) => ({ store, leader: LEADER });
const lines = (app: TestApp): string[] => app.logs.own.filter((line) => line.includes('takes no part'));
const LINE =
  'log: This instance takes no part in the election "main" until it has a scheduled job: if it led now, the jobs of ' +
  'other instances would run nowhere. For other work use @LeaderElection().';

describe('an instance without any scheduled job', () => {
  test.each([
    ['', (store: MemoryLockStore) => startApp([], options(store))],
    [
      'and without a ScheduleModule ',
      (store: MemoryLockStore) => startModule({ imports: [SchedulerLockModule.forRoot(options(store))] }),
    ],
  ])('%sleaves the lead to one that has jobs, and says so', async (_, startIdle) => {
    const store = new NotedStore();
    const idle = await startIdle(store);
    let runs = 0;
    @Injectable()
    class Jobs {
      @Interval(10)
      poll(): void {
        runs += 1;
      }
    }
    const worker = await startApp([Jobs], options(store));
    await until(() => runs > 2);
    expect(leads(worker)).toBe(true);
    expect(leads(idle)).toBe(false);
    expect(lines(idle)).toEqual([LINE]);
    expect(lines(worker)).toEqual([]);
    expect(await idle.get(SchedulerLeader).resign()).toBe(false);
    // Only the worker has asked for the lease.
    await idle.close();
    expect(store.calls.filter((call) => call.startsWith('acquire'))).toEqual(['acquire main']);
    expect(idle.events).toEqual([]);
  });

  const additions: [string, (app: TestApp) => unknown][] = [
    [
      'a cron job of the registry',
      (app) => {
        const job = CronJob.from({ cronTime: CronExpression.EVERY_HOUR, onTick: () => undefined });
        app.get(SchedulerRegistry).addCronJob('added', job as never);
      },
    ],
    [
      'an interval of the registry',
      (app) =>
        app.get(SchedulerRegistry).addInterval(
          'added',
          setInterval(() => undefined, 60_000),
        ),
    ],
    [
      'a timeout of the registry',
      (app) =>
        app.get(SchedulerRegistry).addTimeout(
          'added',
          setTimeout(() => undefined, 60_000),
        ),
    ],
    [
      'a dynamic cron job',
      (app) => app.get(SchedulerLockService).cron('added', CronExpression.EVERY_HOUR, () => undefined),
    ],
    ['a dynamic interval', (app) => app.get(SchedulerLockService).interval('added', '1m', () => undefined)],
  ];

  test.each(additions)('begins to take part when it is given %s', async (_, add) => {
    const store = new NotedStore();
    // So long that it would not ask again within this test.
    const app = await startApp([], { store, leader: { name: 'main', ttl: '1h' } });
    expect(store.calls).toEqual(['init']);
    add(app);
    await elected(app);
  });

  test('takes part from the start if a job was added before', async () => {
    @Injectable()
    class Early implements OnApplicationBootstrap {
      constructor(private readonly registry: SchedulerRegistry) {}
      onApplicationBootstrap(): void {
        this.registry.addInterval(
          'early',
          setInterval(() => undefined, 60_000),
        );
      }
    }
    @Injectable()
    class Earlier {
      constructor(registry: SchedulerRegistry) {
        const job = CronJob.from({ cronTime: CronExpression.EVERY_HOUR, onTick: () => undefined });
        registry.addCronJob('earlier', job as never);
      }
    }
    for (const provider of [Early, Earlier]) {
      const app = await startApp([provider], options(new MemoryLockStore()));
      await elected(app);
      if (provider === Earlier) expect(lines(app)).toEqual([]);
    }
  });

  test('takes part in the elections of its providers', async () => {
    @Injectable()
    @LeaderElection('feed', { ttl: 900 })
    class Feed {
      onElected(): void {}
      onRevoked(): void {}
    }
    const app = await startApp([Feed], options(new MemoryLockStore()));
    await until(() => app.get(SchedulerLeader).isLeader('feed'));
    expect(leads(app)).toBe(false);
  });

  test('is given its first job by a request, and neither asks nor leads in the context of that', async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    class Store extends MemoryLockStore {
      override acquire(...args: Parameters<MemoryLockStore['acquire']>) {
        seen.push(requests.getStore());
        return super.acquire(...args);
      }
    }
    const app = await startApp([], options(new Store()));
    const onTick = (): void => void seen.push(requests.getStore());
    const job = CronJob.from({ cronTime: CronExpression.EVERY_SECOND, onTick, start: true });
    requests.run('first', () => app.get(SchedulerRegistry).addCronJob('added', job as never));
    await until(() => seen.length > 1);
    expect(new Set(seen)).toEqual(new Set([undefined]));
  });

  test('says nothing if its locks are switched off', async () => {
    const app = await startApp([], { ...options(new MemoryLockStore()), enabled: false });
    expect(lines(app)).toEqual([]);
  });
});

test('a provider that throws on unknown properties is no scheduler', async () => {
  class Settings {
    readonly zone = 'UTC';
  }
  const strict = new Proxy(new Settings(), {
    get: (target, key) => {
      // NestJS itself asks for `then` and for its hooks.
      const known = typeof key === 'symbol' || key in target || /^(then$|on|before)/.test(key);
      if (known) return Reflect.get(target, key) as unknown;
      throw new Error(`unknown property ${key}`);
    },
  });
  const app = await startApp([{ provide: 'STRICT', useValue: strict }], options(new MemoryLockStore()));
  app.get(SchedulerLockService).interval('poll', '1m', () => undefined);
  await elected(app);
});
