import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Inject, Injectable, type Type } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { currentLock, MemoryLockStore, SchedulerLock, SchedulerLockModule } from '../../lib/index.js';
import type { AcquireRefusal, AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { startProxy } from '../faults/proxy/tcp-proxy.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, startModule, type TestApp } from './app.js';
import { acquired, DAY, daily, fireAndWait, plainStore, request, runIn, skipped } from './tick-support.js';

let redis: LocalRedis | undefined;
afterEach(async () => {
  await closeApps();
  await redis?.stop();
});

test.each([
  ['of the lock', '1h', undefined],
  ['of the module', undefined, '1h'],
] as const)(
  'a tick that fell into an outage of the store runs once when it is back, with catchUp %s',
  async (_, own, ofModule) => {
    const { expression, tick } = daily();
    const runs: (number | undefined)[] = [];
    @Injectable()
    class Nightly {
      @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock({ name: 'nightly', job: 'nightly', catchUp: own })
      async run(): Promise<void> {
        runs.push(currentLock().tick);
      }

      @Cron(expression, { name: 'old', timeZone: 'UTC' })
      @SchedulerLock({ name: 'old', job: 'old', catchUp: '10s' })
      async old(): Promise<void> {
        runs.push(-1);
      }
    }
    redis = await startRedis({ persistent: true });
    const options = { connection: redis.url, catchUp: ofModule };
    const store = await plainStore(options);
    const apps = await Promise.all([startApp([Nightly], options), startApp([Nightly], options)]);
    // Both jobs are new at the start, so nothing is caught up: `nightly` is refused, `old` does not ask.
    await until(() => apps.every((app) => skipped(app).length === 1));
    for (const job of ['nightly', 'old']) await runIn(store, request(job, tick - DAY));
    await redis.kill();
    for (const app of apps) for (const job of ['nightly', 'old']) await fireAndWait(app, job);
    const missed = (job: string): boolean =>
      apps.every((app) =>
        skipped(app).some((event) => event.job === job && event.reason === 'store-unavailable'),
      );
    expect([missed('nightly'), missed('old')]).toEqual([true, true]);
    await redis.restart();
    // Either as one that has run, or as one that is running just then.
    const refused = (): number =>
      apps.filter((app) => skipped(app).some((event) => event.tick === tick)).length;
    await until(() => acquired(...apps).length === 1 && refused() === 1, { timeout: 45_000 });
    expect(runs).toEqual([tick]);
    expect(acquired(...apps)).toMatchObject([{ job: 'nightly', attempt: 1, tick }]);
  },
  90_000,
);

test('a tick that ran before Redis lost its data is not run again by an instance that met the outage, with catchUp', async () => {
  const { expression, tick } = daily();
  let runs = 0;
  @Injectable()
  class Nightly {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ name: 'nightly', job: 'nightly', catchUp: '1h' })
    run(): void {
      runs += 1;
    }
  }
  redis = await startRedis();
  const options = { connection: redis.url };
  const store = await plainStore(options);
  const [first, second] = await Promise.all([startApp([Nightly], options), startApp([Nightly], options)]);
  await until(() => [first, second].every((app) => skipped(app).length === 1));
  await runIn(store, request('nightly', tick - DAY));
  await fireAndWait(first, 'nightly');
  expect(runs).toBe(1);
  await redis.kill();
  await fireAndWait(second, 'nightly');
  expect(skipped(second).at(-1)).toMatchObject({ reason: 'store-unavailable' });
  await redis.restart({ empty: true });
  const asked = (): boolean => skipped(second).at(-1)?.reason === 'already-ran';
  await until(() => asked() || runs > 1, { timeout: 45_000 });
  expect(runs).toBe(1);
}, 90_000);

test('a tick whose acquire was carried out, and not answered before a long outage, runs once when the store is back', async () => {
  const { expression, tick } = daily();
  const runs: (number | undefined)[] = [];
  @Injectable()
  class Nightly {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ name: 'nightly', job: 'nightly', catchUp: '1h' })
    async run(): Promise<void> {
      runs.push(currentLock().tick);
    }
  }
  const server = (redis = await startRedis());
  const proxy = await startProxy(server);
  try {
    const ttl = 1_000;
    const app = await startApp([Nightly], { connection: proxy.url, ttl });
    await until(() => skipped(app).length === 1);
    await runIn(await plainStore({ connection: server.url }), request('nightly', tick - DAY));
    const stop = proxy.onReply((_, asked = '') => {
      if (asked.includes(`${tick} `)) void proxy.refuse();
    });
    await fireAndWait(app, 'nightly');
    stop();
    expect(skipped(app).at(-1)).toMatchObject({ reason: 'store-unavailable' });
    const end = performance.now() + 3 * ttl;
    await until(() => performance.now() > end);
    await proxy.refuse(false);
    await until(() => acquired(app).length === 1, { timeout: 45_000 });
    expect(acquired(app)).toMatchObject([{ job: 'nightly', attempt: 1, tick }]);
    expect(runs).toEqual([tick]);
  } finally {
    await closeApps();
    await proxy.stop();
  }
}, 90_000);

