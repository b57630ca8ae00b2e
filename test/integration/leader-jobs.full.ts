import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, type OnApplicationBootstrap, Module } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { createRequire } from 'node:module';
import {
  currentLock,
  LockResignedError,
  LockShutdownError,
  MemoryLockStore,
  SchedulerLeader,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
  SchedulerLockService,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, NotedStore, startApp, startModule, type TestApp } from './app.js';
import { elected, Idle, leads, occupied } from './leader-support.js';
import { skipped } from './tick-support.js';
import { isEvent } from '../support/events.js';

/** The classes that `@nestjs/schedule` fires by: its own copy of `cron`. */
const { CronJob, CronTime } = createRequire(createRequire(import.meta.url).resolve('@nestjs/schedule'))(
  'cron',
) as {
  CronJob: new (cronTime: string, onTick: () => void, onComplete?: null, start?: boolean) => CronJob;
  CronTime: new (source: string) => object;
};
interface CronJob {
  readonly isActive: boolean;
  start(): void;
  stop(): void;
  setTime(time: object): void;
}

afterEach(closeApps);

const TTL = 900;
const options = (store: MemoryLockStore) => ({ store, leader: { name: 'main', ttl: TTL } });

/** All kinds of jobs; each notes that it ran. */
function jobsOf(runs: string[]) {
  @Injectable()
  class Jobs {
    @Cron('* * * * * *', { name: 'cron' })
    cron(): void {
      runs.push('cron');
    }
    @Cron('* * * * * *', { name: 'disabled', disabled: true })
    disabled(): void {
      runs.push('disabled');
    }
    @Cron('* * * * * *', { name: 'delayed', initialDelay: 20 })
    delayed(): void {
      runs.push('delayed');
    }
    @Interval('interval', 10)
    interval(): void {
      runs.push('interval');
    }
    @Interval(10)
    @SchedulerLock('locked')
    async locked(): Promise<void> {
      runs.push('locked');
    }
    @Timeout('timeout', 10)
    timeout(): void {
      runs.push('timeout');
    }
  }
  return Jobs;
}

