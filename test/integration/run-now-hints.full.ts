import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  Control,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockInsight,
  SchedulerLockService,
  type LockStore,
} from '../../lib/index.js';
import { systemClock } from '../../lib/base/clock.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { provideRedis, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp } from './app.js';

/*
 * A call that a person queues elsewhere reaches an instance whose channel for hints is open. The instance beats with its ticks, and the next
 * one is long in coming: so it does not look for queued calls by itself.
 */

type Opened = { store: () => LockStore; stop: () => Promise<void> };
const STORES: readonly [name: string, open: () => Promise<Opened>][] = [
  [
    'memory',
    async () => {
      const store = new MemoryLockStore();
      return { store: () => store, stop: async () => undefined };
    },
  ],
  [
    'Redis',
    async () => {
      const server = await provideRedis();
      const keyPrefix = uniquePrefix('hints');
      return { store: () => new RedisLockStore(server.url, { keyPrefix }), stop: () => server.stop() };
    },
  ],
];

describe.each(STORES)('on %s', (_, open) => {
  let opened: Opened;
  const closing: LockStore[] = [];
  afterEach(async () => {
    await closeApps();
    for (const store of closing.splice(0)) await store.close?.();
    await opened.stop();
  });

  test('a run that a person wants elsewhere begins at once where a channel for hints is open', async () => {
    opened = await open();
    const ran: unknown[] = [];
    @Injectable()
    class Invoices {
      @Cron('0 0 1 1 *')
      @SchedulerLock({ name: 'invoices' })
      async send(...args: unknown[]): Promise<void> {
        ran.push(args);
      }
    }
    const app = await startApp([Invoices], { store: opened.store(), insight: { beat: 'with-ticks' } });
    await until(async () => (await app.get(SchedulerLockInsight).job('Invoices.send')) !== undefined);
    // A call that waits opens the channel, which is open when a hint has ended its wait.
    const locks = app.get(SchedulerLockService);
    const hold = gate();
    let begun = false;
    const first = locks.run('other', () => {
      begun = true;
      return hold.opened;
    });
    await until(() => begun);
    const second = locks.run('other', { wait: '1m' }, () => undefined);
    await until(() => app.events.some(({ type }) => type === 'waiting'));
    hold.open();
    await Promise.all([first, second]);
    const store = opened.store();
    await store.init?.();
    if (store.close !== undefined && !(store instanceof MemoryLockStore)) closing.push(store);
    const shell = new Control(store, { clock: systemClock, instance: 'shell' });
    const request = { job: 'Invoices.send', wait: '20s', actor: 'anna' } as const;
    expect(await shell.runNow({ ...request, args: [1] })).toMatchObject({
      result: 'started',
      outcome: 'completed',
    });
    expect(ran).toEqual([[1]]);
  });
});