test.each([
  ['after', false],
  ['before', true],
])(
  'a tick is not caught up on an instance that stops its job as it starts, with the scheduler imported %s the locks',
  async (_, schedulerFirst) => {
    const { expression, tick } = daily();
    const runs: (string | undefined)[] = [];
    @Injectable()
    class Jobs {
      @Inject(SchedulerRegistry)
      private readonly registry!: SchedulerRegistry;

      onApplicationBootstrap(): void {
        for (const name of ['stopped', 'deleted', 'later']) void this.registry.getCronJob(name).stop();
        this.registry.deleteCronJob('deleted');
        this.registry.getCronJob('later').start();
      }

      @Cron(expression, { name: 'stopped', timeZone: 'UTC' })
      @SchedulerLock({ name: 'stopped', job: 'stopped', catchUp: '1h' })
      async stopped(): Promise<void> {
        runs.push(currentLock().job);
      }

      @Cron(expression, { name: 'deleted', timeZone: 'UTC' })
      @SchedulerLock({ name: 'deleted', job: 'deleted', catchUp: '1h' })
      async deleted(): Promise<void> {
        runs.push(currentLock().job);
      }

      @Cron(expression, { name: 'later', timeZone: 'UTC' })
      @SchedulerLock({ name: 'later', job: 'later', catchUp: '1h' })
      async later(): Promise<void> {
        runs.push(currentLock().job);
      }

      // Started by the scheduler itself, at the moment from which on it may be caught up.
      @Cron(expression, { name: 'delayed', timeZone: 'UTC', initialDelay: 10 })
      @SchedulerLock({ name: 'delayed', job: 'delayed', catchUp: '1h' })
      async delayed(): Promise<void> {
        runs.push(currentLock().job);
      }
    }
    const store = new MemoryLockStore();
    for (const job of ['stopped', 'deleted', 'later', 'delayed'])
      await runIn(store, request(job, tick - DAY));
    const modules = [SchedulerLockModule.forRoot({ store }), ScheduleModule.forRoot()];
    const app = await startModule({
      imports: schedulerFirst ? modules.reverse() : modules,
      providers: [Jobs],
    });
    await until(() => runs.includes('later') && runs.includes('delayed'));
    expect(runs.toSorted()).toEqual(['delayed', 'later']);
    expect(skipped(app)).toEqual([]);
  },
);

describe('a tick whose lock is taken, with catchUp,', () => {
  /** A store in which locks are taken for as long as the test wants. */
  class TakenStore extends MemoryLockStore {
    refusal: AcquireRefusal | undefined;

    override acquire(asked: AcquireRequest): Promise<AcquireResult> {
      return this.refusal === undefined ? super.acquire(asked) : Promise.resolve(this.refusal);
    }
  }

  const { expression, tick } = daily();
  const refusal = { acquired: false, expiresIn: 300, holder: 'gone' } as const;
  const dead: AcquireRefusal = { ...refusal, reason: 'held', tick: tick - DAY, finished: false };

  let store: TakenStore;
  let runs: (string | undefined)[];
  beforeEach(() => {
    store = new TakenStore();
    runs = [];
  });

  const start = (jobs: Type) => Promise.all([startApp([jobs], { store }), startApp([jobs], { store })]);
  const refused = (app: TestApp, job: string): boolean =>
    skipped(app).some((event) => event.job === job && ['held', 'cooling-down'].includes(event.reason));
  const knowsThatItRan = (app: TestApp, job: string): boolean =>
    skipped(app).some((event) => event.job === job && event.tick === tick);

  @Injectable()
  class Nightly {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ job: 'nightly', name: 'nightly', catchUp: '1h' })
    async run(): Promise<void> {
      runs.push(currentLock().job);
    }
  }

  test('by what a dead holder has left behind as the fleet starts, runs once when that is over', async () => {
    await runIn(store, request('nightly', tick - DAY));
    store.refusal = dead;
    const apps = await start(Nightly);
    await until(() => apps.every((app) => refused(app, 'nightly')));
    store.refusal = undefined;
    await until(() => runs.length > 0 && apps.some((app) => knowsThatItRan(app, 'nightly')));
    expect(runs).toEqual(['nightly']);
  });

  test.each<[string, AcquireRefusal]>([
    ['by hand', { ...refusal, reason: 'held' }],
    ['by atLeast', { ...refusal, reason: 'cooling-down' }],
  ])('%s when the scheduler fires it, runs once when that is over', async (_, answer) => {
    const apps = await start(Nightly);
    // It is new at the start, so nothing is caught up.
    await until(() => apps.every((app) => skipped(app).length === 1));
    store.refusal = answer;
    for (const app of apps) await fireAndWait(app, 'nightly');
    expect(apps.map((app) => refused(app, 'nightly'))).toEqual([true, true]);
    store.refusal = undefined;
    await until(() => runs.length > 0 && apps.some((app) => knowsThatItRan(app, 'nightly')));
    expect(runs).toEqual(['nightly']);
  });

  test('by another job of the same tick, runs once after it', async () => {
    let running = 0;
    const ended = gate();
    const run = async (): Promise<void> => {
      expect((running += 1)).toBe(1);
      runs.push(currentLock().job);
      await ended.opened;
      running -= 1;
    };
    @Injectable()
    class Pair {
      @Cron(expression, { name: 'left', timeZone: 'UTC' })
      @SchedulerLock({ job: 'left', name: 'pair', ttl: '1s', catchUp: '1h' })
      async left(): Promise<void> {
        await run();
      }

      @Cron(expression, { name: 'right', timeZone: 'UTC' })
      @SchedulerLock({ job: 'right', name: 'pair', ttl: '1s', catchUp: '1h' })
      async right(): Promise<void> {
        await run();
      }
    }
    const apps = await start(Pair);
    const sawTheOther = (app: TestApp): boolean => refused(app, 'left') || refused(app, 'right');
    for (const app of apps) for (const job of ['left', 'right']) await app.fire(job);
    await until(() => runs.length === 1 && apps.every(sawTheOther));
    ended.open();
    await until(() => runs.length > 1);
    // One of them at least has asked for the other's runs, too.
    for (const job of ['left', 'right']) await until(() => apps.some((app) => knowsThatItRan(app, job)));
    expect(runs.toSorted()).toEqual(['left', 'right']);
  });
});
