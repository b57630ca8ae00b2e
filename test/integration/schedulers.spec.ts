import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Cron, CronExpression, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import {
  LeaderElection,
  MemoryLockStore,
  SchedulerLeader,
  SchedulerLock,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, startFailure, startModule, type TestApp } from './app.js';
import { elected, leads, occupied } from './leader-support.js';
import { CronJob } from './support/cron.js';
import { acquired, DAY, daily, fireAndWait, request, runIn, skipped } from './tick-support.js';

afterEach(closeApps);

const LEADER = { name: 'main', ttl: 9_000 };

/** Turns of the event loop that are more than any job of 10 ms would take. */
async function turns(): Promise<void> {
  let count = 0;
  const probe = setInterval(() => (count += 1), 10);
  await until(() => count > 20);
  clearInterval(probe);
}

describe('two modules that import ScheduleModule.forRoot() each', () => {
  /** Jobs of all kinds, and the registry that each of the two modules is given. */
  function start(
    options: SchedulerLockModuleOptions,
    runs: string[],
    at: string = CronExpression.EVERY_SECOND,
  ) {
    @Injectable()
    class First {
      constructor(readonly registry: SchedulerRegistry) {}
      @Cron(at, { name: 'first', timeZone: 'UTC' })
      @SchedulerLock({ name: 'first', job: 'first', catchUp: '1h' })
      async cron(): Promise<void> {
        runs.push('first');
      }
      @Interval(10)
      interval(): void {
        runs.push('interval');
      }
    }
    @Injectable()
    class Second {
      constructor(readonly registry: SchedulerRegistry) {}
      @Cron(at, { timeZone: 'UTC' })
      @SchedulerLock({ name: 'second', job: 'second' })
      async cron(): Promise<void> {
        runs.push('second');
      }
      @Timeout(10)
      timeout(): void {
        runs.push('timeout');
      }
    }
    @Module({ imports: [ScheduleModule.forRoot()], providers: [First] })
    class FirstModule {}
    @Module({ imports: [ScheduleModule.forRoot()], providers: [Second] })
    class SecondModule {}
    const imports = [FirstModule, SecondModule, SchedulerLockModule.forRoot(options)];
    return startModule({ imports }).then((app) => {
      const registries = [app.get(First).registry, app.get(Second).registry];
      return { app, registries: registries as [SchedulerRegistry, SchedulerRegistry] };
    });
  }

  test('have all of their jobs refused where nobody leads, and run on the leader', async () => {
    const { store, free } = await occupied();
    const runs: string[] = [];
    // Long enough that it does not campaign again while the test looks.
    const { app, registries } = await start({ store, leader: { ...LEADER, ttl: 6_000 } }, runs);
    expect(registries[0]).not.toBe(registries[1]);
    const active = () =>
      registries.flatMap((registry) => [...registry.getCronJobs().values()].map(({ isActive }) => isActive));
    expect(active()).toEqual([true, true, true, true]);
    await turns();
    expect(runs).toEqual([]);
    await free();
    await elected(app);
    await until(() => ['first', 'second', 'interval'].every((job) => runs.includes(job)));
    await app.get(SchedulerLeader).resign();
    const { length } = runs;
    await turns();
    expect(runs).toHaveLength(length);
  });

  test('have each tick run once, be it fired in the one or in the other', async () => {
    const { expression, tick } = daily();
    const runs: string[] = [];
    const { app, registries } = await start({ store: new MemoryLockStore() }, runs, expression);
    for (const registry of registries) {
      const decided = (): number => acquired(app).length + skipped(app).length;
      const before = decided();
      for (const job of registry.getCronJobs().values()) void job.fireOnTick();
      await until(() => decided() === before + 2);
    }
    expect(acquired(app).map((event) => [event.job, event.tick])).toEqual([
      ['first', tick],
      ['second', tick],
    ]);
    expect(skipped(app).map(({ reason }) => reason)).toEqual(['already-ran', 'already-ran']);
  });

  test.each([
    ['stopped in the one', 0, false],
    ['stopped in the other', 1, false],
    ['deleted in the one', 0, true],
    ['deleted in the other', 1, true],
  ])('catch up with no job that was %s', async (_, place, deleted) => {
    const { expression, tick } = daily();
    const runs: string[] = [];
    const store = new MemoryLockStore();
    await runIn(store, request('first', tick - DAY));
    const { registries } = await start({ store }, runs, expression);
    if (deleted) registries[place]?.deleteCronJob('first');
    else void registries[place]?.getCronJob('first').stop();
    await turns();
    expect(runs).not.toContain('first');
  });
});

