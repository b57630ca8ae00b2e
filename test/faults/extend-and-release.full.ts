import { beforeEach, expect, jest, test } from '@jest/globals';
import { EXTEND } from '../../lib/stores/redis/extend-script.js';
import { until } from '../support/until.js';
import { hold, startApp, type TestApp } from './support/app.js';
import { proxiedRedis } from './support/proxied-redis.js';
import {
  extensions,
  loadScripts,
  lockKey,
  look,
  releases,
  replay,
  userClient,
} from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

const redis = proxiedRedis();
/** Requests of the library as they reach the server. */
let arrived: string[];

beforeEach(() => {
  arrived = [];
  redis.proxy.onRequest((request) => {
    if (extensions(request)) arrived.push('extend');
    if (releases(request)) arrived.push('release');
  });
});

const start = (storeTimeout?: number): Promise<TestApp> =>
  startApp({ connection: redis.proxy.url, ttl: '1m', heartbeat: 50, storeTimeout });

test('a release waits for the renewal under way, so a lease restored by it is given back', async () => {
  const client = userClient(redis.proxy.url);
  const app = await startApp({ connection: client, ttl: '1m', heartbeat: 50, storeTimeout: '20s' });
  const { end } = await hold(app, 'job');
  const letGo = redis.proxy.holdRequests();
  const calls = jest.spyOn(client, 'evalsha').mock.calls;
  await until(() => calls.some(([sha]) => sha === EXTEND.many.sha), { message: 'a renewal under way' });
  // Now the server forgets everything, and the job ends.
  await redis.server.command('FLUSHDB');
  const ended = end();
  const before = arrived.length;
  letGo();
  await ended;
  expect(arrived.slice(before).slice(-2)).toEqual(['extend', 'release']);
  expect(await redis.free()).toBe(true);
  expect((await look(redis.server, 'job')).ended).toBe(true);
  await app.close();
  client.disconnect();
});

test('a release of a forgotten lease is recorded, so that a renewal that arrives after it restores nothing', async () => {
  const app = await start(300);
  const { end } = await hold(app, 'job');
  let renewal = '';
  const stop = redis.proxy.onRequest((request) => {
    if (extensions(request)) renewal = request;
  });
  // The network keeps the renewals to itself, until all is over.
  const kept = redis.proxy.swallowRequests(extensions);
  await app.event('renewal-failed');
  await redis.server.command('FLUSHDB');
  await end();
  stop();
  kept.stop();
  expect(app.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: false }]);
  expect(await redis.free()).toBe(true);
  await loadScripts(redis.server);
  expect(await replay(redis.server, renewal)).toEqual([0]);
  expect(await redis.free()).toBe(true);
});

test('a renewal that arrives after the release of a lease that was not forgotten restores nothing either', async () => {
  const app = await start();
  let renewal = '';
  redis.proxy.onRequest((request) => {
    // Of the lease: at its start the application may try scripts on other keys.
    if (extensions(request) && request.includes(lockKey('job'))) renewal = request;
  });
  const { end } = await hold(app, 'job');
  await until(() => renewal);
  await end();
  expect(app.heard('released')).toMatchObject([{ outcome: 'completed' }]);
  await until(() => redis.free());
  expect(await replay(redis.server, renewal)).toEqual([0]);
  expect(await redis.free()).toBe(true);
});

test('a renewal that timed out is followed by the release, and nothing is left when both arrive', async () => {
  const app = await start(200);
  const { end } = await hold(app, 'job');
  const letGo = redis.proxy.holdRequests();
  await app.event('renewal-failed');
  await redis.server.command('FLUSHDB');
  await end();
  expect(app.heard('released')).toMatchObject([{ confirmed: false }]);
  letGo();
  await until(() => arrived.includes('release'), { message: 'the release to arrive' });
  await until(() => redis.free(), { message: 'the lock to be free' });
  await app.close();
  expect(await redis.free()).toBe(true);
  expect((await look(redis.server, 'job')).ended).toBe(true);
});

test('a Redis that forgot a lease while its release was under way does not get it back from the next renewals', async () => {
  const app = await start();
  const [released, kept] = [await hold(app, 'job'), await hold(app, 'kept')];
  // The other lease keeps the heartbeat going, and is restored in one batch with whatever is still in it.
  const held = redis.proxy.swallowReplyTo(releases, { cut: true });
  const ended = released.end();
  await held.struck;
  await redis.server.command('FLUSHDB');
  await until(() => app.heard('renewed', 'kept').some(({ restored }) => restored));
  expect(await redis.free()).toBe(true);
  expect(await redis.server.command('EXISTS', lockKey('kept'))).toBe(1);
  await Promise.all([ended, kept.end()]);
  expect(await redis.free()).toBe(true);
});
