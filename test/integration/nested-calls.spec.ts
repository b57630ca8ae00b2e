import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import { currentLock, SchedulerLock, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, NotedStore, startApp } from './app.js';

const YEARLY = '0 0 0 1 1 *';

afterEach(closeApps);

function currentLockName(): string | undefined {
  try {
    return currentLock().name;
  } catch {
    return undefined;
  }
}

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
        void job.stop();
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

  it('are not nested if they are made by a job that the scheduler fires, whoever has started it', async () => {
    const running = gate();
    const seen: unknown[] = [];
    /** Calls the method of the name `before` first, as decorators of users do. */
    const Before: MethodDecorator = (_target, _key, descriptor) => {
      const original = descriptor.value as (this: object) => Promise<unknown>;
      descriptor.value = async function (this: Jobs) {
        seen.push(['before', currentLockName(), (await this.shared('before')) ?? 'skipped']);
        return original.call(this);
      } as never;
    };
    @Injectable()
    class Jobs {
      constructor(
        private readonly registry: SchedulerRegistry,
        private readonly locks: SchedulerLockService,
      ) {}
      @SchedulerLock('shared')
      async outer() {
        const job = this.registry.getCronJob('inner');
        void job.stop();
        job.start();
        void job.fireOnTick();
        await running.opened;
      }
      @SchedulerLock('shared')
      async shared(by: string) {
        return `ran for ${by}`;
      }
      @Cron(YEARLY, { name: 'inner' })
      @Before
      @SchedulerLock('inner')
      async inner() {
        seen.push(['inside', currentLockName(), (await this.shared('inside')) ?? 'skipped']);
        seen.push(await this.locks.run('shared', () => 'ran'));
        await this.locks.run('inner', (lock) => seen.push(lock.job));
        running.open();
      }
    }
    const app = await startApp([Jobs]);
    await app.get(Jobs).outer();
    await until(() => seen.length === 4);
    expect(seen).toEqual([
      ['before', undefined, 'skipped'],
      ['inside', 'inner', 'skipped'],
      { ran: false, reason: 'held', holder: app.get(SchedulerLockService).instanceId },
      'Jobs.inner',
    ]);
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

describe('a lost run that is still going', () => {
  it('keeps this process from starting another one, without asking the store', async () => {
    const store = new NotedStore();
    store.extend = (leases) =>
      Promise.resolve(leases.map(() => ({ held: false, reason: 'taken', holder: 'there' })));
    @Injectable()
    class Lost {
      readonly ended = gate();
      @Cron('0 0 0 1 1 *', { name: 'report' })
      @SchedulerLock({ name: 'report', heartbeat: 20 })
      async report() {
        await this.ended.opened;
      }
    }
    const app = await startApp([Lost], { store });
    const report = app.get(Lost).report();
    await until(() => app.events.some(({ type }) => type === 'lost'));
    expect(app.logs.own).toContain(
      'warn: Lost.report [report]: lost (taken by there) while its job was running',
    );
    await app.fire('report');
    await until(() => app.events.some(({ type }) => type === 'skipped'));
    expect(store.calls.filter((call) => call.startsWith('acquire'))).toHaveLength(1);
    app.get(Lost).ended.open();
    await report;
  });
});
