import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startRedis, type LocalRedis } from '../support/local-redis.js';
import { startProxy } from './proxy/tcp-proxy.js';
import { until } from '../support/until.js';
import { type Instance, startInstance } from './support/instance.js';
import { expiry, lockKey, look } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** Of the leases that are to end, ms. */
const TTL = 1_500;

let server: LocalRedis;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(() => server.command('FLUSHALL'));
afterAll(() => server.stop());

/** The one whose lease ends. */
const startFirst = (connection = server.url): Promise<Instance> =>
  startInstance({ store: { connection }, instanceId: 'first', ttl: TTL, heartbeat: 100 });
/** The one that takes over, with a lease that it keeps however busy the machine is. */
const startSecond = (): Promise<Instance> =>
  startInstance({ store: { connection: server.url }, instanceId: 'second', ttl: '1m', heartbeat: 100 });
const startBoth = (): Promise<[Instance, Instance]> => Promise.all([startFirst(), startSecond()]);

/** Waits until the server has forgotten the lock of somebody who cannot renew it. */
const expired = (): Promise<unknown> =>
  until(async () => (await server.command('EXISTS', lockKey('job'))) === 0, {
    message: 'the lease to expire',
  });

/** The holder's lock is as it was, and its job goes on: two more renewals. */
async function stillHeldBy(holder: Instance, token: unknown): Promise<void> {
  const renewals = holder.heard('event:renewed').length;
  await until(() => holder.heard('event:renewed').length >= renewals + 2);
  expect((await look(server, 'job')).token).toBe(token);
  expect(holder.heard('event:lost')).toEqual([]);
  // Nor was it freed in between and written back.
  expect(holder.heard('event:renewed').filter(({ restored }) => restored)).toEqual([]);
  expect(await holder.judge()).toMatchObject({ held: true });
}

test('after a SIGKILL of the holder another instance runs the job when the ttl is over, and not before', async () => {
  const [first, second] = await startBoth();
  const fence = await first.takeOver();
  await first.next('event:renewed');
  await first.kill();
  const freeAt = await expiry(server, 'job');
  const nextFence = await second.takeOver();
  // Both times are the server's.
  // A fencing token is the server's time of the grant, in microseconds.
  expect((await look(server, 'job')).fence / 1_000).toBeGreaterThanOrEqual(freeAt);
  expect(nextFence).toBeGreaterThan(fence);
  expect(second.heard('event:skipped')[0]).toMatchObject({ reason: 'held', holder: 'first' });
});

test('a holder that was frozen past its ttl learns that it lost, and its release frees nothing', async () => {
  const [first, second] = await startBoth();
  const fence = await first.takeOver();
  first.pause();
  await expired();
  const nextFence = await second.takeOver();
  expect(nextFence).toBeGreaterThan(fence);
  const { token } = await look(server, 'job');
  first.resume();
  expect(await first.next('event:lost')).toMatchObject({ reason: 'deadline', fencingToken: fence });
  expect(await first.next('aborted')).toMatchObject({ error: 'LockLostError', reason: 'deadline' });
  expect(await first.judge()).toMatchObject({ held: false, error: 'LockLostError' });
  expect(await first.endJob()).toMatchObject({ outcome: 'aborted', confirmed: false });
  await stillHeldBy(second, token);
});

test('a holder whose event loop was blocked for three ttls learns that it lost, and its release frees nothing', async () => {
  const [first, second] = await startBoth();
  const fence = await first.takeOver();
  first.block(3 * TTL);
  await expired();
  const nextFence = await second.takeOver();
  expect(nextFence).toBeGreaterThan(fence);
  const { token } = await look(server, 'job');
  expect(await first.next('unblocked')).toMatchObject({ held: false, error: 'LockLostError' });
  expect(await first.next('event:lost')).toMatchObject({ reason: 'deadline' });
  expect(await first.next('aborted')).toMatchObject({ error: 'LockLostError' });
  expect(await first.endJob()).toMatchObject({ outcome: 'aborted', confirmed: false });
  await first.next('ran');
  await stillHeldBy(second, token);
});

test('a job that blocks the event loop for three ttls and ends at once is told that it lost, and frees nothing', async () => {
  const [first, second] = await startBoth();
  first.runBlocking(3 * TTL);
  await first.next('job-started');
  await expired();
  await second.takeOver();
  const { token } = await look(server, 'job');
  expect(await first.next('unblocked')).toMatchObject({ held: false, error: 'LockLostError' });
  expect(await first.next('event:released')).toMatchObject({ outcome: 'aborted', confirmed: false });
  await first.next('ran');
  expect(first.heard('event:lost')).toHaveLength(1);
  await stillHeldBy(second, token);
});

test('an instance cut off from Redis knows that it lost no later than another one can begin', async () => {
  const proxy = await startProxy(server);
  try {
    const [first, second] = await Promise.all([startFirst(proxy.url), startSecond()]);
    await first.takeOver();
    await proxy.refuse();
    await second.takeOver();
    // Asked after the other began: what it answers is judged by its own clock, not by when a timer fires.
    expect(await first.judge()).toMatchObject({ held: false, error: 'LockLostError', reason: 'deadline' });
    await first.next('event:lost');
    const { token } = await look(server, 'job');
    await first.endJob();
    await proxy.refuse(false);
    await stillHeldBy(second, token);
  } finally {
    await proxy.stop();
  }
});
