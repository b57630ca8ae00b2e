import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { startApp, type TestApp } from './support/app.js';
import { proxiedRedis } from './support/proxied-redis.js';
import { acquires, look } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

const redis = proxiedRedis();

const TTL = 600;
const TICK = 1_760_000_000_000;

/** A call of the scheduler's for one tick. */
const fire = (app: TestApp) => app.locks.run('job', { job: 'nightly', tick: TICK }, () => 'ran');

/** Lets more than three ttls pass. */
async function outlast(ttl: number): Promise<void> {
  const end = performance.now() + 3 * ttl;
  await until(() => performance.now() > end);
}

const starting = (): Promise<[TestApp, TestApp]> =>
  Promise.all([
    startApp({ connection: redis.proxy.url, ttl: TTL }),
    startApp({ connection: redis.server.url, ttl: TTL }),
  ]);

test('a tick whose acquire was carried out, and not answered before an outage of three ttls, can be taken again', async () => {
  const [app, other] = await starting();
  const stop = redis.proxy.onReply((_, request = '') => {
    if (acquires(request)) void redis.proxy.refuse();
  });
  expect(await fire(app)).toMatchObject({ ran: false, reason: 'store-unavailable' });
  stop();
  await outlast(TTL);
  // What was started, as far as anybody knows, is not started again.
  expect(await fire(other)).toMatchObject({ ran: false, reason: 'already-ran' });
  await redis.proxy.refuse(false);
  await until(async () => (await fire(other)).ran, { message: 'the tick to be given back' });
  expect(await fire(other)).toMatchObject({ ran: false, reason: 'already-ran' });
});

test('an acquire that lies in the buffer of a Redis that is frozen for three ttls leaves neither lock nor tick taken', async () => {
  const [app, other] = await starting();
  await until(async () => (await app.locks.run('job', () => undefined)).ran);
  const { fence } = await look(redis.server, 'job');
  redis.server.pause();
  try {
    const sent = redis.proxy.waitForRequest(acquires);
    const run = fire(app);
    await sent;
    // What was written is with the server's kernel by now.
    await setImmediate();
    redis.proxy.cut();
    expect(await run).toMatchObject({ ran: false, reason: 'store-unavailable' });
    await outlast(TTL);
  } finally {
    redis.server.resume();
  }
  await until(
    async () => {
      const lock = await look(redis.server, 'job');
      return lock.fence > fence && lock.ended;
    },
    { message: 'the acquire to be carried out, and taken back' },
  );
  await until(async () => (await fire(other)).ran, { message: 'the tick to be given back' });
  expect(await fire(other)).toMatchObject({ ran: false, reason: 'already-ran' });
});
