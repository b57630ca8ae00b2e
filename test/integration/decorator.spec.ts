import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import {
  currentLock,
  LockNotBoundError,
  type LockStore,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockModule,
} from '../../lib/index.js';
import { runUnlocked } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, startModule } from './app.js';
import { LocksOnly, locksOnly } from '../support/locks-only.js';

const YEARLY = '0 0 0 1 1 *';

type AsyncMethod = (...args: never[]) => Promise<unknown>;

/** What users write around their methods: replaces the function and says nothing of it. */
function Log(lines: string[], how: 'call' | 'apply'): MethodDecorator {
  return (_target, key, descriptor) => {
    const original = descriptor.value as AsyncMethod;
    descriptor.value = async function (this: unknown, ...args: never[]) {
      lines.push(String(key));
      return how === 'call' ? original.call(this, ...args) : original.apply(this, args);
    } as never;
  };
}

afterEach(() => {
  jest.restoreAllMocks();
  return closeApps();
});

describe('@SchedulerLock()', () => {
  it('warns of jobs that nothing fires where the scheduler is not imported', async () => {
    @Injectable()
    class Jobs {
      @Cron(YEARLY)
      @SchedulerLock()
      async fired() {}
      @SchedulerLock()
      async byHand() {}
    }
    const line =
      'warn: Nothing fires Jobs.fired: no module imports ScheduleModule.forRoot() of @nestjs/schedule.';
    const imports = [SchedulerLockModule.forRoot({ store: 'memory' })];
    const without = await startModule({ imports, providers: [Jobs] });
    expect(without.logs.own).toEqual([
      line,
      expect.stringMatching(/^log: 1 scheduled job and 1 other method /),
    ]);
    expect((await startApp([Jobs])).logs.own).not.toContain(line);
  });

  it.each([
    [{ instanceId: 'web-1' }, ''],
    [{ instanceId: 'web-1', enabled: false }, ', but none of them here (enabled: false)'],
  ])('says at the start what is guarded, once, with %j', async (options, where) => {
    @Injectable()
    class Jobs {
      @Cron(YEARLY)
      @SchedulerLock('mail')
      async send() {}
      @SchedulerLock()
      async byHand() {}
    }
    const app = await startApp([Jobs], { store: 'memory', ...options });
    expect(app.logs.own).toEqual([
      `log: 1 scheduled job and 1 other method run on one instance at a time (Jobs.send, Jobs.byHand)${where}: ` +
        'this is instance web-1, its locks are in the memory of this process',
    ]);
    expect((await startApp([])).logs.own).toEqual([]);
  });

  const { acquire, extend, release } = new MemoryLockStore();
  class Table extends LocksOnly implements LockStore {
    acquire = acquire;
    extend = extend;
    release = release;
  }

  it.each<[LockStore, string]>([
    [new Table(), 'Table'],
    [{ ...locksOnly, acquire, extend, release }, 'a store without a name'],
    [
      Object.assign(Object.create(null) as object, { ...locksOnly, acquire, extend, release }),
      'a store without a name',
    ],
  ])('says at the start where the locks of a store without a label are', async (store, where) => {
    @Injectable()
    class Jobs {
      @SchedulerLock()
      async byHand() {}
    }
    const app = await startApp([Jobs], { store });
    expect(app.logs.own).toEqual([expect.stringMatching(`its locks are in ${where}$`)]);
  });

  it('keeps the metadata of other decorators in either order, and the name and length of the function', () => {
    class Jobs {
      @SetMetadata('role', 'admin')
      @Cron(YEARLY)
      @SchedulerLock()
      async above(_a: number, _b: number) {}
      @SchedulerLock()
      @SetMetadata('role', 'admin')
      @Cron(YEARLY)
      async below(_a: number, _b: number) {}
      async bare(_a: number, _b: number) {}
    }
    const { above, below, bare } = Jobs.prototype;
    expect([above.name, below.name]).toEqual(['above', 'below']);
    expect([above.length, below.length]).toEqual([bare.length, bare.length]);
    for (const method of [above, below]) {
      expect(Reflect.getMetadata('role', method)).toBe('admin');
      expect(Reflect.getMetadata('SCHEDULE_CRON_OPTIONS', method)).toMatchObject({ cronTime: YEARLY });
    }
    expect(Reflect.getMetadata('design:paramtypes', Jobs.prototype, 'below')).toEqual([Number, Number]);
  });

  it('goes together with others in applyDecorators()', async () => {
    const Nightly = (name: string) => applyDecorators(Cron(YEARLY, { name }), SchedulerLock(name));
    @Injectable()
    class Jobs {
      @Nightly('report')
      async report() {
        return currentLock().name;
      }
    }
    const app = await startApp([Jobs]);
    expect(await app.get(Jobs).report()).toBe('report');
    await app.fire('report');
    await until(() => app.events.filter(({ type }) => type === 'released').length === 2);
  });

  it.each(['call', 'apply'] as const)(
    'works below decorators that replace the function and use %s(), and tells the scheduler from a call by hand',
    async (how) => {
      const lines: string[] = [];
      const locks: unknown[] = [];
      @Injectable()
      class Jobs {
        @Cron(YEARLY, { name: 'report' })
        @Log(lines, how)
        @SchedulerLock({ name: 'report', onSkip: 'throw' })
        async report() {
          const { job } = currentLock();
          locks.push(job);
          if (locks.length > 1) return;
          // Fired by the scheduler, so not nested, although it is fired inside the job; by hand it is.
          await app.get(SchedulerRegistry).getCronJob('report').fireOnTick();
          await until(() => app.events.some(({ type }) => type === 'skipped'));
          await this.report();
        }
      }
      const app = await startApp([Jobs]);
      await app.get(Jobs).report();
      expect(lines).toEqual(['report', 'report', 'report']);
      expect(locks).toEqual(['Jobs.report', 'Jobs.report']);
      // onSkip: throw concerns calls by hand alone, and no call by hand was skipped.
      expect(app.logs.lines.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );

  it('works above decorators that replace the function', async () => {
    const lines: string[] = [];
    @Injectable()
    class Jobs {
      @SchedulerLock('report')
      @Log(lines, 'apply')
      async report() {
        return currentLock().name;
      }
    }
    const app = await startApp([Jobs]);
    expect(await app.get(Jobs).report()).toBe('report');
    expect(lines).toEqual(['report']);
  });

  it('lets spies on the prototype and on the instance see every call', async () => {
    @Injectable()
    class Jobs {
      @Cron(YEARLY, { name: 'report' })
      @SchedulerLock('report')
      async report() {
        return 'ran';
      }
    }
    const app = await startApp([Jobs]);
    const jobs = app.get(Jobs);
    const onPrototype = jest.spyOn(Jobs.prototype, 'report').mockResolvedValueOnce('mocked');
    expect(await jobs.report()).toBe('mocked');
    expect(await jobs.report()).toBe('ran');
    expect(onPrototype).toHaveBeenCalledTimes(2);
    onPrototype.mockRestore();

    const onInstance = jest.spyOn(jobs, 'report').mockResolvedValueOnce('mocked');
    expect(await jobs.report()).toBe('mocked');
    expect(await jobs.report()).toBe('ran');
    expect(onInstance).toHaveBeenCalledTimes(2);
    onInstance.mockRestore();
    expect(await jobs.report()).toBe('ran');
  });

  it('leaves the instance as it was after the application has closed', async () => {
    @Injectable()
    class Jobs {
      @Cron(YEARLY, { name: 'report' })
      @SchedulerLock('report')
      async report() {}
    }
    const app = await startApp([Jobs]);
    const jobs = app.get(Jobs);
    expect(Object.keys(jobs)).toEqual([]);
    await app.close();
    expect(Object.getOwnPropertyNames(jobs)).toEqual([]);
  });

  it('refuses to run where no module has bound it, and says what to do', async () => {
    class Jobs {
      ran = false;
      @SchedulerLock('report')
      async report() {
        this.ran = true;
      }
    }
    const jobs = new Jobs();
    const failure = await jobs.report().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LockNotBoundError);
    expect((failure as Error).message).toBe(
      'Jobs.report is guarded by @SchedulerLock(), but no SchedulerLockModule has bound it, so it did not run. ' +
        'Import SchedulerLockModule.forRoot() in the application, make the class one of its providers or controllers, ' +
        "and call the method after the module's initialisation. " +
        "In unit tests, call runAllUnlocked() of 'nestjs-scheduler-lock/testing' in a set-up file.",
    );
    await expect(Reflect.apply(jobs.report, null, [])).rejects.toBeInstanceOf(LockNotBoundError);
    expect(jobs.ran).toBe(false);
  });

  it('runs under a pretended lock inside runUnlocked(), and only there', async () => {
    class Jobs {
      @SchedulerLock('report')
      async report(how: string) {
        currentLock().assertLocked();
        return [how, currentLock().fencingToken];
      }
    }
    const jobs = new Jobs();
    expect(await runUnlocked(() => jobs.report('well'))).toEqual(['well', 1]);
    expect(await runUnlocked(() => jobs.report('well'), { fencingToken: 7 })).toEqual(['well', 7]);
    const signal = AbortSignal.abort(new Error('stop'));
    await expect(runUnlocked(() => jobs.report('badly'), { signal })).rejects.toThrow('stop');
    await expect(jobs.report('not at all')).rejects.toThrow(LockNotBoundError);
  });
});
