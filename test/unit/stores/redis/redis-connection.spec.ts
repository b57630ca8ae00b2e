import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { systemClock } from '../../../../lib/base/clock.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { freePort } from '../../../support/machine.js';
import { startRedis } from '../../../support/local-redis.js';
import { until } from '../../../support/until.js';
import { ownRedis } from './support/own-redis.js';

/** A timer that somebody has set; it never fires by itself. */
interface SetTimer {
  readonly delay: number;
  readonly keepAlive: boolean | undefined;
  cancelled: boolean;
  fire(): void;
}

let timers: SetTimer[] = [];
beforeEach(() => void (timers = []));
afterEach(() => void jest.restoreAllMocks());

/** What a store leaves on a client. */
const LISTENERS = { ready: 1, close: 1 };
/** The pause between two looks of the watch over silent connections. */
const LOOK = 500;

/** The timers but for those of the watch. */
const starts = (): SetTimer[] => timers.filter(({ delay }) => delay !== LOOK);

/** From now on timers are only noted. */
const noteTimers = (): void =>
  void jest.spyOn(systemClock, 'setTimer').mockImplementation((fire, delay, options) => {
    const timer: SetTimer = { delay, keepAlive: options?.keepAlive, cancelled: false, fire };
    timers.push(timer);
    return { cancel: () => void (timer.cancelled = true) };
  });

/** A client of the user's. */
class FakeClient extends EventEmitter {
  readonly isCluster = true;
  connects = 0;

  constructor(public status = 'connecting') {
    super();
  }

  async evalsha(): Promise<unknown> {
    return [];
  }

  async eval(): Promise<unknown> {
    return [];
  }

  async mget(): Promise<(string | null)[]> {
    return [];
  }

  async connect(): Promise<void> {
    this.connects += 1;
    throw new Error('refused');
  }

  /** The listeners that a store has left on it. */
  get left(): Record<string, number> {
    return Object.fromEntries(this.eventNames().map((event) => [String(event), this.listenerCount(event)]));
  }

  getReady(): void {
    this.status = 'ready';
    this.emit('ready');
  }
}

const storeOn = (client: FakeClient): RedisLockStore => new RedisLockStore(client);

/** How an `init()` fails whose client meets this error. */
async function failureOf(error: unknown): Promise<unknown> {
  const client = new FakeClient();
  const starting = storeOn(client).init();
  await until(() => client.listenerCount('error') > 0);
  client.emit('error', error);
  return starting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
}

describe("the start with a client of the user's", () => {
  test('waits until it is ready, and leaves nothing but listeners for that, and for its end', async () => {
    noteTimers();
    const client = new FakeClient();
    let started = false;
    const starting = storeOn(client)
      .init()
      .then(() => (started = true));
    await until(() => client.listenerCount('error') > 0);
    expect({ started, connects: client.connects }).toEqual({ started: false, connects: 0 });
    client.getReady();
    await starting;
    expect(client.left).toEqual(LISTENERS);
    expect(starts()).toMatchObject([{ delay: 5_000, keepAlive: true, cancelled: true }]);
  });

  test('does not wait for one that is ready', async () => {
    const client = new FakeClient('ready');
    await storeOn(client).init();
    expect(client.left).toEqual(LISTENERS);
  });

  test('connects one that is lazy, and waits for it even if the first try fails', async () => {
    const client = new FakeClient('wait');
    const starting = storeOn(client).init();
    await until(() => client.connects > 0);
    client.getReady();
    await starting;
    expect(client.connects).toBe(1);
  });

  test('gives up after five seconds, as an outage', async () => {
    noteTimers();
    const client = new FakeClient();
    const starting = storeOn(client).init();
    await until(() => starts().length > 0);
    starts()[0]?.fire();
    await expect(starting).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'not-applied',
      message:
        'Redis cannot be reached: no connection within 5000 ms. ' +
        'Perhaps only one side uses TLS, or another server has this port: look at host, port, and redis:// or rediss://. ' +
        'Perhaps an option has a name that ioredis does not know: it passes over it, and connects to localhost.',
    });
    expect(client.left).toEqual(LISTENERS);
  });

  test('fails for one that has been closed', async () => {
    await expect(storeOn(new FakeClient('end')).init()).rejects.toMatchObject({
      code: 'SCHEDULER_LOCK_CONFIG',
      message: expect.stringContaining('the Redis client that was given has been closed'),
    });
  });

  test.each([
    ['NOAUTH Authentication required.', 'SCHEDULER_LOCK_CONFIG', 'asks for a password and was given none'],
    ['WRONGPASS invalid pair', 'SCHEDULER_LOCK_CONFIG', 'rejected the credentials: WRONGPASS invalid pair'],
    ['NOPERM no', 'SCHEDULER_LOCK_CONFIG', 'rejected the credentials: NOPERM no'],
    ['ERR invalid password', 'SCHEDULER_LOCK_CONFIG', 'rejected the credentials'],
    ['ERR AUTH <password> called without', 'SCHEDULER_LOCK_CONFIG', 'rejected the credentials'],
    ['ERR DB index is out of range', 'SCHEDULER_LOCK_CONFIG', 'refused the number of the database'],
    ['ERR SELECT is not allowed in cluster mode', 'SCHEDULER_LOCK_CONFIG', 'refused the number of the'],
    ['connect ECONNREFUSED', 'STORE_UNAVAILABLE', 'Redis cannot be reached: connect ECONNREFUSED.'],
  ])('tells what "%s" means', async (text, code, message) => {
    expect(await failureOf(new Error(text))).toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });
});

