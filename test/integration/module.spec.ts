import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Cluster, Redis } from 'ioredis';
import {
  currentLock,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
  SchedulerLockService,
  type SchedulerLockModuleOptions,
  type SchedulerLockOptionsFactory,
} from '../../lib/index.js';
import { startRedisCluster, type RedisCluster } from '../faults/support/redis-topologies.js';
import { provideRedis, uniquePrefix, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { closeApps, NotedStore, startApp, startModule } from './app.js';

// Servers start slowly on a busy machine.
jest.setTimeout(60_000);

@Injectable()
class Jobs {
  @SchedulerLock('auto-refresh')
  async refresh() {
    return currentLock();
  }
}

@Injectable()
class Config {
  readonly prefix = uniquePrefix();
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

let redis: RedisServer;
let admin: Redis;

beforeAll(async () => {
  redis = await provideRedis();
  admin = new Redis(redis.url);
});
afterEach(closeApps);
afterAll(async () => {
  admin.disconnect();
  await redis.stop();
});

/** Whether the lock key of `auto-refresh` is there while the job runs. */
async function keysOf(options: SchedulerLockModuleOptions, key: string): Promise<void> {
  let seen: string | null = null;
  @Injectable()
  class Looking {
    @SchedulerLock('auto-refresh')
    async refresh() {
      seen = await admin.get(key);
    }
  }
  const app = await startApp([Looking], options);
  await app.get(Looking).refresh();
  expect(seen).toMatch(/^[0-9a-f-]{36} \d+$/);
  expect(await admin.get(key)).toBeNull();
}

describe('SchedulerLockModule.forRoot()', () => {
  it('connects by a URL, and keeps the lock at <keyPrefix>:<name>:lock', async () => {
    const keyPrefix = uniquePrefix();
    await keysOf({ connection: redis.url, keyPrefix }, `${keyPrefix}:auto-refresh:lock`);
  });

  it('connects by ioredis options, with their own keyPrefix before its own', async () => {
    const prefix = uniquePrefix();
    const connection = { host: redis.host, port: redis.port, keyPrefix: prefix };
    await keysOf({ connection }, `${prefix}scheduler:auto-refresh:lock`);
  });

  it('names keys by key(name), as a ShedLock fleet does', async () => {
    const prefix = uniquePrefix();
    const key = (name: string): string => `${prefix}job-lock:default:${name}`;
    await keysOf({ connection: redis.url, key }, `${prefix}job-lock:default:auto-refresh`);
  });

  it("uses the user's client, and never closes it", async () => {
    const client = new Redis(redis.url, { keyPrefix: uniquePrefix() });
    const listeners = client.eventNames().map((name) => [name, client.listenerCount(name)]);
    const app = await startApp([Jobs], { connection: client });
    expect(await app.get(Jobs).refresh()).toMatchObject({ name: 'auto-refresh' });
    await app.close();
    expect(await client.ping()).toBe('PONG');
    expect(client.eventNames().map((name) => [name, client.listenerCount(name)])).toEqual(listeners);
    client.disconnect();
  });

  it("connects the user's lazy client", async () => {
    const client = new Redis(redis.url, { keyPrefix: uniquePrefix(), lazyConnect: true });
    const app = await startApp([Jobs], { connection: client });
    expect(client.status).toBe('ready');
    expect(await app.get(Jobs).refresh()).toBeDefined();
    await app.close();
    client.disconnect();
  });

  it('takes any other store, opens it first and closes it last', async () => {
    const store = new NotedStore();
    const app = await startApp([Jobs], { store });
    await app.get(Jobs).refresh();
    await app.close();
    expect(store.calls).toEqual(['init', 'acquire auto-refresh', 'release auto-refresh completed', 'close']);
  });

  it('excludes the apps that share a store object, and nobody else', async () => {
    const store = new MemoryLockStore();
    const [first, second, stranger] = await Promise.all([
      startApp([], { store }),
      startApp([], { store }),
      startApp([], { store: 'memory' }),
    ]);
    await first.get(SchedulerLockService).run('report', async () => {
      expect(await second.get(SchedulerLockService).run('report', () => 1)).toMatchObject({ ran: false });
      expect(await stranger.get(SchedulerLockService).run('report', () => 1)).toMatchObject({ ran: true });
    });
  });

  it('names the instance host:pid:short-uuid, or as it is told', async () => {
    const app = await startApp([Jobs]);
    expect(app.get(SchedulerLockService).instanceId).toMatch(new RegExp(`^.+:${process.pid}:[0-9a-f]{8}$`));
    const named = await startApp([Jobs], { store: 'memory', instanceId: 'green-7' });
    expect(await named.get(Jobs).refresh()).toMatchObject({ holder: 'green-7' });
  });

  it('is global: every module can inject the service and the events', async () => {
    @Injectable()
    class Elsewhere {
      constructor(
        readonly locks: SchedulerLockService,
        readonly events: SchedulerLockEvents,
      ) {}
    }
    @Module({ providers: [Elsewhere] })
    class ElsewhereModule {}
    const app = await startModule({
      imports: [SchedulerLockModule.forRoot({ store: 'memory' }), ElsewhereModule],
    });
    expect(app.get(Elsewhere).locks).toBe(app.get(SchedulerLockService));
  });
});

describe('SchedulerLockModule.forRootAsync()', () => {
  const options = (prefix: string): SchedulerLockModuleOptions => ({
    connection: redis.url,
    keyPrefix: prefix,
    instanceId: `of-${prefix}`,
  });
  @Injectable()
  class Factory implements SchedulerLockOptionsFactory {
    async createSchedulerLockOptions() {
      return options('factory');
    }
  }

  it('takes a factory with imports and inject, synchronous or not', async () => {
    for (const wrap of [<T>(value: T) => value, <T>(value: T) => Promise.resolve(value)]) {
      const app = await startModule({
        imports: [
          SchedulerLockModule.forRootAsync({
            imports: [ConfigModule],
            inject: [Config],
            useFactory: (config: Config) => wrap(options(config.prefix)),
          }),
        ],
        providers: [Jobs],
      });
      expect(await app.get(Jobs).refresh()).toMatchObject({ holder: `of-${app.get(Config).prefix}` });
    }
  });

  it('takes a class', async () => {
    const app = await startModule({
      imports: [SchedulerLockModule.forRootAsync({ useClass: Factory })],
      providers: [Jobs],
    });
    expect(await app.get(Jobs).refresh()).toMatchObject({ holder: 'of-factory' });
  });

  it('takes an existing provider of an imported module', async () => {
    @Module({ providers: [Factory], exports: [Factory] })
    class FactoryModule {}
    const app = await startModule({
      imports: [SchedulerLockModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory })],
      providers: [Jobs],
    });
    expect(await app.get(Jobs).refresh()).toMatchObject({ holder: 'of-factory' });
  });

  it('takes a live client out of a factory', async () => {
    const client = new Redis(redis.url, { keyPrefix: uniquePrefix() });
    const app = await startModule({
      imports: [SchedulerLockModule.forRootAsync({ useFactory: () => ({ connection: client }) })],
      providers: [Jobs],
    });
    expect(await app.get(Jobs).refresh()).toBeDefined();
    await app.close();
    expect(client.status).toBe('ready');
    client.disconnect();
  });
});

describe("a user's Cluster client", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.stop());

  it('holds leases on all nodes, keeps them with their beats, and stays open', async () => {
    const client = new Cluster(cluster.nodes, { keyPrefix: uniquePrefix() });
    const app = await startApp([], { connection: client, ttl: 3_000, heartbeat: 100 });
    const locks = app.get(SchedulerLockService);
    const names = Array.from({ length: 12 }, (_, index) => `job-${index}`);
    const results = await Promise.all(
      names.map((name) =>
        locks.run(name, () =>
          until(() => app.events.some((event) => event.type === 'renewed' && event.lock === name)),
        ),
      ),
    );
    expect(results.every(({ ran }) => ran)).toBe(true);
    expect(app.events.filter(({ type }) => type === 'lost' || type === 'outage')).toEqual([]);
    await app.close();
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });
});
