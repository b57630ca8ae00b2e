import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { MongoClient, MongoClientOptions } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import { MongoLockStore } from '../../lib/stores/mongo/index.js';
import { locksOf } from '../contract/support/mongo-subject.js';
import { type LocalDatabase, uniqueTable } from '../support/database-server.js';
import { freePort, LOOPBACK } from '../support/machine.js';
import { isThereMongo, startMongo, testMongo } from '../support/mongo-server.js';
import { until } from '../support/until.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { expectEachTickOnce, type Instance, startInstance, startTickInstance } from './support/instance.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** Of the leases that are to run out, ms. */
const TTL = 1_500;
/** Of those that are not, however busy the machine is. */
const LONG = '1h';
/** How soon a client of these tests gives up. */
const SOON: MongoClientOptions = {
  serverSelectionTimeoutMS: 500,
  connectTimeoutMS: 2_000,
  socketTimeoutMS: 2_000,
};

let server: LocalDatabase;
let clients: MongoClient[] = [];
let name: string;

beforeAll(async () => {
  server = await startMongo();
}, 240_000);

beforeEach(() => {
  name = uniqueTable('faults');
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  clients = [];
});

afterAll(() => server?.stop());

const attempt = (fields: Partial<AcquireRequest> = {}): AcquireRequest => ({
  name: 'job',
  token: randomUUID(),
  ttl: 60_000,
  holder: 'host',
  ...fields,
});

const client = (url = server.url, options: MongoClientOptions = {}): MongoClient => {
  const made = testMongo(url, options);
  clients.push(made);
  return made;
};

const storeAt = (url?: string, options?: MongoClientOptions): MongoLockStore =>
  new MongoLockStore(client(url, options), { collection: name });

/**
 * Whether an attempt for another lock was granted, or its error. The driver 7.9 never settles a call on a connection that has died a moment
 * before: an application gives it up after `storeTimeout`.
 */
function tried(store: MongoLockStore): Promise<unknown> {
  const answer = store.acquire(attempt({ name: randomUUID() })).then(
    ({ acquired }) => acquired,
    (error: unknown) => error,
  );
  return Promise.race([answer, sleep(2_000, 'no answer', { ref: false })]);
}

const there = await isThereMongo('faults of MongoDB');

(there ? describe : describe.skip)('two instances', () => {
  const where = () => ({ store: { database: { url: server.url, table: name } }, insight: false as const });
  const start = (instanceId: string, ttl: string | number): Promise<Instance> =>
    startInstance({ ...where(), instanceId, ttl: ttl as number });

  test('run each tick of a cron job once', async () => {
    const fleet = await Promise.all(
      ['first', 'second'].map((instanceId) =>
        startTickInstance({ ...where(), instanceId, ttl: LONG }, { expression: '* * * * * *', quick: true }),
      ),
    );
    await expectEachTickOnce(fleet);
  });

  test('a job whose instance is killed runs on the other one when the lease is over, and not before', async () => {
    const [first, second] = await Promise.all([start('first', TTL), start('second', LONG)]);
    const fence = await first.takeOver();
    await first.next('event:renewed');
    await first.kill();
    const locks = locksOf(client().db(), name);
    const lock = async (field: string): Promise<number> =>
      Number((await locks.findOne({ _id: 'job' }))?.[field]);
    const freeAt = await lock('lockUntil');
    expect(await second.takeOver()).toBeGreaterThan(fence);
    expect(await lock('lockedAt')).toBeGreaterThanOrEqual(freeAt);
    expect(second.heard('event:skipped')[0]).toMatchObject({ reason: 'held', holder: 'first' });
  });

  test('an instance that shuts down gives its lease back, and the other one need not wait for the ttl', async () => {
    const [first, second] = await Promise.all([start('first', LONG), start('second', LONG)]);
    const fence = await first.takeOver();
    expect(await second.fire()).toBe(false);
    await first.close();
    expect(await second.takeOver()).toBeGreaterThan(fence);
  });
});

(there ? describe : describe.skip)('a store', () => {
  test('whose server is stopped rejects, and works again when the server is back', async () => {
    const own = await startMongo();
    try {
      const store = storeAt(own.url, SOON);
      await store.init();
      expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
      await own.kill();
      const refused: unknown[] = [];
      const isAway = async (): Promise<boolean> => {
        const error = await tried(store);
        if (error instanceof Error) refused.push(error);
        return error instanceof Error;
      };
      await until(isAway, { message: 'an attempt to fail' });
      expect(refused).toMatchObject([
        {
          code: 'STORE_UNAVAILABLE',
          outcome: 'not-applied',
          message: expect.stringMatching(/^MongoDB cannot be reached: /),
        },
      ]);
      await own.restart();
      await until(async () => (await tried(store)) === true, { message: 'an attempt to get through' });
    } finally {
      await own.stop();
    }
  });

  test('finds no server at the start: it is away, and the message says where', async () => {
    const port = await freePort();
    await expect(storeAt(`mongodb://me:secret@${LOOPBACK}:${port}/test`, SOON).init()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'not-applied',
      message: `MongoDB cannot be reached: connect ECONNREFUSED ${LOOPBACK}:${port}.`,
    });
  });

  test('whose client is closed says so', async () => {
    const closed = client();
    const store = new MongoLockStore(closed, { collection: name });
    await store.init();
    await closed.close();
    await expect(store.acquire(attempt())).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'not-applied',
      message: expect.stringContaining('Client must be connected'),
    });
  });

  describe('behind a network that drops everything', () => {
    let proxy: TcpProxy;
    let url: string;

    beforeEach(async () => {
      proxy = await startProxy({ host: LOOPBACK, port: server.port, protocol: 'raw' });
      url = server.url.replace(String(server.port), String(proxy.port));
    });

    afterEach(() => proxy.stop());

    test('gives a silent connection up when the client says so, and the next call gets another one', async () => {
      const store = storeAt(url, { maxPoolSize: 1, socketTimeoutMS: 300, retryReads: false });
      await store.init();
      const request = attempt();
      const swallowed = proxy.swallowRequests((sent) => sent.includes('aggregate'));
      await expect(store.acquire(request)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/^MongoDB cannot be reached: .*timed out/),
      });
      swallowed.stop();
      await until(
        () =>
          store.acquire(request).then(
            ({ acquired }) => acquired,
            () => false,
          ),
        { message: 'an attempt to get through' },
      );
    });

    test('finds by its version a write whose answer was lost', async () => {
      const store = storeAt(url, { retryWrites: false });
      await store.init();
      let wrote = false;
      proxy.onRequest((sent) => void (wrote ||= sent.includes('insert')));
      const lost = proxy.swallowReplies(() => wrote);
      const request = attempt();
      const acquired = store.acquire(request);
      await lost.struck;
      lost.stop();
      proxy.cut();
      const first = await acquired;
      expect(first).toMatchObject({ acquired: true });
      expect(await store.acquire(request)).toEqual(first);
    });
  });
});