describe("a service of the application's own that adds and gets cron jobs", () => {
  @Injectable()
  class TaskService {
    readonly #jobs = new Map<string, object>([['own', {}]]);
    addCronJob(name: string, job: object): void {
      this.#jobs.set(name, job);
    }
    getCronJobs(): ReadonlyMap<string, object> {
      return this.#jobs;
    }
  }
  @Module({ providers: [TaskService] })
  class TaskModule {}

  const imports = {
    'before the scheduler': [TaskModule, ScheduleModule.forRoot()],
    'behind it': [ScheduleModule.forRoot(), TaskModule],
  };

  test.each(Object.keys(imports) as (keyof typeof imports)[])('%s takes no ticks away', async (order) => {
    const { expression, tick } = daily();
    @Injectable()
    class Jobs {
      @Cron(expression, { name: 'report', timeZone: 'UTC' })
      @SchedulerLock({ name: 'report', job: 'report' })
      async report(): Promise<void> {}
    }
    const store = new MemoryLockStore();
    const apps: TestApp[] = [];
    for (const _ of [1, 2]) {
      const locks = SchedulerLockModule.forRoot({ store });
      apps.push(await startModule({ imports: [...imports[order], locks], providers: [Jobs] }));
    }
    for (const app of apps) await fireAndWait(app, 'report');
    expect(acquired(...apps).map((event) => event.tick)).toEqual([tick]);
  });

  test.each(Object.keys(imports) as (keyof typeof imports)[])(
    '%s is no scheduler to guard',
    async (order) => {
      const { store } = await occupied();
      let runs = 0;
      @Injectable()
      class Jobs {
        @Interval(10)
        run(): void {
          runs += 1;
        }
      }
      const locks = SchedulerLockModule.forRoot({ store, leader: LEADER });
      const app = await startModule({ imports: [...imports[order], locks], providers: [Jobs] });
      await turns();
      expect(leads(app)).toBe(false);
      expect(runs).toBe(0);
    },
  );

  test('is no scheduler that would fire anything', async () => {
    @Injectable()
    class Jobs {
      @Cron(CronExpression.EVERY_HOUR)
      @SchedulerLock()
      async report(): Promise<void> {}
    }
    const locks = SchedulerLockModule.forRoot({ store: 'memory' });
    const app = await startModule({ imports: [TaskModule, locks], providers: [Jobs] });
    expect(app.logs.own).toContain(
      'warn: Nothing fires Jobs.report: no module imports ScheduleModule.forRoot() of @nestjs/schedule.',
    );
  });
});

describe('a version of @nestjs/schedule that is not known', () => {
  /** What one might look like that makes its jobs in another way. */
  function imports(options: SchedulerLockModuleOptions) {
    class Registry {
      getCronJobs = () => new Map();
      addCronJob = () => undefined;
    }
    const OtherModule = { ScheduleModule: class {} }.ScheduleModule;
    Module({ providers: [Registry] })(OtherModule);
    return [OtherModule, SchedulerLockModule.forRoot(options)];
  }
  @Injectable()
  class Jobs {
    @Cron(CronExpression.EVERY_HOUR)
    @SchedulerLock()
    async report(): Promise<void> {}
  }
  @Injectable()
  class Others {
    @Interval(1_000)
    @SchedulerLock()
    async poll(): Promise<void> {}
    @Cron(CronExpression.EVERY_HOUR)
    @SchedulerLock({ oncePerTick: false })
    async report(): Promise<void> {}
  }

  test('stops the start with a leader, as standbys would run jobs', async () => {
    const start = startModule({ imports: imports({ store: 'memory', leader: LEADER }) });
    expect(await startFailure(start)).toContain(
      'SchedulerLockModule: leader: standbys cannot be kept from running jobs with this version of @nestjs/schedule. Use one that the README names.',
    );
  });

  test('stops the start if a job has ticks, as these cannot be told', async () => {
    const start = startModule({ imports: imports({ store: 'memory' }), providers: [Jobs] });
    expect(await startFailure(start)).toContain(
      'SchedulerLockModule: the ticks of Jobs.report cannot be known with this version of @nestjs/schedule.',
    );
    await startModule({ imports: imports({ store: 'memory' }), providers: [Others] });
  });
});

