import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  SchedulerLock,
  SchedulerLockConfigError,
  SchedulerLockModule,
  SchedulerLockService,
} from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, startFailure, type TestApp } from './app.js';
import { calendar, hold, ids } from './support/calendar.js';

// Servers start slowly on a busy machine.
jest.setTimeout(60_000);

let redis: RedisServer;

beforeAll(async () => {
  redis = await provideRedis();
});
afterEach(closeApps);
afterAll(() => redis.stop());

const run = (app: TestApp, job: () => unknown = () => 1) => app.get(SchedulerLockService).run('report', job);

describe('new RedisLockStore()', () => {
  it('makes the locks that connection, keyPrefix and key of the module make', async () => {
    const keyPrefix = uniquePrefix();
    const key = (name: string): string => `${keyPrefix}:${name}`;
    for (const options of [{ keyPrefix }, { key }]) {
      const short = await startApp([], { connection: redis.url, ...options });
      const long = await startApp([], { store: new RedisLockStore(redis.url, options) });
      for (const [one, other] of [
        [short, long],
        [long, short],
      ] as const) {
        const result = await run(one, () => run(other));
        expect(result).toMatchObject({ ran: true, value: { ran: false, reason: 'held' } });
      }
    }
  });

  it('queues calls with a `key` that knows the names of locks only', async () => {
    const prefix = uniquePrefix();
    const key = (name: string): string => {
      if (!['calendar', 'report'].includes(name)) throw new Error('no such lock');
      return `${prefix}:${name}`;
    };
    const { Calendar, ran } = calendar();
    const app = await startApp([Calendar], { connection: redis.url, key });
    const letGo = await hold(app);
    await app.get(Calendar).changed('one');
    await letGo();
    await until(() => ran.length === 1);
    expect(ids(ran)).toEqual(['one']);
  });

  it('is called by its place in the log, as with a connection', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('report')
      async report() {}
    }
    const short = await startApp([Jobs], { connection: redis.url, instanceId: 'me' });
    const long = await startApp([Jobs], { store: new RedisLockStore(redis.url), instanceId: 'me' });
    expect(long.logs.own).toEqual(short.logs.own);
    expect(long.logs.own.filter((line) => line.includes('on one instance'))).toEqual([
      expect.stringContaining(`its locks are in Redis ${redis.host}`),
    ]);
  });

  it.each(['a client of its own', 'a client that its application closes'])(
    'keeps the record of a run that ends while its application shuts down: %s',
    async (whose) => {
      const keyPrefix = uniquePrefix();
      const client = new Redis(redis.url);
      const [begun, end] = [gate(), gate()];
      @Injectable()
      class Jobs implements OnApplicationShutdown {
        @SchedulerLock({ name: 'report', history: true })
        async report() {
          begun.open();
          await end.opened;
        }

        onApplicationShutdown(): unknown {
          return client.quit();
        }
      }
      const connection = whose === 'a client of its own' ? redis.url : client;
      const app = await startApp([Jobs], { connection, keyPrefix });
      const ended = app.get(Jobs).report();
      await begun.opened;
      const closed = app.close();
      end.open();
      await Promise.all([ended, closed]);
      const reader = new RedisLockStore(redis.url, { keyPrefix });
      await reader.init();
      const entries = await reader.history.entries({ name: 'report', limit: 9 });
      await reader.close();
      expect(entries).toMatchObject([{ outcome: 'completed' }]);
    },
  );

  it('finds queued calls behind a thousand locks whose calls are for others', async () => {
    const store = new RedisLockStore(redis.url, { keyPrefix: uniquePrefix() });
    await store.init();
    const { queuedCalls } = store;
    const more = { args: '[]', priority: 0, max: 10, redeliver: 0 };
    const queue = (name: string, job: string) =>
      queuedCalls.enqueue({ name, job, id: randomUUID(), ...more });
    await Promise.all(Array.from({ length: 1_001 }, (_, n) => queue(`a ${n}`, 'of others')));
    await queue('z', 'ours');
    const looks = [await queuedCalls.left(['ours']), await queuedCalls.left(['ours'])];
    expect(looks.flat().map(({ name }) => name)).toEqual(['z']);
    // From the first one again.
    await queue('a', 'ours');
    const again = [await queuedCalls.left(['ours']), await queuedCalls.left(['ours'])];
    expect(
      again
        .flat()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['a', 'z']);
    await store.close();
  });

  it("uses the user's client, and never closes it", async () => {
    const client = new Redis(redis.url, { keyPrefix: uniquePrefix() });
    const app = await startApp([], { store: new RedisLockStore(client) });
    expect(await run(app)).toMatchObject({ ran: true });
    await app.close();
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });

  it('stays open for an app that shares it with one that is closed before it has started', async () => {
    const store = new RedisLockStore(redis.url, { keyPrefix: uniquePrefix() });
    const app = await startApp([], { store });
    const never = await Test.createTestingModule({
      imports: [SchedulerLockModule.forRoot({ store })],
    }).compile();
    await never.close();
    expect(await run(app)).toMatchObject({ ran: true });
  });

  it('may be shared by apps: its own client is closed with the last one, and made anew for the next', async () => {
    const clientName = uniquePrefix();
    const admin = new Redis(redis.url);
    const clients = async (): Promise<number> => {
      const list = String(await admin.call('CLIENT', 'LIST'));
      return list.split('\n').filter((line) => line.includes(`name=${clientName} `)).length;
    };
    const connection = { host: redis.host, port: redis.port, connectionName: clientName };
    const store = new RedisLockStore(connection, { keyPrefix: uniquePrefix() });
    const [first, second] = await Promise.all([startApp([], { store }), startApp([], { store })]);
    expect(await clients()).toBe(1);
    await first.close();
    expect(await run(second)).toMatchObject({ ran: true });
    await second.close();
    expect(await clients()).toBe(0);
    expect(await run(await startApp([], { store }))).toMatchObject({ ran: true });
    await closeApps();
    admin.disconnect();
  });
});