describe('an instance that does not lead', () => {
  test('has its cron jobs, intervals and timeouts started in the registry, and refuses each that fires', async () => {
    const { store } = await occupied();
    const runs: string[] = [];
    const app = await startApp([jobsOf(runs)], options(store));
    const registry = app.get(SchedulerRegistry);
    expect(registry.getCronJob('cron').isActive).toBe(true);
    expect(registry.getCronJob('disabled').isActive).toBe(false);
    expect(registry.doesExist('interval', 'interval')).toBe(true);
    expect(registry.doesExist('timeout', 'timeout')).toBe(true);
    const all = ['cron', 'delayed', 'interval', 'timeout'];
    const refused = () => new Set(skipped(app).map(({ job }) => job));
    await until(() => all.every((job) => refused().has(job)));
    expect(skipped(app).every(({ reason, lock }) => reason === 'not-leader' && lock === 'main')).toBe(true);
    // The scheduler has a random name for each job without one, another at each start.
    await until(() => refused().has(undefined));
    expect([...refused()].filter((job) => job !== undefined).sort()).toEqual(all);
    expect(runs).toEqual([]);
  });

  test('fires nothing between the start of the scheduler and its own', async () => {
    const { store } = await occupied();
    const runs: string[] = [];
    const slow = gate();
    // The bootstrap hook of another module, which comes between the scheduler's and ours, or after both.
    @Injectable()
    class Slow implements OnApplicationBootstrap {
      onApplicationBootstrap(): Promise<void> {
        return slow.opened;
      }
    }
    @Module({ providers: [Slow] })
    class SlowModule {}
    let turns = 0;
    const probe = setInterval(() => (turns += 1) === 20 && slow.open(), 10);
    await startModule({
      imports: [ScheduleModule.forRoot(), SlowModule, SchedulerLockModule.forRoot(options(store))],
      providers: [jobsOf(runs)],
    });
    clearInterval(probe);
    expect(runs).toEqual([]);
  });

  test('refuses cron jobs that are added by hand, before and after the start, and leads them as they are', async () => {
    const { store, free } = await occupied();
    const runs: string[] = [];
    @Injectable()
    class Early {
      constructor(registry: SchedulerRegistry) {
        const job = new CronJob('* * * * * *', () => void runs.push('early'), null, true);
        registry.addCronJob('early', job as never);
      }
    }
    const app = await startApp([Early], options(store));
    const registry = app.get(SchedulerRegistry);
    const add = (name: string): CronJob => {
      const job = new CronJob('* * * * * *', () => void runs.push(name));
      registry.addCronJob(name, job as never);
      return job;
    };
    const [late, unwanted, changed] = [add('late'), add('unwanted'), add('changed')];
    for (const job of [late, unwanted, changed]) job.start();
    unwanted.stop();
    changed.setTime(new CronTime('0 0 0 1 1 *'));
    const active = () => [...registry.getCronJobs().values()].map(({ isActive }) => isActive);
    expect(active()).toEqual([true, true, false, true]);
    await until(() => ['early', 'late'].every((name) => skipped(app).some(({ job }) => job === name)));
    expect(runs).toEqual([]);
    await free();
    await elected(app);
    await until(() => runs.includes('early') && runs.includes('late'));
    expect(active()).toEqual([true, true, false, true]);
    expect(runs).not.toContain('unwanted');
  });

  test('leaves alone timers that are added by hand', async () => {
    const { store } = await occupied();
    let runs = 0;
    const app = await startApp([], options(store));
    const registry = app.get(SchedulerRegistry);
    registry.addInterval(
      'own',
      setInterval(() => (runs += 1), 10),
    );
    await until(() => runs > 2);
    expect(leads(app)).toBe(false);
  });

  test('skips what is fired by hand in the scheduler, and runs what is called by hand', async () => {
    const { store } = await occupied();
    const runs: string[] = [];
    const Jobs = jobsOf(runs);
    const app = await startApp([Jobs], options(store));
    const ofDisabled = () => skipped(app).filter(({ job }) => job === 'disabled');
    expect(ofDisabled()).toEqual([]);
    // Its timer does not run, so that the call by hand is the only one.
    await app.fire('disabled');
    expect(runs).toEqual([]);
    expect(ofDisabled()).toMatchObject([{ reason: 'not-leader', lock: 'main' }]);
    await app.get(Jobs).locked();
    expect(runs).toEqual(['locked']);
  });
});

