import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { SchedulerLock, SchedulerLockEvents, SchedulerLockService } from '../../lib/index.js';
import { collectUnhandledRejections, until } from '../support/until.js';
import { closeApps, gate, NotedStore, startApp, type TestApp } from './app.js';
import { DAY, daily, request, runIn } from './tick-support.js';

let rejections: ReturnType<typeof collectUnhandledRejections>;

beforeEach(() => {
  rejections = collectUnhandledRejections();
});
afterEach(async () => {
  await closeApps();
  await new Promise((resolve) => setImmediate(resolve));
  rejections.stop();
  expect(rejections.list).toEqual([]);
});

/** From now on every line throws, as that of a logger whose worker has exited. */
function breakLogger(app: TestApp): void {
  const fail = (): never => {
    throw new Error('the worker has exited');
  };
  Object.assign(app.logs, { log: fail, error: fail, warn: fail, debug: fail });
  Logger.overrideLogger(app.logs);
}

describe('a logger that throws', () => {
  it('changes nothing for a lease: it is renewed while its job runs, and given back at its end', async () => {
    const store = new NotedStore();
    const app = await startApp([], { store, heartbeat: 20 });
    const locks = app.get(SchedulerLockService);
    app.get(SchedulerLockEvents).on(() => {
      throw new Error('metrics are down');
    });
    breakLogger(app);
    for (const _ of [1, 2]) {
      store.calls.length = 0;
      const run = locks.run('report', async () => {
        await until(() => store.calls.filter((call) => call.startsWith('extend')).length >= 3);
        return 'done';
      });
      expect(await run).toEqual({ ran: true, value: 'done' });
      expect(store.calls).toContain('release report completed');
      const beats = store.calls.length;
      await locks.run('other', () => undefined);
      expect(store.calls.slice(beats)).toEqual(['acquire other', 'release other completed']);
    }
  });

  it('changes nothing for the other leases when one is lost', async () => {
    const store = new NotedStore();
    const app = await startApp([], { store, heartbeat: 20 });
    const locks = app.get(SchedulerLockService);
    const { extend } = NotedStore.prototype;
    store.extend = async (leases) => {
      const results = await extend.call(store, leases);
      return results.map((result, index) =>
        leases[index]?.name === 'lost' ? { held: false, reason: 'taken' } : result,
      );
    };
    breakLogger(app);
    const lost = locks.run('lost', (lock) => until(() => lock.signal.aborted));
    const kept = locks.run('kept', async (lock) => {
      await lost;
      const beats = store.calls.length;
      await until(() => store.calls.slice(beats).filter((call) => call === 'extend kept').length >= 3);
      return lock.signal.aborted;
    });
    expect(await kept).toEqual({ ran: true, value: false });
  });

  it('changes nothing when a job that is fired again throws', async () => {
    const store = new NotedStore();
    const { expression, tick } = daily();
    await runIn(store, request('Jobs.daily', tick - DAY));
    const running = gate();
    @Injectable()
    class Jobs {
      @Cron(expression, { timeZone: 'UTC' })
      @SchedulerLock({ catchUp: '1h' })
      async daily() {
        await running.opened;
        throw new Error('the job');
      }
    }
    const app = await startApp([Jobs], { store });
    breakLogger(app);
    running.open();
    await until(() => store.calls.includes('release Jobs.daily failed'));
  });
});