describe('names that would share a key', () => {
  const key = (name: string): string => `app:${name.slice(0, 3)}`;
  const store = (): RedisLockStore => new RedisLockStore('redis://127.0.0.1:1', { key });

  it('stop the start if they are those of the library itself', async () => {
    @Injectable()
    class Queued {
      @SchedulerLock('queued')
      async run() {}
      @SchedulerLock('instances')
      async other() {}
    }
    const own = { connection: 'redis://127.0.0.1:1', key: (name: string) => `scheduler:${name}` };
    const given = await startFailure(startApp([Queued], own));
    expect(given).toMatch(
      /key: it gave "scheduler:queued" for the lock "queued", and there the library itself/,
    );
    expect(given).toMatch(/key: it gave "scheduler:instances" for the lock "instances", and there/);
  });

  @Injectable()
  class Jobs {
    @SchedulerLock('invoices')
    async invoices() {}
    @SchedulerLock('inventory')
    async inventory() {}
  }

  it('stop the start, with the text of the module', async () => {
    const given = await startFailure(startApp([Jobs], { store: store() }));
    expect(given).toMatch(
      /SchedulerLockModule: key: it gave "app:inv" for the lock "invoices" and for the lock "inventory"/,
    );
    const connection = 'redis://127.0.0.1:1';
    expect(await startFailure(startApp([Jobs], { connection, key }))).toBe(given);
  });

  it('refuse a job that is made at run time', async () => {
    @Injectable()
    class Invoices {
      @SchedulerLock('invoices')
      async run() {}
    }
    const app = await startApp([Invoices], { store: store() });
    const make = () =>
      app.get(SchedulerLockService).cron('inventory', '0 0 3 * * *', { timeZone: 'UTC' }, () => undefined);
    expect(make).toThrow(SchedulerLockConfigError);
    expect(make).toThrow(/key: it gave "app:inv" for the lock "invoices" and for the lock "inventory"/);
  });
});