describe('the elected instance', () => {
  test('runs its jobs until it resigns; another one goes on, without the timeout that it refused', async () => {
    const store = new MemoryLockStore();
    const runs: string[][] = [[], []];
    const apps = await Promise.all(runs.map((own) => startApp([jobsOf(own)], options(store))));
    const first = await elected(...apps);
    const own = runs[apps.indexOf(first)] ?? [];
    const all = ['cron', 'delayed', 'interval', 'locked'];
    await until(() => all.every((job) => own.includes(job)));
    expect(own).not.toContain('disabled');
    expect(await first.get(SchedulerLeader).resign()).toBe(true);
    const { length } = own;
    const [second] = apps.filter((app) => app !== first) as [TestApp];
    const others = runs[apps.indexOf(second)] ?? [];
    expect(others).toEqual([]);
    await until(() => leads(second));
    await until(() => all.every((job) => others.includes(job)));
    expect(own).toHaveLength(length);
    expect(others).not.toContain('timeout');
  });

  test('runs intervals and cron jobs again when it leads for a second time', async () => {
    const runs: string[] = [];
    const app = await startApp([jobsOf(runs)], options(new MemoryLockStore()));
    await until(() => runs.includes('cron') && runs.includes('interval'));
    await app.get(SchedulerLeader).resign();
    runs.length = 0;
    await elected(app);
    await until(() => ['interval', 'locked', 'cron'].every((job) => runs.includes(job)));
    expect(runs).not.toContain('timeout');
  });

  test('does not run what the application has deleted meanwhile', async () => {
    const { store, free } = await occupied();
    const runs: string[] = [];
    const app = await startApp([jobsOf(runs)], options(store));
    const registry = app.get(SchedulerRegistry);
    registry.deleteInterval('interval');
    registry.deleteTimeout('timeout');
    registry.deleteCronJob('cron');
    const own = setInterval(() => undefined, 1_000);
    registry.addInterval('interval', own);
    await free();
    await elected(app);
    await until(() => ['locked', 'delayed'].every((job) => runs.includes(job)));
    expect(runs.filter((job) => ['interval', 'timeout', 'cron'].includes(job))).toEqual([]);
    expect(registry.getInterval('interval')).toBe(own);
  });

  test('gives its lease to jobs, and their signals abort when it resigns', async () => {
    const signals: Record<string, AbortSignal> = {};
    const names: Record<string, string> = {};
    const wait = (job: string): Promise<void> => {
      const { signal, name } = currentLock();
      names[job] = name;
      signals[job] = signal;
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    };
    @Injectable()
    class Jobs {
      @Cron('* * * * * *', { name: 'plain', waitForCompletion: true })
      plain(): Promise<void> {
        return wait('plain');
      }
      @Cron('* * * * * *', { waitForCompletion: true })
      @SchedulerLock('guarded')
      guarded(): Promise<void> {
        return wait('guarded');
      }
    }
    const app = await startApp([Jobs], options(new MemoryLockStore()));
    await until(() => Object.keys(signals).length === 2);
    expect(names).toEqual({ plain: 'main', guarded: 'guarded' });
    await app.get(SchedulerLeader).resign();
    for (const signal of Object.values(signals)) expect(signal.reason).toBeInstanceOf(LockResignedError);
    const released = app.events.flatMap((event) =>
      event.type === 'released' ? [[event.lock, event.outcome]] : [],
    );
    // The leader's lease is given back last: after the jobs that ran under it.
    expect(released).toEqual([
      ['guarded', 'aborted'],
      ['main', 'completed'],
    ]);
  });

  test('which abort a job that has made a call inside its own lock, too', async () => {
    let signal: AbortSignal | undefined;
    @Injectable()
    class Jobs {
      constructor(private readonly locks: SchedulerLockService) {}
      @Cron('* * * * * *', { waitForCompletion: true })
      @SchedulerLock('guarded')
      async guarded(): Promise<void> {
        await this.locks.run('guarded', () => 'inside');
        const own = currentLock().signal;
        signal = own;
        await new Promise<void>((resolve) => own.addEventListener('abort', () => resolve()));
      }
    }
    const app = await startApp([Jobs], options(new MemoryLockStore()));
    await until(() => signal);
    void app.get(SchedulerLeader).resign();
    await until(() => signal?.aborted);
    expect(signal?.reason).toBeInstanceOf(LockResignedError);
  });

  test('holds an ordinary lock of the name of the election', async () => {
    const store = new MemoryLockStore();
    const [leading, other] = [
      await startApp([Idle], options(store)),
      await startApp([], { store, instanceId: 'other' }),
    ];
    await elected(leading);
    for (const app of [leading, other]) {
      const result = await app.get(SchedulerLockService).run('main', () => 'ran');
      expect(result).toMatchObject({ reason: 'held', holder: expect.stringMatching(/.:\d+:./) });
    }
  });

  test('whose event loop was blocked past its lease runs no job before it is revoked', async () => {
    const runs: string[] = [];
    const app = await startApp([jobsOf(runs)], options(new MemoryLockStore()));
    await until(() => runs.includes('interval'));
    const during: string[][] = [];
    app
      .get(SchedulerLockEvents)
      .on('leader', ({ phase }) => void (phase === 'revoked' && during.push(runs.splice(0))));
    runs.length = 0;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * TTL);
    await until(() => during.length > 0);
    expect(during[0]).toEqual([]);
  });

  test('begins its second term with signals of its own, wherever the first one ended', async () => {
    const seen: { terms: number; aborted: boolean }[] = [];
    let terms = 0;
    @Injectable()
    class Jobs {
      constructor(private readonly leader: SchedulerLeader) {}

      @Interval(20)
      @SchedulerLock({ name: 'guarded', oncePerTick: false })
      async guarded(): Promise<void> {
        seen.push({ terms, aborted: currentLock().signal.aborted });
        // What is set off here, the next campaign included, inherits the context of this very run.
        if (terms === 1) void this.leader.resign();
      }
    }
    const app = await startApp([Jobs], options(new MemoryLockStore()));
    app.get(SchedulerLockEvents).on('leader', ({ phase }) => void (terms += Number(phase === 'elected')));
    terms = 1;
    await until(() => seen.filter((run) => run.terms === 2).length > 2);
    expect(seen.filter(({ aborted }) => aborted)).toEqual([]);
  });

  test('resigns on shutdown once its running jobs have ended', async () => {
    const store = new NotedStore();
    // Longer than a busy machine stalls: leader, standby and store share one event loop.
    const leader = { name: 'main', ttl: 6_000 };
    const job = gate();
    const seen: string[] = [];
    @Injectable()
    class Jobs {
      @Cron('* * * * * *', { name: 'plain', waitForCompletion: true })
      async plain(): Promise<void> {
        seen.push('began');
        await job.opened;
        seen.push(`ended ${currentLock().signal.aborted}`);
      }
    }
    const [first] = [await startApp([Jobs], { store, leader })];
    await until(() => seen.length === 1);
    const second = await startApp([Idle], { store, leader });
    const closed = first.close();
    const asked = (): number => store.calls.filter((call) => call === 'acquire main').length;
    const before = asked();
    await until(() => asked() > before + 1, { message: 'the standby to ask again, twice' });
    expect(leads(second)).toBe(false);
    expect(seen).toEqual(['began']);
    job.open();
    await closed;
    expect(seen).toEqual(['began', 'ended false']);
    await elected(second);
    expect(first.events.filter(isEvent('leader-revoked'))).toMatchObject([{ reason: 'shutdown' }]);
  });
});

