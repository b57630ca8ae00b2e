import { afterEach, describe, expect, test } from '@jest/globals';
import type { Pool as MysqlPool } from 'mysql2/promise';
import type { LockStore, SchedulerLockModuleOptions } from '../../lib/index.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { MYSQL, POSTGRES, type TestDatabase } from '../support/database.js';
import { testMysqlPool } from '../support/mysql-server.js';
import { testPool } from '../support/postgres-server.js';
import { until } from '../support/until.js';
import type { TcpProxy } from './proxy/tcp-proxy.js';
import { startApp, type TestApp } from './support/app.js';
import { proxiedRedis } from './support/proxied-redis.js';
import { onDatabase } from './support/sql-suite.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** How many ticks come after a pause in which the network has forgotten every connection. */
const TICKS = 3;
/** How many jobs are due at the same time: more than a pool has connections. */
const JOBS = 15;

let tick = 0;
/** A newer one each time. */
const nextTick = (): number => (tick = Math.max(Date.now(), tick + 1));

/** What became of a job that is due once, after a long pause. */
async function tickAfterPause(app: TestApp, proxy: TcpProxy, names: readonly string[]): Promise<boolean[]> {
  proxy.forget();
  const due = nextTick();
  return Promise.all(
    names.map(async (name) => (await app.locks.run(name, { tick: due }, () => undefined)).ran),
  );
}

const many = Array.from({ length: JOBS }, (_, i) => `job-${i}`);

interface Way {
  readonly proxy: TcpProxy;
  options(): SchedulerLockModuleOptions;
  /** Has the application open as many connections as it may keep. */
  fill(): Promise<unknown>;
}

/** The same on each store. */
function ofEach(way: () => Way): void {
  test('a job that ticks rarely runs each time, though its connections have died unnoticed', async () => {
    const { proxy, options, fill } = way();
    const app = await startApp(options());
    for (let round = 0; round < TICKS; round++) {
      await fill();
      expect(await tickAfterPause(app, proxy, ['job'])).toEqual([true]);
    }
    expect(app.heard('outage-started')).toEqual([]);
    expect(app.heard('skipped')).toEqual([]);
  });

  test('so do many jobs of the same moment', async () => {
    const { proxy, options, fill } = way();
    const app = await startApp(options());
    // At first nothing is known of their locks. Then this instance had them last.
    for (let round = 0; round < 2; round++) {
      await fill();
      expect(await tickAfterPause(app, proxy, many)).toEqual(many.map(() => true));
    }
    expect(app.heard('outage-started')).toEqual([]);
  });

  test('a lease is renewed over another connection long before its deadline', async () => {
    const { proxy, options, fill } = way();
    const app = await startApp({ ...options(), ttl: '6s', storeTimeout: '1s' });
    const run = app.locks.run('job', {}, async () => {
      await fill();
      proxy.forget();
      await until(() => app.heard('renewed').length > 0);
    });
    expect(await run).toMatchObject({ ran: true });
    expect(app.heard('lost')).toEqual([]);
  });
}

const CONNECTIONS = 5;
const times = <T>(make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: CONNECTIONS }, make));

function onPool(what: string, database: TestDatabase, open: (url: string, table: string) => Opened): void {
  onDatabase(what, database, (sql) => {
    let opened: Opened | undefined;
    afterEach(async () => {
      await opened?.end();
    });
    ofEach(() => ({
      proxy: sql.proxy,
      options: () => {
        opened = open(sql.proxied, sql.table);
        return { store: opened.store, ttl: '1m' };
      },
      fill: async () => opened?.fill(),
    }));
  });
}

interface Opened {
  readonly store: LockStore;
  fill(): Promise<unknown>;
  end(): Promise<unknown>;
}

onPool('with a pool of pg that keeps idle connections', POSTGRES, (url, table) => {
  const pool = testPool(url, { max: CONNECTIONS, idleTimeoutMillis: 0 });
  const store = new PostgresLockStore(pool, { table });
  return { store, fill: () => times(() => pool.query('SELECT pg_sleep(0.1)')), end: () => pool.end() };
});

onPool('with a pool of mysql2', MYSQL, (url, table) => {
  const pool: MysqlPool = testMysqlPool(url, { connectionLimit: CONNECTIONS });
  // It rejects if the store has just given up a connection.
  const end = (): Promise<unknown> => pool.end().catch(() => undefined);
  const store = new MysqlLockStore(pool, { table });
  return { store, fill: () => times(() => pool.query('SELECT SLEEP(0.1)')), end };
});

describe('with Redis', () => {
  const redis = proxiedRedis();
  ofEach(() => ({
    proxy: redis.proxy,
    options: () => ({ connection: redis.proxy.url, ttl: '1m' }),
    fill: async () => undefined,
  }));
});
