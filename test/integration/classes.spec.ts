import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentLock, SchedulerLock } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, NotedStore, startApp } from './app.js';

const YEARLY = '0 0 0 1 1 *';

afterEach(closeApps);

describe('the jobs of classes', () => {
  it('are bound once for a provider with aliases', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock()
      async report() {
        return currentLock().job;
      }
    }
    const store = new NotedStore();
    const app = await startApp([Jobs, { provide: 'ALIAS', useExisting: Jobs }], { store });
    expect(await app.get(Jobs).report()).toBe('Jobs.report');
    expect(store.calls).toEqual(['init', 'acquire Jobs.report', 'release Jobs.report completed']);
  });

  it('are found on values and factories too, and on all instances of a class', async () => {
    class Jobs {
      constructor(readonly shop: string) {}
      @SchedulerLock({ name: 'report' })
      async report() {
        return this.shop;
      }
    }
    const app = await startApp([
      { provide: 'A', useValue: new Jobs('a') },
      { provide: 'B', useFactory: async () => new Jobs('b') },
    ]);
    const [a, b] = ['A', 'B'].map((token) => app.module.get<Jobs>(token));
    expect([await a?.report(), await b?.report()]).toEqual(['a', 'b']);
  });

  it('are jobs of their own in each concrete class that inherits them', async () => {
    abstract class Base {
      @SchedulerLock()
      async report() {
        return currentLock().name;
      }
    }
    @Injectable()
    class Invoices extends Base {}
    @Injectable()
    class Orders extends Base {}
    const app = await startApp([Invoices, Orders]);
    expect(await app.get(Invoices).report()).toBe('Invoices.report');
    expect(await app.get(Orders).report()).toBe('Orders.report');
  });

  it('run inside one lease when an override calls super, be both decorated or the base alone', async () => {
    class Base {
      @SchedulerLock()
      async both(): Promise<unknown[]> {
        return [currentLock().name];
      }
      @SchedulerLock()
      async base(): Promise<unknown[]> {
        return [currentLock().name];
      }
    }
    @Injectable()
    class Jobs extends Base {
      @SchedulerLock()
      override async both() {
        return [currentLock().name, ...(await super.both())];
      }
      @Cron(YEARLY, { name: 'base' })
      override async base() {
        return ['unlocked', ...(await super.base())];
      }
    }
    const store = new NotedStore();
    const app = await startApp([Jobs], { store });
    expect(await app.get(Jobs).both()).toEqual(['Jobs.both', 'Jobs.both']);
    expect(await app.get(Jobs).base()).toEqual(['unlocked', 'Jobs.base']);
    expect(store.calls.filter((call) => call.startsWith('acquire'))).toEqual([
      'acquire Jobs.both',
      'acquire Jobs.base',
    ]);
  });

  it('run inside one lease also when the scheduler fires an override that calls super', async () => {
    const runs: unknown[] = [];
    class Base {
      @SchedulerLock()
      async report() {
        runs.push(['base', currentLock().fencingToken]);
      }
    }
    @Injectable()
    class Jobs extends Base {
      @Cron(YEARLY, { name: 'report' })
      @SchedulerLock()
      override async report() {
        runs.push(['override', currentLock().fencingToken]);
        await super.report();
      }
    }
    const app = await startApp([Jobs]);
    await app.fire('report');
    await until(() => app.events.some(({ type }) => type === 'released'));
    const [acquired] = app.events;
    const { fencingToken } = acquired as { fencingToken: number };
    expect(runs).toEqual([
      ['override', fencingToken],
      ['base', fencingToken],
    ]);
    expect(app.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
  });

  it('are told apart by `job`, and exclude each other under one name', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock({ name: 'shared', job: 'billing' })
      async first() {
        return currentLock();
      }
      @SchedulerLock({ name: 'shared' })
      async second() {
        return currentLock();
      }
    }
    const app = await startApp([Jobs]);
    const jobs = app.get(Jobs);
    expect(await Promise.all([jobs.first(), jobs.second()])).toMatchObject([
      { name: 'shared', job: 'billing' },
      undefined,
    ]);
    expect(await jobs.second()).toMatchObject({ name: 'shared', job: 'Jobs.second' });
  });
});
