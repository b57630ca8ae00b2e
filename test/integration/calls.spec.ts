import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Cron, Interval, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import {
  assertLocked,
  currentLock,
  LockNotAcquiredError,
  LockNotHeldError,
  SchedulerLock,
  SchedulerLockService,
  StoreUnavailableError,
} from '../../lib/index.js';
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

describe('a decorated method without its store', () => {
  const broken = (): NotedStore => {
    const store = new NotedStore();
    store.acquire = () =>
      Promise.reject(new StoreUnavailableError('not connected', { outcome: 'not-applied' }));
    return store;
  };

  it('does not run with onStoreError: skip, the default', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('report')
      async report() {
        return 'ran';
      }
    }
    const app = await startApp([Jobs], { store: broken() });
    expect(await app.get(Jobs).report()).toBeUndefined();
    expect(app.events.at(-1)).toMatchObject({ type: 'skipped', reason: 'store-unavailable' });
  });

  it('rejects with onStoreError: throw of the module, unless its own says otherwise', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('report')
      async report() {
        return 'ran';
      }
      @SchedulerLock({ name: 'other', onStoreError: 'skip' })
      async other() {
        return 'ran';
      }
    }
    const app = await startApp([Jobs], { store: broken(), onStoreError: 'throw' });
    await expect(app.get(Jobs).report()).rejects.toThrow(StoreUnavailableError);
    expect(await app.get(Jobs).other()).toBeUndefined();
  });

  it('runs with onStoreError: run, without a fencing token; assertLocked() throws, nested calls run inside', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock({ name: 'report', onStoreError: 'run' })
      async report(): Promise<unknown> {
        expect(assertLocked).toThrow(LockNotHeldError);
        return [currentLock().fencingToken, await this.nested()];
      }
      @SchedulerLock({ name: 'report', onStoreError: 'run' })
      async nested() {
        return 'inside';
      }
    }
    const app = await startApp([Jobs], { store: broken() });
    expect(await app.get(Jobs).report()).toEqual([undefined, 'inside']);
    expect(app.events.filter(({ type }) => type === 'unlocked')).toHaveLength(1);
    expect(app.logs.own).toContain(
      "warn: Jobs.report [report]: runs WITHOUT its lock (onStoreError: 'run'): not connected",
    );
  });
});

describe('the name of a lock as a function', () => {
  @Injectable()
  class Jobs {
    @SchedulerLock({ name: (tenant: string) => `report-${tenant}` })
    async report(_tenant: string) {
      return currentLock().name;
    }
    @SchedulerLock({ name: (name: unknown) => name as string })
    async any(_name: unknown) {
      return 'ran';
    }
    @SchedulerLock({ name: (name: unknown) => name as string, onSkip: 'throw' })
    async strict(_name: unknown) {
      return 'ran';
    }
    @SchedulerLock({
      name: (): string => {
        throw new Error('no tenant');
      },
    })
    async throwing() {
      return 'ran';
    }
  }

  it("gets the call's arguments", async () => {
    const app = await startApp([Jobs]);
    expect(await app.get(Jobs).report('acme')).toBe('report-acme');
    expect(app.events[0]).toMatchObject({ lock: 'report-acme', job: 'Jobs.report' });
  });

  it.each([
    ['', '""', 'it is empty'],
    ['a{b}', '"a{b}"', 'it holds "{", "}" or a control character'],
    [undefined, '(undefined)', 'expected a string, got undefined'],
    [null, '(null)', 'expected a string, got null'],
    [Promise.resolve('late'), '(object)', 'expected a string, got object'],
  ])('skips the call for the name %p, with an error line', async (name, shown, problem) => {
    const app = await startApp([Jobs]);
    expect(await app.get(Jobs).any(name)).toBeUndefined();
    expect(app.events).toMatchObject([
      { type: 'skipped', reason: 'invalid-name', lock: shown, job: 'Jobs.any' },
    ]);
    expect(app.logs.own).toEqual([
      `error: Jobs.any [${shown}]: skipped (invalid-name): nestjs-scheduler-lock is misconfigured: ` +
        `the lock name ${shown} is not valid: ${problem}. Nothing was run.`,
    ]);
    await expect(app.get(Jobs).strict(name)).rejects.toMatchObject({ reason: 'invalid-name' });
  });

  it('rejects with what it throws, and nothing runs', async () => {
    const app = await startApp([Jobs]);
    await expect(app.get(Jobs).throwing()).rejects.toThrow('no tenant');
    expect(app.events).toEqual([]);
  });
});

describe('calls inside calls', () => {
  it('run inside when made by hand, and never when the scheduler fires them, whatever context it inherited', async () => {
    const running = gate();
    const seen: unknown[] = [];
    @Injectable()
    class Jobs {
      constructor(private readonly registry: SchedulerRegistry) {}
      @SchedulerLock('shared')
      async outer() {
        seen.push(await this.inner());
        const job = this.registry.getCronJob('inner');
        // Started anew inside this job: everything it fires inherits this job's context.
        job.stop();
        job.start();
        void job.fireOnTick();
        await running.opened;
      }
      @Cron(YEARLY, { name: 'inner' })
      @SchedulerLock('shared')
      async inner() {
        return currentLock().job;
      }
    }
    const app = await startApp([Jobs]);
    const outer = app.get(Jobs).outer();
    await until(() => app.events.some(({ type }) => type === 'skipped'));
    expect(seen).toEqual(['Jobs.outer']);
    expect(app.events).toMatchObject([
      { type: 'acquired', job: 'Jobs.outer' },
      { type: 'skipped', job: 'Jobs.inner', reason: 'held' },
    ]);
    running.open();
    await outer;
  });

  it('made by a promise that outlives its job take the lock anew', async () => {
    const ended = gate();
    const floating: Promise<unknown>[] = [];
    @Injectable()
    class Jobs {
      @SchedulerLock('report')
      async report() {
        floating.push(ended.opened.then(() => this.again()));
      }
      @SchedulerLock('report')
      async again() {
        return currentLock().job;
      }
    }
    const app = await startApp([Jobs]);
    await app.get(Jobs).report();
    ended.open();
    expect(await Promise.all(floating)).toEqual(['Jobs.again']);
    expect(app.events.filter(({ type }) => type === 'acquired')).toHaveLength(2);
  });
});

describe('a call before the application has started', () => {
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