test('a leader that resigns while a job hangs takes part again, and later runs, like the hung one, end with the application', async () => {
  const job = gate();
  const signals: AbortSignal[] = [];
  @Injectable()
  class Jobs {
    // It ignores the signal.
    @Interval(10)
    async endless(): Promise<void> {
      signals.push(currentLock().signal);
      await job.opened;
    }
  }
  const app = await startApp([Jobs], { ...options(new MemoryLockStore()), shutdownTimeout: 50 });
  await until(() => signals.length > 0);
  expect(await app.get(SchedulerLeader).resign()).toBe(true);
  const { length } = signals;
  await elected(app);
  await until(() => signals.length > length);
  const [first, last] = [signals[0], signals.at(-1)];
  expect(first?.reason).toBeInstanceOf(LockResignedError);
  expect(last?.aborted).toBe(false);
  const closed = app.close();
  job.open();
  await closed;
  expect(app.events.filter(isEvent('leader-revoked'))).toMatchObject([
    { reason: 'resigned' },
    { reason: 'shutdown' },
  ]);
});

test('a job that outlasts the shutdown is told, and the lease of its leader is left to expire', async () => {
  const store = new NotedStore();
  const job = gate();
  let signal: AbortSignal | undefined;
  @Injectable()
  class Jobs {
    @Interval(10)
    async endless(): Promise<void> {
      signal ??= currentLock().signal;
      await job.opened;
    }
  }
  const app = await startApp([Jobs], { ...options(store), shutdownTimeout: 50 });
  await until(() => signal !== undefined);
  await app.close();
  expect(signal?.reason).toBeInstanceOf(LockShutdownError);
  expect(app.get(SchedulerLeader).isLeader()).toBe(false);
  job.open();
  await new Promise(setImmediate);
  expect(store.calls.filter((call) => /^(acquire|release)/.test(call))).toEqual(['acquire main']);
});
