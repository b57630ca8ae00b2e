import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { activeHandles, newHandles, until } from '../../support/until.js';
import { startRedis, type LocalRedis } from '../../support/local-redis.js';
import { startProxy, type TcpProxy } from '../../faults/proxy/tcp-proxy.js';

let before: string[];
let server: LocalRedis;
let proxy: TcpProxy;
let client: Redis;

beforeAll(async () => {
  before = activeHandles();
  server = await startRedis();
});

afterAll(async () => {
  await server.stop();
  // The proxy, too, leaves nothing open.
  await until(() => newHandles(before).length === 0, {
    message: () => `the end of ${newHandles(before).join(', ')}`,
  });
});

beforeEach(async () => {
  await server.command('FLUSHALL');
  proxy = await startProxy(server);
  client = new Redis(proxy.url, {
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 5,
  });
  client.on('error', () => undefined);
  await until(() => client.status === 'ready');
});

afterEach(async () => {
  client.disconnect();
  await proxy.stop();
});

const soon = (promise: Promise<unknown>): Promise<unknown> =>
  Promise.race([promise, new Promise((resolve) => setTimeout(resolve, 60, 'pending'))]);

test('forwards', async () => {
  expect(proxy.connections).toBe(1);
  const value = 'x'.repeat(300_000);
  await client.set('key', value);
  await expect(client.get('key')).resolves.toBe(value);
});

test('cut breaks what is open and accepts again', async () => {
  const hold = proxy.holdReplies();
  const answer = client.incr('n');
  await proxy.waitForReplyTo('incr n');
  proxy.cut();
  await expect(answer).rejects.toThrow();
  hold();
  await until(() => client.status === 'ready');
  await expect(client.get('n')).resolves.toBe('1');
});

test('refuse refuses until it is taken back', async () => {
  await proxy.refuse(true);
  await until(() => client.status !== 'ready');
  const failures: Error[] = [];
  client.on('error', (error) => failures.push(error));
  await until(() => failures.length > 1);
  expect(String(failures.at(-1))).toMatch(/ECONNREFUSED/);
  await proxy.refuse(false);
  await until(() => client.status === 'ready');
});

test('freeze lets nothing pass and nothing close; thaw delivers', async () => {
  proxy.freeze();
  const answer = client.incr('n');
  const newcomer = new Redis(proxy.url, { lazyConnect: true });
  const connecting = newcomer.connect();
  await expect(soon(answer)).resolves.toBe('pending');
  await expect(soon(connecting)).resolves.toBe('pending');
  await expect(server.command('GET', 'n')).resolves.toBeNull();
  expect(proxy.connections).toBe(2);
  proxy.thaw();
  await expect(answer).resolves.toBe(1);
  await connecting;
  newcomer.disconnect();
});

test('delay makes late, in one direction or both, and keeps the order', async () => {
  proxy.delay(60, 'replies');
  const sent = performance.now();
  let isAnswered = false;
  const first = client.incr('n').finally(() => (isAnswered = true));
  // The server's answer has come this far at once.
  await proxy.waitForReplyTo('incr n');
  expect(isAnswered).toBe(false);
  proxy.delay(0);
  await expect(client.incr('n')).resolves.toBe(2);
  expect(performance.now() - sent).toBeGreaterThanOrEqual(59);
  await expect(first).resolves.toBe(1);
  proxy.delay(30);
  const again = performance.now();
  await client.incr('n');
  expect(performance.now() - again).toBeGreaterThanOrEqual(59);
});

test('swallowed replies: the server has done it, the client never hears', async () => {
  const fault = proxy.swallowReplies(1);
  const answer = client.incr('n');
  await fault.struck;
  await expect(server.command('GET', 'n')).resolves.toBe('1');
  await expect(soon(answer)).resolves.toBe('pending');
  expect(fault.count).toBe(1);
  proxy.cut();
  await expect(answer).rejects.toThrow();
});

test('swallowed requests: the server never sees them', async () => {
  const fault = proxy.swallowRequests(/^incr/);
  const answer = client.incr('n');
  await fault.struck;
  fault.stop();
  await expect(server.command('GET', 'n')).resolves.toBeNull();
  proxy.cut();
  await expect(answer).rejects.toThrow();
});

test('the reply to one of several pipelined requests is swallowed, and the connection cut', async () => {
  const fault = proxy.swallowReplyTo('incr b', { cut: true });
  const answers = await Promise.allSettled([client.incr('a'), client.incr('b'), client.incr('c')]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(fault.count).toBe(1);
  await expect(server.command('GET', 'b')).resolves.toBe('1');
});

test('without a cut, later replies come through', async () => {
  proxy.swallowReplyTo('get nothing');
  const replies: string[] = [];
  const stop = proxy.onReply((reply, request) => replies.push(`${request}: ${reply.trim()}`));
  // The client takes the second reply for the first: what a test gets that does not cut.
  const [first] = [client.get('nothing'), client.incr('n').catch(() => undefined)];
  await expect(first).resolves.toBe(1);
  stop();
  expect(replies).toEqual([expect.stringMatching(/^get nothing: /), 'incr n: :1']);
});

test('requests can be waited for and listened to', async () => {
  const seen: string[] = [];
  const stop = proxy.onRequest((request) => seen.push(request));
  const arrived = proxy.waitForRequest(/^set key/);
  await client.get('other');
  await client.set('key', 'value');
  await arrived;
  stop();
  await client.get('unheard');
  expect(seen).toEqual(['get other', 'set key value']);
  await expect(proxy.waitForRequest('never', 10)).rejects.toThrow('in vain for a request never');
});

test('held replies are delivered in order', async () => {
  const release = proxy.holdReplies();
  const order: number[] = [];
  const answers = [1, 2, 3].map(() => client.incr('n').then((n) => order.push(n)));
  await until(async () => (await server.command('GET', 'n')) === '3');
  await expect(soon(Promise.race(answers))).resolves.toBe('pending');
  release();
  await Promise.all(answers);
  expect(order).toEqual([1, 2, 3]);
});

test('held requests reach the server when released', async () => {
  const release = proxy.holdRequests();
  const answer = client.incr('n');
  await expect(soon(answer)).resolves.toBe('pending');
  await expect(server.command('GET', 'n')).resolves.toBeNull();
  release();
  await expect(answer).resolves.toBe(1);
});

test('a server that ends closes the connections', async () => {
  await server.kill();
  await until(() => proxy.connections === 0 || client.status !== 'ready');
  await server.restart();
  await until(() => client.status === 'ready');
});
