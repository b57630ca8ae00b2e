import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { MemoryLockStore, type PingResult, SchedulerLock, StoreUnavailableError } from '../../lib/index.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { hold, startApp } from './support/app.js';
import { onEachDatabase } from './support/sql-suite.js';
import { faultSuite } from './support/suite.js';

faultSuite();

const OK = { ok: true, latency: expect.any(Number) };

/** Why the store did not answer. */
function failure(result: PingResult): string {
  if (result.ok) throw new Error('the store has answered');
  expect(result.error).toBeInstanceOf(StoreUnavailableError);
  // What a health check sends out.
  expect(JSON.parse(JSON.stringify(result))).toMatchObject({
    ok: false,
    error: { code: 'STORE_UNAVAILABLE', message: result.error.message },
  });
  return result.error.message;
}

describe('with Redis, ping()', () => {
  let redis: LocalRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterEach(() => redis.resume());
  afterAll(() => redis.stop());

  const start = (key?: (name: string) => string) =>
    startApp({
      connection: redis.url,
      storeTimeout: 300,
      ttl: '1m',
      insight: false,
      ...(key ? { key } : undefined),
    });

  test('answers with the time it took and the place, and changes nothing', async () => {
    await redis.command('FLUSHALL');
    const app = await start();
    await redis.command('CONFIG', 'RESETSTAT');
    const results = await Promise.all([app.locks.ping(), app.locks.ping()]);
    expect(results).toEqual(results.map(() => ({ ...OK, store: `Redis 127.0.0.1:${redis.port}` })));
    // It was asked.
    expect(await redis.command('INFO', 'commandstats')).toContain('cmdstat_evalsha');
    expect(await redis.command('DBSIZE')).toBe(0);
    expect(app.events).toEqual([]);
  });

  test('leaves a lock of the same name to its holder', async () => {
    const app = await start();
    const held = await hold(app, 'ping');
    expect(await app.locks.ping()).toMatchObject(OK);
    expect(await app.locks.inspect()).toMatchObject([{ name: 'ping', state: 'held' }]);
    await held.end();
    expect(app.heard('lost')).toEqual([]);
  });

  test('tells of a server that is silent or away, without an event, and of its return', async () => {
    const app = await start();
    redis.pause();
    expect(failure(await app.locks.ping())).toBe('The store did not answer within 300 ms.');
    redis.resume();
    await until(async () => (await app.locks.ping()).ok);
    await redis.kill();
    expect(failure(await app.locks.ping())).toMatch(/^Redis /);
    expect(app.events).toEqual([]);
    // An attempt that is sent over the dying connection is undone later, and the answer to that ends the outage.
    await until(async () => failure(await app.locks.ping()).startsWith('Redis cannot be reached'));
    // An outage that a job has met is that job's.
    await app.locks.run('job', () => 1);
    await app.event('outage-started');
    await redis.restart();
    await until(async () => (await app.locks.ping()).ok);
    expect(app.heard('outage-ended')).toEqual([]);
    expect(await app.locks.run('job', () => 1)).toEqual({ ran: true, value: 1 });
    await app.event('outage-ended');
  });

  test('asks under a name that a function for keys knows', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('mail')
      async send(): Promise<void> {}
    }
    const key = (name: string): string => {
      if (name !== 'mail') throw new Error(`no such lock: ${name}`);
      return 'locks:mail';
    };
    const app = await startApp({ connection: redis.url, key }, [Jobs]);
    expect(await app.locks.ping()).toMatchObject(OK);
  });

  test('tells of a shutdown', async () => {
    const app = await start();
    await app.close();
    expect(failure(await app.locks.ping())).toMatch(/^Redis is not connected/);
  });
});

onEachDatabase((sql) => {
  test('ping() answers, changes nothing, and tells of a database that is silent', async () => {
    const store = sql.open(sql.proxied).store({ table: sql.table });
    const app = await startApp({ store, storeTimeout: 1_000, ttl: '1m' });
    expect(await app.locks.ping()).toEqual({ ...OK, store: expect.stringMatching(/postgres|mysql|maria/i) });
    expect(await sql.pool.rows(`SELECT * FROM ${sql.table}`)).toEqual([]);
    sql.proxy.freeze();
    expect(failure(await app.locks.ping())).toBe('The store did not answer within 1000 ms.');
    sql.proxy.thaw();
    await until(async () => (await app.locks.ping()).ok);
    expect(app.events).toEqual([]);
  });
});

test('ping() asks a store of the memory as well', async () => {
  const store = new MemoryLockStore();
  const app = await startApp({ store });
  expect(await app.locks.ping()).toEqual({ ...OK, store: expect.any(String) });
  expect(await store.inspect()).toEqual([]);
});
