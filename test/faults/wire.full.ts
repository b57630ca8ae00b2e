import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { until } from '../support/until.js';
import { job, startApp } from './support/app.js';
import { proxiedRedis } from './support/proxied-redis.js';
import { acquires, lockKey, look, releases, replay, userClient } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

let clients: Redis[];
// Hooks are called in the order of their registration: before the proxy is stopped.
afterEach(() => {
  for (const client of clients) client.disconnect();
});
const redis = proxiedRedis();
/** Acquires as they reach the server. */
let sent: string[];

beforeEach(() => {
  clients = [];
  sent = [];
  redis.proxy.onRequest((request) => {
    if (acquires(request)) sent.push(request);
  });
});

const usersClient = (): Redis => {
  const client = userClient(redis.proxy.url);
  clients.push(client);
  return client;
};

test('an acquire that the client sends again, as its answer was lost with the connection, is one grant', async () => {
  const app = await startApp({ connection: usersClient(), ttl: '1m', storeTimeout: '20s' });
  const lost = redis.proxy.swallowReplyTo(acquires, { cut: true });
  const { body, started, end, ...counted } = job();
  const run = app.locks.run('job', body);
  await started;
  expect(lost.count).toBe(1);
  expect(sent).toHaveLength(2);
  expect(sent[1]).toBe(sent[0]);
  const [acquired] = app.heard('acquired');
  expect(await look(redis.server, 'job')).toMatchObject({ fence: acquired?.fencingToken, ended: false });
  end();
  expect(await run).toMatchObject({ ran: true });
  expect(counted.runs).toBe(0);
  expect(app.heard('acquired')).toHaveLength(1);
  expect(app.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  expect(await redis.free()).toBe(true);
  await expect(app.locks.run('job', () => 'again')).resolves.toEqual({ ran: true, value: 'again' });
});

test('an acquire whose answer was lost is taken back at once by a client that does not send it again', async () => {
  const app = await startApp({ connection: redis.proxy.url, ttl: '1m' });
  const lost = redis.proxy.swallowReplyTo(acquires, { cut: true });
  expect(await app.locks.run('job', () => 'ran')).toMatchObject({ ran: false, reason: 'store-unavailable' });
  await lost.struck;
  await until(async () => (await look(redis.server, 'job')).ended, { message: 'the release' });
  expect(await redis.free()).toBe(true);
});

test('a release that arrives before its acquire is repeated, so that the acquire leaves no orphan', async () => {
  const ttl = 20_000;
  const app = await startApp({ connection: redis.proxy.url, ttl });
  // The connection breaks with the acquire on its way: it arrives long after the release over the next one.
  let late = '';
  const stop = redis.proxy.onRequest((request) => {
    if (!acquires(request)) return;
    late = request;
    redis.proxy.cut();
  });
  const swallowed = redis.proxy.swallowRequests(acquires);
  const released = redis.proxy.waitForReplyTo(releases);
  expect(await app.locks.run('job', () => 'ran')).toMatchObject({ ran: false, reason: 'store-unavailable' });
  stop();
  swallowed.stop();
  await released;
  expect(await replay(redis.server, late)).toEqual(expect.any(Number));
  const left = Number(await redis.server.command('PTTL', lockKey('job')));
  expect(left).toBeGreaterThan(ttl / 2);
  await until(() => redis.free(), { message: 'the orphan to be released' });
  // It did not just expire: its end is recorded.
  expect(await look(redis.server, 'job')).toMatchObject({ ended: true });
});

test('an acquire that the client sends again after the call has given up is taken back', async () => {
  // A look at other instances, sent meanwhile, would be answered in place of the swallowed attempt.
  const app = await startApp({ connection: usersClient(), ttl: '1m', storeTimeout: 100, insight: false });
  const swallowed = redis.proxy.swallowRequests(acquires);
  expect(await app.locks.run('job', () => 'ran')).toMatchObject({ ran: false, reason: 'store-unavailable' });
  swallowed.stop();
  redis.proxy.cut();
  await until(() => sent.length === 2, { message: 'the acquire to be sent again' });
  await until(async () => (await look(redis.server, 'job')).ended, { message: 'the release' });
  await until(() => redis.free());
  expect(app.heard('acquired')).toEqual([]);
});

test('an acquire that is answered after the deadline does not run its job, and leaves nothing behind', async () => {
  const ttl = 300;
  const app = await startApp({ connection: redis.server.url, ttl });
  let runs = 0;
  const run = app.locks.run('job', () => void runs++);
  // The request is out. The answer comes while the event loop is blocked, and is read when the lease is over.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * ttl);
  expect(await run).toMatchObject({ ran: false, reason: 'store-unavailable' });
  expect(runs).toBe(0);
  await app.close();
  expect(app.heard('acquired')).toEqual([]);
  expect(await look(redis.server, 'job')).toMatchObject({ ended: true, token: null });
});

test('an acquire whose answer is held back past the deadline does not run its job, and leaves nothing behind', async () => {
  const app = await startApp({ connection: redis.proxy.url, ttl: 300 });
  let runs = 0;
  const letGo = redis.proxy.holdReplies();
  expect(await app.locks.run('job', () => void runs++)).toMatchObject({ reason: 'store-unavailable' });
  await until(() => redis.free(), { message: 'the lease to be released or to expire' });
  letGo();
  await until(async () => (await app.locks.run('next', () => 'ran')).ran);
  await app.close();
  expect(runs).toBe(0);
  expect(await look(redis.server, 'job')).toMatchObject({ ended: true, token: null });
});
