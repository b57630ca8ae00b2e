import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startRedis, type LocalRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { type Instance, startInstance } from './support/instance.js';
import { lockKey, look } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';
import type { Duration } from '../../lib/index.js';

faultSuite();

/** Far more than any outage that a lease is to survive here. */
const LONG = '1m';

let server: LocalRedis;
beforeEach(async () => {
  server = await startRedis({ persistent: true });
});
afterEach(() => server.stop());

const start = (instanceId: string, ttl: Duration = LONG): Promise<Instance> =>
  startInstance({ store: { connection: server.url }, ttl, heartbeat: 100, instanceId });

/** A renewal after what has been heard so far. */
async function renewedAgain(instance: Instance): Promise<void> {
  const renewals = instance.heard('event:renewed').length;
  await until(() => instance.heard('event:renewed').length > renewals, { message: 'a renewal' });
}

test('a Redis that freezes during a job and goes on before the deadline does not cost the lease', async () => {
  const holder = await start('holder');
  const fence = await holder.takeOver();
  const { token } = await look(server, 'job');
  server.pause();
  await holder.next('event:renewal-failed');
  server.resume();
  await renewedAgain(holder);
  expect(await holder.judge()).toMatchObject({ held: true });
  expect(await look(server, 'job')).toMatchObject({ token, fence });
  expect(holder.heard('event:lost')).toEqual([]);
  expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
});

test('a Redis that restarts during a job with its data does not cost the lease', async () => {
  const [holder, other] = await Promise.all([start('holder'), start('other')]);
  const fence = await holder.takeOver();
  const { token } = await look(server, 'job');
  await server.kill();
  await holder.next('event:renewal-failed');
  await server.restart();
  await renewedAgain(holder);
  expect(await look(server, 'job')).toMatchObject({ token, fence });
  expect(holder.heard('event:renewed').filter(({ restored }) => restored)).toEqual([]);
  expect(holder.heard('event:lost')).toEqual([]);
  await until(async () => {
    expect(await other.fire()).toBe(false);
    return other.heard('event:skipped').some(({ reason }) => reason === 'held');
  });
  expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
  expect(await other.takeOver()).toBeGreaterThan(fence);
});

test('a Redis that stays away past the deadline costs the lease, and the job is told while it is away', async () => {
  const [first, second] = await Promise.all([start('first', 1_000), start('second')]);
  const fence = await first.takeOver();
  await server.kill();
  expect(await first.next('event:lost')).toMatchObject({ reason: 'deadline', fencingToken: fence });
  expect(await first.next('aborted')).toMatchObject({ error: 'LockLostError', reason: 'deadline' });
  await server.restart();
  expect(await second.takeOver()).toBeGreaterThan(fence);
  const { token } = await look(server, 'job');
  // Past the deadline the lease is over, whatever the store says later.
  expect(await first.judge()).toMatchObject({ held: false, error: 'LockLostError' });
  expect(await first.endJob()).toMatchObject({ outcome: 'aborted', confirmed: false });
  await renewedAgain(second);
  expect((await look(server, 'job')).token).toBe(token);
  expect(second.heard('event:lost')).toEqual([]);
});

test('a Redis that restarts empty gets the lease back, and the job goes on', async () => {
  const [holder, other] = await Promise.all([start('holder'), start('other')]);
  const fence = await holder.takeOver();
  const { token } = await look(server, 'job');
  await server.kill();
  await server.restart({ empty: true });
  await until(() => holder.heard('event:renewed').some(({ restored }) => restored === true), {
    message: 'the lease to be restored',
  });
  expect(await look(server, 'job')).toMatchObject({ token, fence });
  expect(holder.heard('event:lost')).toEqual([]);
  await until(async () => {
    expect(await other.fire()).toBe(false);
    return other.heard('event:skipped').some(({ reason }) => reason === 'held');
  });
  expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
  expect(await other.takeOver()).toBeGreaterThan(fence);
});

test('a Redis that restarts empty and is used by another first does not get the lease back', async () => {
  const [first, second] = await Promise.all([start('first'), start('second')]);
  const fence = await first.takeOver();
  first.pause();
  await server.kill();
  await server.restart({ empty: true });
  expect(await second.takeOver()).toBeGreaterThan(fence);
  const { token } = await look(server, 'job');
  first.resume();
  expect(await first.next('event:lost')).toMatchObject({ reason: 'taken', holder: 'second' });
  await first.endJob();
  await renewedAgain(second);
  expect((await look(server, 'job')).token).toBe(token);
});

test('a lease that was released is not given back to a Redis that restarts empty', async () => {
  const [first, second] = await Promise.all([start('first'), start('second')]);
  await first.takeOver();
  await first.next('event:renewed');
  expect(await first.endJob()).toMatchObject({ confirmed: true });
  await server.kill();
  await server.restart({ empty: true });
  await second.takeOver();
  await renewedAgain(second);
  expect(await second.endJob()).toMatchObject({ confirmed: true });
  expect(await server.command('EXISTS', lockKey('job'))).toBe(0);
});
