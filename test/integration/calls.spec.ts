import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Cron, Interval, Timeout } from '@nestjs/schedule';
import { currentLock, LockNotAcquiredError, SchedulerLock, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, NotedStore, startApp } from './app.js';

/** Never by itself while these tests run. */
const YEARLY = '0 0 0 1 1 *';

afterEach(closeApps);

describe('a decorated method', () => {
  it('runs once over two instances when both schedulers fire it, in either order with @Cron()', async () => {
    const running = gate();
    const runs: string[] = [];
    @Injectable()
    class Jobs {
      constructor(private readonly locks: SchedulerLockService) {}
      @Cron(YEARLY, { name: 'above' })
      @SchedulerLock('above')
      async above() {
        runs.push(`above ${this.locks.instanceId}`);
        await running.opened;
      }
      @SchedulerLock('below')
      @Cron(YEARLY, { name: 'below' })
      async below() {
        runs.push(`below ${this.locks.instanceId}`);
        await running.opened;
      }
    }
    const store = new NotedStore();
    const blue = await startApp([Jobs], { store, instanceId: 'blue' });
    const green = await startApp([Jobs], { store, instanceId: 'green' });
    for (const name of ['above', 'below']) {
      void blue.fire(name);
      void green.fire(name);
      await until(() => green.events.some((event) => event.type === 'skipped' && event.lock === name));
    }
    running.open();
    expect(runs).toEqual(['above blue', 'below blue']);
    expect(green.events).toMatchObject([
      { type: 'skipped', lock: 'above', job: 'Jobs.above', reason: 'held', holder: 'blue' },
      { type: 'skipped', lock: 'below', job: 'Jobs.below', reason: 'held', holder: 'blue' },
    ]);
  });

  it('is fired by the real scheduler with @Cron(), @Interval() and @Timeout()', async () => {
    const names = new Set<string>();
    @Injectable()
    class Jobs {
      @SchedulerLock()
      @Cron('* * * * * *')
      async cron() {
        names.add(currentLock().name);
      }
      @SchedulerLock()
      @Interval(20)
      async interval() {
        names.add(currentLock().name);
      }
      @Timeout(20)
      @SchedulerLock()
      async timeout() {
        names.add(currentLock().name);
      }
    }
    await startApp([Jobs]);
    await until(() => names.size === 3);
    expect([...names].sort()).toEqual(['Jobs.cron', 'Jobs.interval', 'Jobs.timeout']);
  });

  it('answers what it returns, and rejects with what it throws', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock()
      async works(a: number, b: number) {
        return a + b;
      }
      @SchedulerLock()
      async fails() {
        throw new RangeError('too far');
      }
    }
    const app = await startApp([Jobs]);
    const jobs = app.get(Jobs);
    expect(await jobs.works(1, 2)).toBe(3);
    await expect(jobs.fails()).rejects.toThrow(new RangeError('too far'));
    expect(app.events.filter(({ type }) => type === 'released')).toMatchObject([
      { outcome: 'completed' },
      { outcome: 'failed', error: new RangeError('too far') },
    ]);
  });

  it('resolves undefined when it is skipped, and is skipped without asking the store in the same process', async () => {
    const running = gate();
    @Injectable()
    class Jobs {
      @SchedulerLock('report')
      async report() {
        await running.opened;
        return 'ran';
      }
    }
    const store = new NotedStore();
    const app = await startApp([Jobs], { store });
    const first = app.get(Jobs).report();
    await until(() => app.events.some(({ type }) => type === 'acquired'));
    expect(await Promise.all([1, 2, 3].map(() => app.get(Jobs).report()))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(store.calls).toEqual(['init', 'acquire report']);
    running.open();
    expect(await first).toBe('ran');
  });

  it('with onSkip: throw rejects a call by hand, and never a call by the scheduler', async () => {
    const running = gate();
    let fired: unknown = 'not yet';
    @Injectable()
    class Jobs {
      @Cron(YEARLY, { name: 'report' })
      @SchedulerLock({ name: 'report', onSkip: 'throw' })
      async report() {
        await running.opened;
      }
    }
    const store = new NotedStore();
    const [app, other] = [
      await startApp([Jobs], { store }),
      await startApp([Jobs], { store, instanceId: 'there' }),
    ];
    const held = other.get(Jobs).report();
    await until(() => other.events.some(({ type }) => type === 'acquired'));
    const failure = await app
      .get(Jobs)
      .report()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LockNotAcquiredError);
    expect(failure).toMatchObject({
      message: 'Lock "report" was not acquired (held): instance there has it.',
      lock: 'report',
      reason: 'held',
      holder: 'there',
    });
    fired = await app.fire('report');
    await until(() => app.events.filter(({ type }) => type === 'skipped').length === 2);
    expect(fired).toBeUndefined();
    // The scheduler logs what a job rejects with.
    expect(app.logs.lines.filter(({ level }) => level === 'error')).toEqual([]);
    running.open();
    await held;
  });

  it('knows a call by hand from a call by the scheduler, however it is made', async () => {
    const running = gate();
    @Injectable()
    class Jobs {
      @Cron(YEARLY, { name: 'report' })
      @SchedulerLock({ name: 'report', onSkip: 'throw' })
      async report() {
        await running.opened;
      }
    }
    const app = await startApp([Jobs]);
    const jobs = app.get(Jobs);
    const first = jobs.report();
    await until(() => app.events.some(({ type }) => type === 'acquired'));
    await expect(jobs.report()).rejects.toThrow(LockNotAcquiredError);
    await expect(jobs.report.call(jobs)).rejects.toThrow(LockNotAcquiredError);
    await expect(jobs.report.apply(jobs)).rejects.toThrow(LockNotAcquiredError);
    await expect(jobs.report.bind(jobs)()).rejects.toThrow(LockNotAcquiredError);
    running.open();
    await first;
  });

  it.each([
    ['module', { store: 'memory', enabled: false } as const, {}],
    ['lock', { store: 'memory' } as const, { enabled: false }],
    ['module, whatever the lock says', { store: 'memory', enabled: false } as const, { enabled: true }],
  ])('does not run with enabled: false on the %s', async (_place, moduleOptions, lockOptions) => {
    let runs = 0;
    @Injectable()
    class Jobs {
      @Cron(YEARLY, { name: 'report' })
      @SchedulerLock({ name: 'report', ...lockOptions })
      async report() {
        runs += 1;
      }
    }
    const app = await startApp([Jobs], moduleOptions);
    expect(await app.get(Jobs).report()).toBeUndefined();
    await app.fire('report');
    await until(() => app.events.length === 2);
    expect(app.events).toMatchObject([{ reason: 'disabled' }, { reason: 'disabled' }]);
    expect(runs).toBe(0);
  });
});

describe('a call before the application has started', () => {
  it('of run() by an asynchronous factory opens the store, once', async () => {
    const store = new NotedStore();
    const factory = (locks: SchedulerLockService) => locks.run('migrate', () => 'migrated');
    const early = { provide: 'EARLY', inject: [SchedulerLockService], useFactory: factory };
    const app = await startApp([early], { store });
    expect(app.module.get('EARLY')).toEqual({ ran: true, value: 'migrated' });
    expect(store.calls).toEqual(['init', 'acquire migrate', 'release migrate completed']);
  });

  it('of run() by an onModuleInit hook works, and waits for the store', async () => {
    @Injectable()
    class Early implements OnModuleInit {
      result: unknown;
      constructor(private readonly locks: SchedulerLockService) {}
      async onModuleInit() {
        this.result = await this.locks.run('migrate', () => 'migrated');
      }
    }
    const store = new NotedStore();
    const app = await startApp([Early], { store });
    expect(app.get(Early).result).toEqual({ ran: true, value: 'migrated' });
    expect(store.calls).toEqual(['init', 'acquire migrate', 'release migrate completed']);
  });
});
