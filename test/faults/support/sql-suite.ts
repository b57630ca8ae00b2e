import { afterAll, afterEach, beforeAll, beforeEach, describe } from '@jest/globals';
import { DATABASES, type PoolSettings, type TestDatabase, type TestPool } from '../../support/database.js';
import { type DatabaseServer, uniqueTable } from '../../support/database-server.js';
import { startProxy, type TcpProxy } from '../proxy/tcp-proxy.js';
import { closeApps } from './app.js';

/** A database with a table for each test, looked at past the library; and a way to it that can be cut. */
export class SqlFixture {
  pool!: TestPool;
  proxy!: TcpProxy;
  table = '';
  #server!: DatabaseServer;
  readonly #pools: TestPool[] = [];
  readonly #tables: string[] = [];

  constructor(private readonly database: TestDatabase) {}

  get url(): string {
    return this.#server.url;
  }

  /** The same by way of the proxy. */
  get proxied(): string {
    const url = new URL(this.#server.url);
    url.host = `${this.proxy.host}:${this.proxy.port}`;
    return url.href;
  }

  /** A pool that is ended after the test. */
  open(url: string, settings?: PoolSettings): TestPool {
    const pool = this.database.pool(url, settings);
    this.#pools.push(pool);
    return pool;
  }

  /** What the database keeps for a lock. */
  async row(name = 'job'): Promise<Record<string, unknown>> {
    const [row] = await this.pool.rows(`SELECT * FROM ${this.table} WHERE name = ?`, [name]);
    return row ?? {};
  }

  /** Whether the last lease of a lock has ended like this. */
  async ended(outcome: string, name?: string): Promise<boolean> {
    return String((await this.row(name))['locked_by']).endsWith(`/${outcome}`);
  }

  async start(): Promise<void> {
    this.#server = await this.database.provide();
    const { hostname, port } = new URL(this.#server.url);
    this.proxy = await startProxy({ host: hostname, port: Number(port), protocol: 'raw' });
    this.pool = this.database.pool(this.#server.url);
  }

  nextTable(): void {
    this.table = uniqueTable('faults');
    this.#tables.push(this.table);
  }

  async afterTest(): Promise<void> {
    this.proxy.thaw();
    await this.proxy.refuse(false);
    await Promise.all(this.#pools.splice(0).map((pool) => pool.end()));
    for (const table of this.#tables.splice(0)) await this.pool.write(`DROP TABLE IF EXISTS ${table}`);
  }

  async stop(): Promise<void> {
    await this.proxy?.stop();
    await this.pool?.end();
    await this.#server?.stop();
  }
}

/** Tests on a database. */
export function onDatabase(what: string, database: TestDatabase, define: (sql: SqlFixture) => void): void {
  describe(what, () => {
    const sql = new SqlFixture(database);
    beforeAll(() => sql.start());
    beforeEach(() => sql.nextTable());
    // Before the pools that they use are ended.
    closeApps();
    afterEach(() => sql.afterTest());
    afterAll(() => sql.stop());
    define(sql);
  });
}

/** The same tests on each database. */
export function onEachDatabase(define: (sql: SqlFixture) => void): void {
  for (const database of DATABASES) onDatabase(`with ${database.name}`, database, define);
}
