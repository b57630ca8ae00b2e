import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { RELEASE } from '../../lib/stores/redis/scripts.js';
import { startRedis, type LocalRedis } from '../support/redis-server.js';
import { startProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { hold, startApp, type TestApp } from './support/app.js';
import { acquires, extensions, loadScripts, lockKey, look, releases } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

let server: LocalRedis;
let proxy: TcpProxy;
/** What reaches the server: `evalsha acquire`, `eval release`, … */
let arrived: string[];

beforeAll(async () => {
  server = await startRedis();
});
beforeEach(async () => {
  await server.command('FLUSHALL');
  await loadScripts(server);
  arrived = [];
  proxy = await startProxy(server);
  proxy.onRequest((request) => {
    const [command = ''] = request.split(' ', 1);
    for (const [what, matches] of Object.entries({
      acquire: acquires,
      extend: extensions,
      release: releases,
    }))
      if (matches(request)) arrived.push(`${command.toLowerCase()} ${what}`);
  });
});
afterEach(() => proxy.stop());
afterAll(() => server.stop());

const start = (storeTimeout: number | string): Promise<TestApp> =>
  startApp({ connection: proxy.url, ttl: '1m', heartbeat: 50, storeTimeout });

/** The server forgets all scripts but the release, which another instance has just used. */
async function flushAllButRelease(): Promise<void> {
  await server.command('SCRIPT', 'FLUSH');
  await server.command('SCRIPT', 'LOAD', RELEASE.one.lua);
}

const free = async (): Promise<boolean> => (await server.command('EXISTS', lockKey('job'))) === 0;

test('a SCRIPT FLUSH while calls are in flight costs no lease, and no call', async () => {
  const app = await start('20s');
  const { end } = await hold(app, 'job');
  const letGo = proxy.holdRequests();
  const others = ['a', 'b', 'c'].map((name) => app.locks.run(name, () => name));
  await server.command('SCRIPT', 'FLUSH');
  letGo();
  await expect(Promise.all(others)).resolves.toEqual(['a', 'b', 'c'].map((value) => ({ ran: true, value })));
  const renewals = app.heard('renewed').length;
  await until(() => app.heard('renewed').length > renewals);
  await end();
  expect(app.heard('released').filter(({ confirmed }) => confirmed)).toHaveLength(4);
  expect(app.heard('lost')).toEqual([]);
  expect(await free()).toBe(true);
});

test('a release does not overtake an acquire that has to be sent as a whole script, and has timed out meanwhile', async () => {
  const app = await start(100);
  let runs = 0;
  arrived.length = 0;
  await flushAllButRelease();
  const letGo = proxy.holdReplies();
  expect(await app.locks.run('job', () => void runs++)).toMatchObject({ reason: 'store-unavailable' });
  // The server refused the acquire for now (NOSCRIPT), and has carried out the release.
  await until(() => arrived.includes('evalsha release'));
  expect(arrived[0]).toBe('evalsha acquire');
  letGo();
  await until(async () => (await look(server, 'job')).fence > 0, { message: 'the acquire to be granted' });
  await until(free, { message: 'the grant to be taken back' });
  expect(arrived.lastIndexOf('evalsha release')).toBeGreaterThan(arrived.indexOf('eval acquire'));
  expect(await look(server, 'job')).toMatchObject({ ended: true });
  expect(runs).toBe(0);
});

test('a release does not overtake a renewal that has to be sent as a whole script', async () => {
  const app = await start('20s');
  const { end } = await hold(app, 'job');
  await app.event('renewed');
  const letGo = proxy.holdReplies();
  await flushAllButRelease();
  arrived.length = 0;
  await until(() => arrived.includes('evalsha extend'), { message: 'a renewal in flight' });
  const ended = end();
  letGo();
  await ended;
  const order = arrived.filter((call, index) => arrived.indexOf(call) === index);
  expect(order.at(-1)).toBe('evalsha release');
  expect(app.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  expect(app.heard('lost')).toEqual([]);
  expect(await free()).toBe(true);
});

test('a renewal that timed out, and is sent as a whole script after the release, restores nothing', async () => {
  const app = await start(200);
  const { end } = await hold(app, 'job');
  await app.event('renewed');
  const letGo = proxy.holdReplies();
  await flushAllButRelease();
  arrived.length = 0;
  const failures = app.heard('renewal-failed').length;
  await until(() => arrived.includes('evalsha extend') && app.heard('renewal-failed').length > failures);
  await end();
  letGo();
  await until(() => arrived.includes('eval extend'), { message: 'the late renewal' });
  await app.close();
  expect(arrived.indexOf('evalsha release')).toBeGreaterThanOrEqual(0);
  expect(await look(server, 'job')).toMatchObject({ token: null, ended: true });
});
