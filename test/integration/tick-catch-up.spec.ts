import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { currentLock, MemoryLockStore, SchedulerLock, SchedulerLockModule } from '../../lib/index.js';
import { type LocalRedis, startRedis } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { closeApps, startApp, startModule } from './app.js';
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
        for (const name of ['stopped', 'deleted', 'later']) this.registry.getCronJob(name).stop();
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
