import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import type { Duration } from '../../../lib/index.js';
import { DATABASES, type TestDatabase } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { type LocalRedis, startRedis } from '../../support/local-redis.js';
import { isMeant } from '../../support/servers.js';
import { until } from '../../support/until.js';
import type { StoreAddress } from '../children/open-store.js';
import { startProxy, type TcpProxy } from '../proxy/tcp-proxy.js';
import { type Instance, startInstance } from './instance.js';
import { expiry, look } from './redis-view.js';

/** What a server keeps for the lock `job`, looked at past the library. */
export interface KeptLease {
  /** The same until the lease is over. */
  readonly owner: unknown;
  /** Times are the server's, ms. */
  readonly grantedAt: number;
  readonly freeAt: number;
}

/** A server of a file's own, with a way to it that can be cut. */
export interface FaultServer {
  readonly proxy: TcpProxy;
  /** For instances in processes of their own. */
  address(way?: 'straight' | 'proxied'): StoreAddress;
  lease(): Promise<KeptLease>;
  pause(): void;
  resume(): void;
  /** Ends it the hard way; `restart()` starts it again, with its data unless it is to be empty. */
  kill(): Promise<void>;
  stopPolitely(): Promise<void>;
  restart(options?: { empty?: boolean }): Promise<void>;
  /** Runs again, and knows of no lease. */
  renew(): Promise<void>;
  stop(): Promise<void>;
}

/** A kind of store. */
export interface FaultStore {
  readonly name: string;
  start(): Promise<FaultServer>;
}

export const REDIS: FaultStore = { name: 'Redis', start: startRedisServer };
export const FAULT_STORES: readonly FaultStore[] = [
  REDIS,
  ...DATABASES.map((database) => ({ name: database.name, start: () => startDatabaseServer(database) })),
];

async function startRedisServer(): Promise<FaultServer> {
  const server = await startRedis({ persistent: true });
  const proxy = await startProxy(server);
  return {
    proxy,
    address: (way) => ({ connection: way === 'proxied' ? proxy.url : server.url }),
    async lease() {
      const [{ token, fence }, freeAt] = await Promise.all([look(server, 'job'), expiry(server, 'job')]);
      // A fencing token is the server's time of the grant, in microseconds.
      return { owner: token, grantedAt: fence / 1_000, freeAt };
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    kill: () => server.kill(),
    stopPolitely: () => shutDown(server),
    restart: (options) => server.restart(options),
    async renew() {
      if (!server.running) await server.restart();
      await server.command('FLUSHALL');
    },
    async stop() {
      await proxy.stop();
      await server.stop();
    },
  };
}

/** As its service does. */
async function shutDown(server: LocalRedis): Promise<void> {
  // It closes the connection instead of answering.
  await server.command('SHUTDOWN').catch(() => undefined);
  await until(() => !server.running, { message: 'Redis to end' });
}

async function startDatabaseServer(database: TestDatabase): Promise<FaultServer> {
  const server = await database.start();
  const proxy = await startProxy({ host: server.host, port: server.port, protocol: 'raw' });
  const pool = database.pool(server.url);
  let table = '';
  return {
    proxy,
    address(way) {
      const port = way === 'proxied' ? proxy.port : server.port;
      return { database: { url: server.url.replace(`:${server.port}`, `:${port}`), table } };
    },
    async lease() {
      const [row = {}] = await pool.rows(`SELECT * FROM ${table} WHERE name = 'job'`);
      const { locked_by: owner, locked_at: from, lock_until: to } = row;
      return { owner, grantedAt: Number(from), freeAt: Number(to) };
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    kill: () => server.kill(),
    stopPolitely: () => server.stopPolitely(),
    restart: () => server.restart(),
    async renew() {
      if (!server.running) await server.restart();
      table = uniqueTable('faults');
      await pool.store({ table }).migrate();
    },
    async stop() {
      await pool.end();
      await proxy.stop();
      await server.stop();
    },
  };
}

/** The same tests with a server of each of these kinds. Before each test it knows of nothing. */
export function onServers(stores: readonly FaultStore[], define: (server: ServerFixture) => void): void {
  for (const { name, start } of stores.filter((store) => isMeant(store.name)))
    describe(`with ${name}`, () => {
      const fixture = new ServerFixture();
      beforeAll(async () => {
        fixture.server = await start();
      });
      beforeEach(() => fixture.server.renew());
      afterEach(async () => {
        fixture.server.resume();
        fixture.server.proxy.thaw();
        await fixture.server.proxy.refuse(false);
      });
      afterAll(() => fixture.server.stop());
      define(fixture);
    });
}

/** Instances of a fleet with one server. */
export class ServerFixture {
  server!: FaultServer;

  start(instanceId: string, ttl: Duration, way?: 'straight' | 'proxied'): Promise<Instance> {
    return startInstance({
      store: this.server.address(way),
      instanceId,
      ttl,
      heartbeat: 100,
      storeTimeout: 500,
    });
  }

  /** The lease that somebody has now, which {@link goesOn} compares. */
  async held(): Promise<Pick<KeptLease, 'owner' | 'grantedAt'>> {
    const { owner, grantedAt } = await this.server.lease();
    expect(owner).toEqual(expect.stringMatching(/./));
    return { owner, grantedAt };
  }

  /** The holder's lease is the one that it was, and its job goes on: two more renewals. */
  async goesOn(holder: Instance, lease: unknown): Promise<void> {
    const renewals = holder.heard('event:renewed').length;
    await until(() => holder.heard('event:renewed').length >= renewals + 2, { message: 'renewals' });
    expect(await this.held()).toEqual(lease);
    expect(holder.heard('event:lost')).toEqual([]);
    expect(await holder.judge()).toMatchObject({ held: true });
  }
}

/** Renewals that wrote a lease back which the server had forgotten. */
export const restored = (holder: Instance): unknown[] =>
  holder.heard('event:renewed').filter((renewal) => renewal['restored'] === true);
