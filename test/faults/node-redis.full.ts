import { afterEach, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { createClient as createClient5 } from 'redis5';
import { SchedulerLockConfigError } from '../../lib/index.js';
import { nodeRedis, RedisLockStore } from '../../lib/stores/redis/index.js';
import { until } from '../support/until.js';
import { ACL_COMMANDS, ACL_KEYS } from './support/acl.js';
import { hold, logged, startApp, type TestApp } from './support/app.js';
import { proxiedRedis } from './support/proxied-redis.js';
import { lockKey } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

/* What can befall a client of node-redis, on a single server. Cluster and Sentinels: node-redis-groups.full.ts. */

faultSuite();

const redis = proxiedRedis();

/** What the tests need of a client, whatever its version. */
type Client = ReturnType<typeof createClient>;

const clients: Client[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) if (client.isOpen) client.destroy();
});

const VERSIONS: [string, (options: object) => Client][] = [
  ['node-redis 6', (options) => createClient(options)],
  ['node-redis 5', (options) => createClient5(options) as unknown as Client],
];

describe.each(VERSIONS)('%s', (_version, create) => {
  /** As a user makes one who has read the page, but for a listener for errors: an outage would end the process. */
  const make = (more: object = {}): Client => {
    const client = create({ url: redis.proxy.url, disableOfflineQueue: true, ...more });
    clients.push(client);
    return client;
  };
  const start = (connection = make(), more: object = {}): Promise<TestApp> =>
    startApp({ connection, ttl: '1m', ...more });
  const runs = async (app: TestApp, name = 'job'): Promise<boolean> =>
    (await app.locks.run(name, () => undefined)).ran;
  const runsAgain = (app: TestApp): Promise<unknown> =>
    until(() => runs(app), { message: 'a job to run', timeout: 30_000 });
  const problemsOf = async (starting: Promise<unknown>): Promise<string> => {
    const error: unknown = await starting.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(SchedulerLockConfigError);
    return (error as Error).message;
  };

  test('a client that is not connected yet is connected, and one that is connected is taken as it is', async () => {
    const [fresh, open] = [make(), make()];
    await open.connect();
    const [first, second] = [await start(fresh), await start(open)];
    expect(fresh.isReady).toBe(true);
    const { end } = await hold(first, 'job');
    expect(await second.locks.run('job', () => undefined)).toMatchObject({ ran: false, reason: 'held' });
    await end();
    expect(await runs(second)).toBe(true);
    expect(logged()).toEqual([]);
    await Promise.all([first.close(), second.close()]);
    // They are the user's, and nothing of ours is left on them.
    expect([fresh.isOpen, open.isOpen]).toEqual([true, true]);
    expect(fresh.eventNames()).toEqual(make().eventNames());
  });

  test('nodeRedis() takes the same client, and nothing else', async () => {
    const client = make();
    expect(nodeRedis(client)).toBe(nodeRedis(client));
    const app = await startApp({ connection: nodeRedis(client), ttl: '1m' });
    expect(await runs(app)).toBe(true);
    expect(() => nodeRedis({ isOpen: true } as Client)).toThrow(
      /^.*nodeRedis\(\): this is no client of node-redis 5 or 6/s,
    );
  });

  test('a closed client stops the start', async () => {
    const client = make();
    await client.connect();
    client.destroy();
    expect(await problemsOf(start(client))).toMatch(/the Redis client that was given has been closed/);
    expect(client.isOpen).toBe(false);
  });

  test('a client that is closed later is an outage, which says so', async () => {
    const client = make();
    const app = await start(client);
    client.destroy();
    expect(await app.locks.run('job', () => undefined)).toMatchObject({ reason: 'store-unavailable' });
    expect(logged(/not available/)).toEqual([expect.stringMatching(/"end": it has been closed/)]);
  });

  test('a Redis that is away at the start is an outage, and its end another line', async () => {
    await redis.proxy.refuse();
    const app = await start();
    expect(await app.locks.run('job', () => undefined)).toMatchObject({ reason: 'store-unavailable' });
    await redis.proxy.refuse(false);
    await runsAgain(app);
    expect(logged()).toEqual([
      expect.stringMatching(/^error: The lock store is not available.*ECONNREFUSED/),
      expect.stringMatching(/^log: The lock store is available again/),
    ]);
  });

  test('an outage skips at once, sends nothing late, and does not end the process', async () => {
    const app = await start(make({ disableOfflineQueue: false }));
    expect(await runs(app)).toBe(true);
    await redis.proxy.refuse();
    redis.proxy.cut();
    await until(async () => !(await runs(app, 'other')));
    const result = await app.locks.run('late', () => undefined);
    expect(result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    await redis.proxy.refuse(false);
    await runsAgain(app);
    expect(await redis.server.command('EXISTS', lockKey('late'))).toBe(0);
    await app.event('outage-ended');
    expect(logged(/store is not available/)).toEqual([
      expect.stringMatching(/Redis (cannot be reached|did not answer|is not connected)/),
    ]);
  });

  test('a tick right after a cut waits for the connection, and runs', async () => {
    const app = await start();
    for (let round = 0; round < 5; round++) {
      redis.proxy.cut();
      const tick = Date.now() + round;
      expect(await app.locks.run('job', { tick }, () => undefined)).toMatchObject({ ran: true });
    }
    expect(app.heard('skipped')).toEqual([]);
  });

  test('a lease outlives a cut', async () => {
    const app = await start(make(), { heartbeat: 100 });
    const { end } = await hold(app, 'job');
    await app.event('renewed');
    redis.proxy.cut();
    const count = app.heard('renewed').length;
    await until(() => app.heard('renewed').length > count);
    await end();
    expect(app.heard('released')).toMatchObject([{ confirmed: true }]);
  });

  test('a server that stops answering costs a call its storeTimeout, and leaves no lock', async () => {
    const app = await start(make(), { storeTimeout: 300, insight: false });
    redis.proxy.freeze();
    expect(await app.locks.run('job', () => undefined)).toMatchObject({ reason: 'store-unavailable' });
    // What to do is an option of the client.
    expect(logged(/pingInterval.*socketTimeout.*reconnectStrategy/)).toHaveLength(1);
    redis.proxy.thaw();
    await runsAgain(app);
    await until(() => redis.free(), { message: 'the late grant to be taken back' });
  });

  test('a tick runs though the connection has died unnoticed: it is made anew', async () => {
    const client = make();
    const app = await start(client, { storeTimeout: '20s' });
    for (let round = 0; round < 3; round++) {
      expect(await runs(app)).toBe(true);
      redis.proxy.forget();
      const tick = Date.now() + round;
      expect(await app.locks.run('ticks', { tick }, () => undefined)).toMatchObject({ ran: true });
    }
    expect(app.heard('skipped')).toEqual([]);
    expect(client.isReady).toBe(true);
  });

  test('a connection on which a command of others blocks is left alone', async () => {
    const client = make();
    const app = await start(client, { storeTimeout: 300, insight: false });
    const blocked = client.blPop('list', 0);
    expect(await runs(app)).toBe(false);
    // Longer than a silent connection is waited for.
    await sleep(4_000);
    await redis.server.command('RPUSH', 'list', 'value');
    expect(await blocked).toMatchObject({ element: 'value' });
    await runsAgain(app);
  });

  test('a SCRIPT FLUSH costs nothing', async () => {
    const app = await start(make(), { heartbeat: 50 });
    const { end } = await hold(app, 'job');
    await app.event('renewed');
    await redis.server.command('SCRIPT', 'FLUSH');
    expect(await runs(app, 'other')).toBe(true);
    const count = app.heard('renewed').length;
    await until(() => app.heard('renewed').length > count);
    await end();
    expect(app.heard('released').every(({ confirmed }) => confirmed)).toBe(true);
  });

  test('a lock that Redis has forgotten is written back', async () => {
    const app = await start(make(), { heartbeat: 50 });
    const { end } = await hold(app, 'job');
    await redis.server.command('FLUSHALL');
    await until(() => app.heard('renewed').some(({ restored }) => restored));
    await end();
  });

  test('a key of the wrong type keeps that lock alone from running', async () => {
    const app = await start();
    await redis.server.command('RPUSH', lockKey('broken'), 'not', 'ours');
    expect(await app.locks.run('broken', () => undefined)).toMatchObject({
      error: { code: 'LOCK_STATE', message: expect.stringMatching(/Redis refused the call: WRONGTYPE/) },
    });
    expect(await runs(app)).toBe(true);
  });

  describe('a user of Redis', () => {
    const PASSWORD = 'correct-horse-battery';
    const user = (commands: readonly string[]): Promise<unknown> =>
      redis.server.command('ACL', 'SETUSER', 'jobs', 'reset', 'on', `>${PASSWORD}`, ...ACL_KEYS, ...commands);
    const as = (password: string): Client => make({ username: 'jobs', password });

    test('with the rights that the page lists can do all that is needed', async () => {
      await user(ACL_COMMANDS);
      const app = await start(as(PASSWORD), { heartbeat: 50 });
      const { end } = await hold(app, 'job');
      await app.event('renewed');
      await end();
      expect(app.heard('released')).toMatchObject([{ confirmed: true }]);
    });

    test('without a right stops the start, with the command that gives it', async () => {
      await user(ACL_COMMANDS.filter((right) => right !== '+hset'));
      const problem = await problemsOf(start(as(PASSWORD)));
      expect(problem).toMatch(/may not run HSET, .*scheduler-lock acl/);
      expect(problem).not.toContain(PASSWORD);
    });

    test('with the wrong password stops the start', async () => {
      await user(ACL_COMMANDS);
      const problem = await problemsOf(start(as('wrong-horse')));
      expect(problem).toMatch(/Redis rejected the credentials: WRONGPASS/);
      expect(problem).not.toContain('wrong-horse');
    });

    test('without a password that is needed stops the start', async () => {
      await redis.server.command('CONFIG', 'SET', 'requirepass', PASSWORD);
      try {
        expect(await problemsOf(start())).toMatch(/NOAUTH|asks for a password and was given none/);
      } finally {
        const direct = create({ url: redis.server.url, password: PASSWORD });
        await direct.connect();
        await direct.sendCommand(['CONFIG', 'SET', 'requirepass', '']);
        direct.destroy();
      }
    });
  });

  test('a call in line is called by a hint, also after the connection of the hints was cut', async () => {
    const [first, second] = [await start(), await start()];
    for (const round of ['before', 'after']) {
      const { end } = await hold(first, 'job');
      const waiting = second.locks.run('job', { wait: '1m' }, () => round);
      await second.event('waiting', 'job', round === 'before' ? 1 : 2);
      await end();
      expect(await waiting).toEqual({ ran: true, value: round });
      if (round === 'before') redis.proxy.cut();
    }
  });

  test('a hint comes once, however often the client has connected', async () => {
    const client = make();
    const store = new RedisLockStore(client);
    await store.init();
    const heard: string[] = [];
    const channel = store.hints('process', (token) => void heard.push(token));
    let sent = 0;
    for (let round = 0; round < 4; round++) {
      const known = heard.length;
      await until(async () => {
        await redis.server.command('PUBLISH', 'scheduler:wake:process', `call-${sent++}`);
        return heard.length > known;
      });
      await until(() => channel.open);
      redis.proxy.cut();
    }
    expect(heard).toEqual([...new Set(heard)]);
    channel.close();
    await store.close();
  });

  test('a tick runs once over two applications', async () => {
    const apps = [await start(), await start()];
    const ran: number[] = [];
    const base = Date.now() - 60_000;
    for (let tick = base; tick < base + 10; tick++)
      await Promise.all(apps.map((app) => app.locks.run('job', { tick }, () => void ran.push(tick))));
    expect(ran).toEqual([...new Set(ran)]);
    expect(ran).toHaveLength(10);
  });
});