describe('a process whose scheduler is switched off', () => {
  const lines = (app: TestApp): string[] =>
    app.logs.own.filter((line) => line.startsWith('warn') && line.includes('election'));

  @Injectable()
  class Jobs {
    @Cron(CronExpression.EVERY_HOUR)
    nightly(): void {}
    @Interval(60_000)
    @SchedulerLock()
    async poll(): Promise<void> {}
    @Timeout(60_000)
    once(): void {}
  }

  test.each([
    ['cron jobs', { cronJobs: false }, 'Jobs.nightly', 'it was given cronJobs: false'],
    ['intervals', { intervals: false }, 'Jobs.poll', 'it was given intervals: false'],
    ['timeouts', { timeouts: false }, 'Jobs.once', 'it was given timeouts: false'],
  ])('for %s does not lead those that have it, and says so', async (_, given, job, why) => {
    const store = new MemoryLockStore();
    const start = (schedule: object): Promise<TestApp> =>
      startModule({
        imports: [ScheduleModule.forRoot(schedule), SchedulerLockModule.forRoot({ store, leader: LEADER })],
        providers: [Jobs],
      });
    const off = await start(given);
    expect(lines(off)).toEqual([
      `warn: This instance takes no part in the election "main", and runs no scheduled job: ScheduleModule.forRoot() fires no ${job} here (${why}), which would run nowhere if this instance led.`,
    ]);
    const on = await start({});
    await elected(on);
    expect(leads(off)).toBe(false);
    expect(await off.get(SchedulerLeader).resign()).toBe(false);
    expect(off.events).toEqual([]);
    expect(lines(on)).toEqual([]);
  });

  test('leads if it has no job of that kind, and if it is disabled in its decorator only', async () => {
    @Injectable()
    class Disabled {
      @Cron(CronExpression.EVERY_HOUR, { disabled: true })
      nightly(): void {}
    }
    const app = await startModule({
      imports: [
        ScheduleModule.forRoot({ intervals: false }),
        SchedulerLockModule.forRoot({ store: 'memory', leader: LEADER }),
      ],
      providers: [Disabled],
    });
    await elected(app);
    expect(lines(app)).toEqual([]);
  });

  test('takes part in the elections of providers', async () => {
    const story: string[] = [];
    @Injectable()
    @LeaderElection('feed', { ttl: 60_000 })
    class Feed {
      onElected(): void {
        story.push('elected');
      }
      onRevoked(): void {
        story.push('revoked');
      }
    }
    const app = await startModule({
      imports: [
        ScheduleModule.forRoot({ cronJobs: false }),
        SchedulerLockModule.forRoot({ store: 'memory', leader: LEADER }),
      ],
      providers: [Jobs, Feed],
    });
    await until(() => app.get(SchedulerLeader).isLeader('feed'));
    expect(leads(app)).toBe(false);
    await app.close();
    expect(story).toEqual(['elected', 'revoked']);
  });

  test('catches up with no job, though a dynamic one has its expression', async () => {
    const { expression, tick } = daily();
    let runs = 0;
    @Injectable()
    class Nightly {
      @Cron(expression, { timeZone: 'UTC' })
      @SchedulerLock({ name: 'nightly', job: 'nightly', catchUp: '1h' })
      async run(): Promise<void> {
        runs += 1;
      }
    }
    const store = new MemoryLockStore();
    await runIn(store, request('nightly', tick - DAY));
    const start = (schedule: object): Promise<TestApp> =>
      startModule({
        imports: [ScheduleModule.forRoot(schedule), SchedulerLockModule.forRoot({ store })],
        providers: [Nightly, Dynamic],
      });
    @Injectable()
    class Dynamic {
      constructor(registry: SchedulerRegistry) {
        registry.addCronJob(
          'dynamic',
          CronJob.from({ cronTime: expression, onTick: () => undefined }) as never,
        );
      }
    }
    const off = await start({ cronJobs: false });
    await turns();
    expect([runs, off.events]).toEqual([0, []]);
    await start({});
    await until(() => runs === 1);
  });
});

test('jobs that are scheduled under one lock are named at the start, unless none of them can lose a tick', async () => {
  const lines = (app: TestApp) => app.logs.own.filter((line) => line.includes('share a lock'));
  @Injectable()
  class Losing {
    @Cron(CronExpression.EVERY_HOUR)
    @SchedulerLock({ name: 'shared', catchUp: '1h' })
    async first(): Promise<void> {}
    @Cron(CronExpression.EVERY_HOUR)
    @SchedulerLock('shared')
    async second(): Promise<void> {}
    @SchedulerLock('shared')
    async byHand(): Promise<void> {}
    @Interval(60_000)
    @SchedulerLock()
    async alone(): Promise<void> {}
  }
  @Injectable()
  class Waiting {
    @Cron(CronExpression.EVERY_HOUR)
    @SchedulerLock({ name: 'shared', catchUp: '1h' })
    async first(): Promise<void> {}
    @Cron(CronExpression.EVERY_HOUR)
    @SchedulerLock({ name: 'shared', catchUp: '1h' })
    async second(): Promise<void> {}
  }
  const start = (jobs: new () => object): Promise<TestApp> =>
    startModule({
      imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot({ store: 'memory' })],
      providers: [jobs],
    });
  expect(lines(await start(Losing))).toEqual([
    'warn: Scheduled jobs share a lock: "shared" (Losing.first, Losing.second). Of two ticks at one time one is skipped as held, ' +
      'unless its job has wait or catchUp. Jobs that may run side by side need locks of their own.',
  ]);
  expect(lines(await start(Waiting))).toEqual([]);
});
