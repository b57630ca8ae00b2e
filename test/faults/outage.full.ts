import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { startRedis, type LocalRedis } from '../support/local-redis.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { until } from '../support/until.js';
import { logged, startApp, type TestApp } from './support/app.js';
import { userClient } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

const TICKS = 50;
/** Ticks of as many jobs come at the same moment. */
const JOBS = 25;

let server: LocalRedis;
let proxy: TcpProxy;
/** The user's own, with the defaults of ioredis: it queues what it is given while it is not connected. */
let client: Redis;
let app: TestApp;
let runs: number;

beforeAll(async () => {
  server = await startRedis();
});
beforeEach(async () => {
  await server.command('FLUSHALL');
  proxy = await startProxy(server);
  client = userClient(proxy.url);
  // Beats are sent as soon as the store is back.
  app = await startApp({ connection: client, ttl: '1m', storeTimeout: 3_000, insight: false });
  runs = 0;
});
afterEach(async () => {
  client.disconnect();
  await proxy.stop();
});
afterAll(() => server.stop());

/** Fires jobs until there have been 50 ticks; answers with why they were skipped. */
async function ticks(): Promise<Set<string>> {
  const reasons = new Set<string>();
  for (let fired = 0; fired < TICKS; fired += JOBS) {
    const jobs = Array.from({ length: JOBS }, (_, index) => `job-${index}`);
    for (const result of await Promise.all(jobs.map((name) => app.locks.run(name, () => void runs++))))
      reasons.add(result.ran ? 'ran' : result.reason);
  }
  return reasons;
}

/** An outage of this many skipped runs has one line at its beginning and one at its end. */
async function twoLines(): Promise<void> {
  await expect(app.locks.run('afterwards', () => 'ran')).resolves.toEqual({ ran: true, value: 'ran' });
  await app.event('outage-ended');
  expect(logged()).toEqual([
    expect.stringMatching(
      /^error: The lock store is not available: no lock can be taken or renewed until it is\./,
    ),
    expect.stringMatching(/^log: The lock store is available again after .*; 50 runs were skipped$/),
  ]);
  expect(app.heard('outage-ended')).toMatchObject([{ skipped: TICKS }]);
}

const locks = (): Promise<unknown> => server.command('KEYS', '*:lock');

test('through an outage of 50 ticks on a client that queues, nothing waits in the queue to be run later', async () => {
  const down = new Promise((resolve) => client.once('close', resolve));
  await proxy.refuse();
  await down;
  expect(await ticks()).toEqual(new Set(['store-unavailable']));
  const requests: string[] = [];
  proxy.onRequest((request) => requests.push(request));
  await proxy.refuse(false);
  await until(() => client.status === 'ready');
  // Answered after everything that the client had queued.
  await client.ping();
  expect(requests.filter((request) => /eval/i.test(request))).toEqual([]);
  expect(await locks()).toEqual([]);
  await twoLines();
  expect(runs).toBe(0);
  await app.close();
  expect(await locks()).toEqual([]);
});

test('acquires that timed out through 50 ticks of a frozen connection leave no lock and run no job', async () => {
  proxy.freeze();
  expect(await ticks()).toEqual(new Set(['store-unavailable']));
  expect(await locks()).toEqual([]);
  proxy.thaw();
  // Answered after every acquire and every release that the client had sent.
  await client.ping();
  expect(await locks()).toEqual([]);
  await twoLines();
  expect(runs).toBe(0);
  await app.close();
  expect(await locks()).toEqual([]);
});

test('an application that closes during an outage does not wait for the store to come back', async () => {
  proxy.freeze();
  const run = app.locks.run('job', () => void runs++);
  await app.close();
  expect(await run).toMatchObject({ ran: false });
  expect(runs).toBe(0);
  proxy.thaw();
  await client.ping();
  expect(await locks()).toEqual([]);
});

test('an application starts during an outage, says so once, and runs its jobs when it is over', async () => {
  await app.close();
  proxy.freeze();
  const late = await startApp({ connection: client, ttl: '1m', storeTimeout: 3_000 });
  expect(await late.locks.run('job', () => void runs++)).toMatchObject({ reason: 'store-unavailable' });
  proxy.thaw();
  await until(async () => (await late.locks.run('job', () => 'ran')).ran);
  expect(logged(/not available/)).toEqual([expect.stringMatching(/^warn: The lock store is not available/)]);
  expect(runs).toBe(0);
});
