import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import { DATABASES, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { until } from '../support/until.js';
import { job, startApp } from './support/app.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** How each isolation level is set for a session. */
const LEVELS = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const;

describe.each(DATABASES.map((database) => [database.name, database] as const))(
  'with %s',
  (name, database) => {
    let server: DatabaseServer;
    let proxy: TcpProxy;
    let pool: TestPool;
    let table: string;
    const pools: TestPool[] = [];

    beforeAll(async () => {
      server = await database.provide();
      const { hostname, port } = new URL(server.url);
      proxy = await startProxy({ host: hostname, port: Number(port), protocol: 'raw' });
      pool = database.pool(server.url);
    });

    beforeEach(async () => {
      table = uniqueTable('wire');
      await pool.store({ table }).migrate();
    });

    afterEach(async () => {
      await Promise.all(pools.splice(0).map((each) => each.end()));
      await pool.write(`DROP TABLE ${table}`);
    });

    afterAll(async () => {
      await proxy?.stop();
      await pool?.end();
      await server?.stop();
    });

    const open = (url: string, settings?: Parameters<typeof database.pool>[1]): TestPool => {
      const opened = database.pool(url, settings);
      pools.push(opened);
      return opened;
    };
    const proxied = (): string => {
      const url = new URL(server.url);
      url.port = String(proxy.port);
      return url.href;
    };

    test('an acquire whose answer was lost with the connection is taken back, and the lock is free for the next', async () => {
      const app = await startApp({ store: open(proxied()).store({ table }), ttl: '1m' });
      const other = await startApp({ store: pool.store({ table }), ttl: '1m' });
      // The first acquire of a name takes more than one statement on MySQL.
      expect(await app.locks.run('job', () => 'ran')).toMatchObject({ ran: true });
      const by = async (): Promise<string> =>
        String((await pool.rows(`SELECT locked_by FROM ${table}`))[0]?.['locked_by']);
      const before = await by();
      const letGo = proxy.holdReplies();
      const run = app.locks.run('job', () => 'ran again');
      await until(async () => (await by()) !== before, { message: 'the acquire to be carried out' });
      proxy.cut();
      letGo();
      expect(await run).toMatchObject({ ran: false, reason: 'store-unavailable' });
      expect(app.heard('acquired')).toHaveLength(1);
      await until(async () => (await by()).endsWith('/abandoned'), { message: 'the release' });
      expect(await other.locks.run('job', () => 'ran')).toMatchObject({ ran: true });
    });

    test('an acquire that was carried out too late is taken back', async () => {
      const app = await startApp({ store: open(server.url).store({ table }), ttl: '1m', storeTimeout: 200 });
      const { body, started, end } = job();
      const first = app.locks.run('job', body);
      await started;
      end();
      await first;
      // Somebody has locked the table, and the acquire waits for it until nobody wants its answer any more.
      const holder = open(server.url, { max: 1 });
      const [begin, lock, unlock] =
        name === 'PostgreSQL'
          ? ['BEGIN', `LOCK TABLE ${table} IN SHARE MODE`, 'COMMIT']
          : ['SELECT 1', `LOCK TABLES ${table} WRITE`, 'UNLOCK TABLES'];
      await holder.rows(begin);
      await holder.rows(lock);
      expect(await app.locks.run('job', () => 'ran')).toMatchObject({
        ran: false,
        reason: 'store-unavailable',
      });
      await holder.rows(unlock);
      const by = async (): Promise<unknown> =>
        (await pool.rows(`SELECT locked_by FROM ${table} WHERE name = 'job'`))[0]?.['locked_by'];
      await until(async () => String(await by()).endsWith('/abandoned'), {
        message: 'the acquire to be taken back',
      });
      await expect(app.locks.run('job', () => 'ran')).resolves.toMatchObject({ ran: true });
    });

    test('of the calls of an outage only a few wait for its end', async () => {
      // However long it takes here, none is given up before the outage ends.
      const store = open(proxied()).store({ table, queryTimeout: 600_000 });
      await store.init();
      const request = (): AcquireRequest => ({
        name: randomUUID(),
        token: randomUUID(),
        ttl: 60_000,
        holder: 'host',
      });
      expect(await store.acquire(request())).toMatchObject({ acquired: true });
      proxy.freeze();
      const refusals: unknown[] = [];
      const calls: Promise<unknown>[] = [];
      await until(
        () => {
          calls.push(store.acquire(request()).catch((error: unknown) => refusals.push(error)));
          return refusals.length >= 20;
        },
        { interval: 50, message: 'calls to be turned away' },
      );
      expect(refusals[0]).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'not-applied' });
      const rows = async (): Promise<number> => (await pool.rows(`SELECT name FROM ${table}`)).length;
      const before = await rows();
      proxy.thaw();
      await Promise.all(calls);
      // As many as it took until the silence counted as one; from then on nobody waits.
      expect(await rows()).toBe(before + calls.length - refusals.length);
      expect(await store.acquire(request())).toMatchObject({ acquired: true });
    });

    test.each(LEVELS)(
      'at %s, under load, a lock has one holder at a time and its fencing tokens grow',
      async (level) => {
        const statement =
          name === 'PostgreSQL'
            ? `SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ${level}`
            : `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`;
        const instances = Array.from({ length: 2 }, () =>
          open(server.url, { max: 6, session: [statement] }).store({ table }),
        );
        const locks = ['one', 'two'].map((lock) => ({ lock, holder: '', last: 0, grants: 0 }));
        const worker = async (i: number): Promise<void> => {
          const store = instances[i % instances.length];
          const state = locks[i % locks.length === 0 ? 0 : 1];
          if (store === undefined || state === undefined) return;
          while (state.grants < 40) {
            const request = { name: state.lock, token: randomUUID(), ttl: 600_000, holder: `worker-${i}` };
            const result = await store.acquire(request);
            if (!result.acquired) continue;
            expect(state.holder).toBe('');
            state.holder = request.holder;
            expect(result.fencingToken).toBeGreaterThan(state.last);
            state.last = result.fencingToken;
            state.grants += 1;
            const lease = { ...request, fencingToken: result.fencingToken };
            expect(await store.extend([lease])).toEqual([{ held: true }]);
            await sleep(1);
            state.holder = '';
            expect(await store.release(lease)).toEqual({ released: true });
          }
        };
        await Promise.all(Array.from({ length: 8 }, (_, i) => worker(i)));
        for (const { grants } of locks) expect(grants).toBeGreaterThanOrEqual(40);
      },
    );
  },
);
