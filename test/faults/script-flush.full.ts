import { beforeEach, expect, test } from '@jest/globals';
import { RELEASE } from '../../lib/stores/redis/release-script.js';
import { until } from '../support/until.js';
import { hold, startApp, type TestApp } from './support/app.js';
import { proxiedRedis } from './support/proxied-redis.js';
import { acquires, extensions, look, releases } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';
import type { Duration } from '../../lib/index.js';

faultSuite();

const redis = proxiedRedis();
/** What reaches the server: `evalsha acquire`, `eval release`, … */
let arrived: string[];

beforeEach(() => {
  arrived = [];
  redis.proxy.onRequest((request) => {
    const [command = ''] = request.split(' ', 1);
    for (const [what, matches] of Object.entries({
      acquire: acquires,
      extend: extensions,
      release: releases,
    }))
      if (matches(request)) arrived.push(`${command.toLowerCase()} ${what}`);
  });
});

const start = (storeTimeout: Duration): Promise<TestApp> =>
  startApp({ connection: redis.proxy.url, ttl: '1m', heartbeat: 50, storeTimeout });

/** The server forgets all scripts but the release, which another instance has just used. */
async function flushAllButRelease(): Promise<void> {
  await redis.server.command('SCRIPT', 'FLUSH');
  await redis.server.command('SCRIPT', 'LOAD', RELEASE.one.lua);
}

test('a SCRIPT FLUSH while calls are in flight costs no lease, and no call', async () => {
  const app = await start('20s');
  const { end } = await hold(app, 'job');
  const letGo = redis.proxy.holdRequests();
  const others = ['a', 'b', 'c'].map((name) => app.locks.run(name, () => name));
  await redis.server.command('SCRIPT', 'FLUSH');
  letGo();
  await expect(Promise.all(others)).resolves.toEqual(['a', 'b', 'c'].map((value) => ({ ran: true, value })));
  const renewals = app.heard('renewed').length;
  await until(() => app.heard('renewed').length > renewals);
  await end();
  expect(app.heard('released').filter(({ confirmed }) => confirmed)).toHaveLength(4);
  expect(app.heard('lost')).toEqual([]);
  expect(await redis.free()).toBe(true);
});

test('a release does not overtake an acquire that has to be sent as a whole script, and has timed out meanwhile', async () => {
  const app = await start(100);
  let runs = 0;
  arrived.length = 0;
  await flushAllButRelease();
  const letGo = redis.proxy.holdReplies();
  expect(await app.locks.run('job', () => void runs++)).toMatchObject({ reason: 'store-unavailable' });
  // The server refused the acquire for now (NOSCRIPT), and has carried out the release.
  await until(() => arrived.includes('evalsha release'));
  expect(arrived[0]).toBe('evalsha acquire');
  letGo();
  await until(async () => (await look(redis.server, 'job')).fence > 0, {
    message: 'the acquire to be granted',
  });
  await until(() => redis.free(), { message: 'the grant to be taken back' });
  expect(arrived.lastIndexOf('evalsha release')).toBeGreaterThan(arrived.indexOf('eval acquire'));
  expect(await look(redis.server, 'job')).toMatchObject({ ended: true });
  expect(runs).toBe(0);
});

test('a release does not overtake a renewal that has to be sent as a whole script', async () => {
  const app = await start('20s');
  const { end } = await hold(app, 'job');
  await app.event('renewed');
  const letGo = redis.proxy.holdReplies();
  // A renewal that is sent before the server has forgotten its script is the one in flight then: no other one follows it.
  arrived.length = 0;
  await flushAllButRelease();
  await until(() => arrived.includes('evalsha extend'), { message: 'a renewal in flight' });
  const ended = end();
  letGo();
  await ended;
  const order = arrived.filter((call, index) => arrived.indexOf(call) === index);
  expect(order.at(-1)).toBe('evalsha release');
  expect(app.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  expect(app.heard('lost')).toEqual([]);
  expect(await redis.free()).toBe(true);
});

test('a renewal that timed out restores nothing after the release, also if it is sent as a whole script by then', async () => {
  const app = await start(200);
  const { end } = await hold(app, 'job');
  await app.event('renewed');
  const letGo = redis.proxy.holdReplies();
  // As above: a renewal that is in flight by then is the only one.
  arrived.length = 0;
  const failures = app.heard('renewal-failed').length;
  await flushAllButRelease();
  await until(() => arrived.includes('evalsha extend') && app.heard('renewal-failed').length > failures);
  await end();
  letGo();
  // Its connection was closed with it, as nothing had come over that: then it is not sent again.
  await until(async () => (await look(redis.server, 'job')).ended, { message: 'the release' });
  await app.close();
  expect(arrived.indexOf('evalsha release')).toBeGreaterThanOrEqual(0);
  expect(await look(redis.server, 'job')).toMatchObject({ token: null, ended: true });
});
