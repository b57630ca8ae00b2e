import { afterAll, afterEach, beforeAll, beforeEach, describe } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { LockStore, SchedulerLockModuleOptions } from '../../../lib/index.js';
import { RedisLockStore } from '../../../lib/stores/redis/redis-lock.store.js';
import { type LocalRedis, startRedis } from '../../support/local-redis.js';
import { until } from '../../support/until.js';
import { startProxy, type TcpProxy } from '../proxy/tcp-proxy.js';
import { closeApps, startApp, type TestApp } from './app.js';
import { userClient } from './redis-view.js';
import { onEachDatabase, type SqlFixture } from './sql-suite.js';
import { StoreGate } from './store-gate.js';

type Options = Omit<SchedulerLockModuleOptions, 'store' | 'connection'>;

/** An application that reaches its store by way of the proxy. */
export interface ProxiedApp {
  readonly app: TestApp;
  /** Calls that have no answer yet. */
  unanswered(): number;
  /** Resolves when each call has been answered, and what came of those that were late has been taken back. */
  settled(): Promise<void>;
}

/** A store of applications in this process, and a way to it that can be cut. Before each test it is empty. */
export interface AppStore {
  readonly proxy: TcpProxy;
  start(options?: Options, way?: 'straight' | 'proxied'): Promise<TestApp>;
  startProxied(options?: Options): Promise<ProxiedApp>;
  /** The locks that somebody has. */
  held(): Promise<string[]>;
  /** Whether anything is kept of a line. */
  keepsLine(lock: string): Promise<boolean>;
  /** Another way to it, for a caller without an application. */
  open(): LockStore;
}

const locksOf = async (store: LockStore): Promise<string[]> =>
  ((await store.inspect?.()) ?? []).filter(({ state }) => state !== 'free').map(({ name }) => name);

/** A Redis of a file's own. */
export class RedisAppStore implements AppStore {
  proxy!: TcpProxy;
  server!: LocalRedis;
  /** The user's own, with the defaults of ioredis: it queues what it is given while it is not connected. By way of the proxy. */
  client!: Redis;

  async before(): Promise<void> {
    await this.server.command('FLUSHALL');
    this.proxy = await startProxy(this.server);
    this.client = userClient(this.proxy.url);
  }

  async after(): Promise<void> {
    this.client.disconnect();
    await this.proxy.stop();
  }

  start(options: Options = {}, way = 'straight'): Promise<TestApp> {
    const connection = way === 'proxied' ? this.proxy.url : this.server.url;
    return startApp({ connection, ...options });
  }

  async startProxied(options: Options = {}): Promise<ProxiedApp> {
    const unanswered = countCommands(this.client);
    const app = await startApp({ connection: this.client, ...options });
    // Answered after everything that the client was given.
    return { app, unanswered, settled: async () => void (await this.client.ping()) };
  }

  async held(): Promise<string[]> {
    const keys = (await this.server.command('KEYS', '*:lock')) as string[];
    return keys.map((key) => key.split(':').at(-2) ?? key);
  }

  async keepsLine(lock: string): Promise<boolean> {
    return (await this.server.command('EXISTS', `{scheduler:lock:${lock}}:state:line`)) !== 0;
  }

  open(): LockStore {
    return new RedisLockStore(this.server.url);
  }
}

/** A table of each test's own. */
class SqlAppStore implements AppStore {
  constructor(private readonly sql: SqlFixture) {}

  get proxy(): TcpProxy {
    return this.sql.proxy;
  }

  start(options: Options = {}, way = 'straight'): Promise<TestApp> {
    const { sql } = this;
    const pool = sql.open(way === 'proxied' ? sql.proxied : sql.url);
    return startApp({ store: pool.store({ table: sql.table }), ...options });
  }

  async startProxied(options: Options = {}): Promise<ProxiedApp> {
    const { sql } = this;
    const gate = new StoreGate(sql.open(sql.proxied).store({ table: sql.table }));
    const settled = async (): Promise<void> => {
      await until(() => gate.underWay === 0, { message: () => `${gate.underWay} calls to arrive` });
      // Late acquires are taken back, whatever became of the first release.
      await until(async () => (await this.held()).length === 0, { message: 'all locks to be free' });
    };
    return { app: await startApp({ store: gate, ...options }), unanswered: () => gate.underWay, settled };
  }

  held(): Promise<string[]> {
    return locksOf(this.open());
  }

  async keepsLine(lock: string): Promise<boolean> {
    const { pool, table } = this.sql;
    const inLine = `SELECT id FROM ${table}_entries WHERE kind IN ('wait', 'drain') AND name LIKE ?`;
    return (await pool.rows(inLine, [`%${lock}%`])).length > 0;
  }

  open() {
    return this.sql.open(this.sql.url).store({ table: this.sql.table });
  }
}

/** Returns how many commands that a client was given from now on have no answer yet. */
function countCommands(client: Redis): () => number {
  let count = 0;
  const send = client.sendCommand.bind(client);
  const over = (): void => void count--;
  client.sendCommand = (command, stream) => {
    count += 1;
    command.promise.then(over, over);
    return send(command, stream);
  };
  return () => count;
}

/** Tests on a Redis of the file's own. */
export function onRedis(what: string, define: (store: RedisAppStore) => void): void {
  describe(what, () => {
    const store = new RedisAppStore();
    beforeAll(async () => {
      store.server = await startRedis();
    });
    beforeEach(() => store.before());
    // Before the connections that they use are closed.
    closeApps();
    afterEach(() => store.after());
    afterAll(() => store.server.stop());
    define(store);
  });
}

/** The same tests on Redis and on each database. */
export function onEachStore(define: (store: AppStore) => void): void {
  onRedis('with Redis', define);
  onEachDatabase((sql) => define(new SqlAppStore(sql)));
}