describe('who wants to know that Redis is available', () => {
  test('is told each time, until he or the store has had enough', async () => {
    const client = new FakeClient('ready');
    const store = storeOn(client);
    const told: string[] = [];
    const forget = store.onAvailable(() => told.push('one'));
    store.onAvailable(() => told.push('another'));
    await store.init();
    client.getReady();
    expect(told).toEqual(['one', 'another']);
    forget();
    client.getReady();
    expect(told).toEqual(['one', 'another', 'another']);
    await store.close();
    client.getReady();
    expect(told).toHaveLength(3);
    expect(client.left).toEqual({});
  });

  test('is told until the last application of several has closed the store, not more often for them', async () => {
    const client = new FakeClient('ready');
    const store = storeOn(client);
    let told = 0;
    store.onAvailable(() => (told += 1));
    // One that has not opened it takes it from nobody.
    await store.close();
    await store.init();
    await store.init();
    await store.close();
    client.getReady();
    expect(told).toBe(1);
    await store.close();
    client.getReady();
    expect(told).toBe(1);
  });
});

describe('a client of the store itself', () => {
  let redis: Redis;
  ownRedis((client) => (redis = client));

  const attempt = { name: 'report', token: 'its token', ttl: 1_000, holder: 'host' };
  const urlOf = ({ options: { host, port } }: Redis): string => `redis://${host}:${port}`;
  const clients = async (): Promise<number> =>
    String(await redis.client('LIST'))
      .trim()
      .split('\n').length;

  test('is there from the start to the end, and again after that', async () => {
    const store = new RedisLockStore(urlOf(redis));
    const unstarted = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('has not been started') };
    await expect(store.acquire(attempt)).rejects.toMatchObject(unstarted);
    for (let time = 0; time < 2; time++) {
      await store.init();
      expect(await clients()).toBe(2);
      expect(await store.acquire(attempt)).toMatchObject({ acquired: true });
      await store.close();
      await until(async () => (await clients()) === 1);
      await expect(store.acquire(attempt)).rejects.toMatchObject(unstarted);
    }
  });

  test('that could not connect ends as well, and nothing of it keeps the process alive', async () => {
    const store = new RedisLockStore({ host: '127.0.0.1', port: await freePort() });
    await expect(store.init()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const setTimer = jest.spyOn(systemClock, 'setTimer');
    await store.close();
    // ioredis sets a timer of its own to end a connection that there is not.
    const keeping = setTimer.mock.calls.filter(([, , options]) => options?.keepAlive === true);
    expect(keeping).toEqual([[expect.any(Function), 110, { keepAlive: true }]]);
  });

  test('asks for no database that the server does not have, and takes no lock in another', async () => {
    const server = await startRedis({ args: ['--databases', '1'] });
    const store = new RedisLockStore(`${server.url}/7`);
    await expect(store.init()).rejects.toMatchObject({
      code: 'SCHEDULER_LOCK_CONFIG',
      message: expect.stringContaining(
        'Redis refused the number of the database (ERR DB index is out of range)',
      ),
    });
    await until(async () => {
      const error: unknown = await store.acquire(attempt).catch((reason: unknown) => reason);
      return String(error).includes('refused the number');
    });
    await expect(store.acquire(attempt)).rejects.toMatchObject({ outcome: 'not-applied', refused: true });
    expect(await server.command('DBSIZE')).toBe(0);
    await server.stop();
    // Somebody puts that right.
    const better = await startRedis({ port: server.port });
    await until(() =>
      store.acquire(attempt).then(
        ({ acquired }) => acquired,
        () => false,
      ),
    );
    expect(await better.command('DBSIZE')).toBe(0);
    await store.close();
    await better.stop();
  });
});
