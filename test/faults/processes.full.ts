import { expect, test } from '@jest/globals';
import { FAULT_STORES, onServers, REDIS, restored } from './support/fault-servers.js';
import type { Instance } from './support/instance.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** Of the leases that are to end, ms. */
const TTL = 1_500;
/** Kept however busy the machine is. */
const LONG = '1m';

onServers(FAULT_STORES, (store) => {
  /** The one whose lease ends, and the one that takes over. */
  const startBoth = (way?: 'proxied'): Promise<[Instance, Instance]> =>
    Promise.all([store.start('first', TTL, way), store.start('second', LONG)]);

  test('after a SIGKILL of the holder another instance runs the job when the ttl is over, and not before', async () => {
    const [first, second] = await startBoth();
    const fence = await first.takeOver();
    await first.next('event:renewed');
    await first.kill();
    const { freeAt } = await store.server.lease();
    expect(await second.takeOver()).toBeGreaterThan(fence);
    expect((await store.server.lease()).grantedAt).toBeGreaterThanOrEqual(freeAt);
    expect(second.heard('event:skipped')[0]).toMatchObject({ reason: 'held', holder: 'first' });
  });

  test('a holder that was frozen past its ttl learns that it lost, and its release frees nothing', async () => {
    const [first, second] = await startBoth();
    const fence = await first.takeOver();
    first.pause();
    expect(await second.takeOver()).toBeGreaterThan(fence);
    const lease = await store.held();
    first.resume();
    expect(await first.next('event:lost')).toMatchObject({ reason: 'deadline', fencingToken: fence });
    expect(await first.next('aborted')).toMatchObject({ error: 'LockLostError', reason: 'deadline' });
    expect(await first.judge()).toMatchObject({ held: false, error: 'LockLostError' });
    expect(await first.endJob()).toMatchObject({ outcome: 'aborted', confirmed: false });
    await store.goesOn(second, lease);
    expect(restored(second)).toEqual([]);
  });

  test('an instance cut off from the store knows that it lost no later than another one can begin', async () => {
    const [first, second] = await startBoth('proxied');
    await first.takeOver();
    await store.server.proxy.refuse();
    await second.takeOver();
    // Asked after the other began: what it answers is judged by its own clock, not by when a timer fires.
    expect(await first.judge()).toMatchObject({ held: false, error: 'LockLostError', reason: 'deadline' });
    await first.next('event:lost');
    const lease = await store.held();
    await first.endJob();
    await store.server.proxy.refuse(false);
    await store.goesOn(second, lease);
    expect(restored(second)).toEqual([]);
  });
});

// What is blocked is the process: the store does not matter.
onServers([REDIS], (store) => {
  const startBoth = (): Promise<[Instance, Instance]> =>
    Promise.all([store.start('first', TTL), store.start('second', LONG)]);

  test('a holder whose event loop was blocked for three ttls learns that it lost, and its release frees nothing', async () => {
    const [first, second] = await startBoth();
    const fence = await first.takeOver();
    first.block(3 * TTL);
    expect(await second.takeOver()).toBeGreaterThan(fence);
    const lease = await store.held();
    expect(await first.next('unblocked')).toMatchObject({ held: false, error: 'LockLostError' });
    expect(await first.next('event:lost')).toMatchObject({ reason: 'deadline' });
    expect(await first.next('aborted')).toMatchObject({ error: 'LockLostError' });
    expect(await first.endJob()).toMatchObject({ outcome: 'aborted', confirmed: false });
    await first.next('ran');
    await store.goesOn(second, lease);
    expect(restored(second)).toEqual([]);
  });

  test('a job that blocks the event loop for three ttls and ends at once is told that it lost, and frees nothing', async () => {
    const [first, second] = await startBoth();
    first.runBlocking(3 * TTL);
    await first.next('job-started');
    await second.takeOver();
    const lease = await store.held();
    expect(await first.next('unblocked')).toMatchObject({ held: false, error: 'LockLostError' });
    expect(await first.next('event:released')).toMatchObject({ outcome: 'aborted', confirmed: false });
    await first.next('ran');
    expect(first.heard('event:lost')).toHaveLength(1);
    await store.goesOn(second, lease);
    expect(restored(second)).toEqual([]);
  });
});
