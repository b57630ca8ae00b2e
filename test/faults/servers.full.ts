import { expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { FAULT_STORES, onServers, REDIS, restored } from './support/fault-servers.js';
import type { Instance } from './support/instance.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** Of the lease that is to end, ms. */
const TTL = 1_500;
/** Far more than any outage that a lease is to survive here. */
const LONG = '1m';

/** It asks the store again, and is told that somebody has the lock. */
async function isRefused(other: Instance): Promise<void> {
  await until(async () => {
    expect(await other.fire()).toBe(false);
    return other.heard('event:skipped').some(({ reason }) => reason === 'held');
  });
}

onServers(FAULT_STORES, (store) => {
  test('connections that break during a job are replaced, and the lease is kept', async () => {
    const holder = await store.start('holder', LONG, 'proxied');
    await holder.takeOver();
    const lease = await store.held();
    for (let cut = 0; cut < 3; cut++) {
      store.server.proxy.cut();
      await store.goesOn(holder, lease);
    }
    expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
  });

  test('a network that swallows everything for a while does not cost the lease', async () => {
    const holder = await store.start('holder', LONG, 'proxied');
    await holder.takeOver();
    const lease = await store.held();
    store.server.proxy.freeze();
    await holder.next('event:renewal-failed');
    store.server.proxy.thaw();
    await store.goesOn(holder, lease);
    expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
  });

  test('a server that freezes during a job and goes on before the deadline does not cost the lease', async () => {
    const holder = await store.start('holder', LONG);
    await holder.takeOver();
    const lease = await store.held();
    store.server.pause();
    await holder.next('event:renewal-failed');
    store.server.resume();
    await store.goesOn(holder, lease);
    expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
  });

  test.each([
    ['is killed', () => store.server.kill()],
    ['is stopped', () => store.server.stopPolitely()],
  ])(
    'a server that %s during a job, and started again with its data, does not cost the lease',
    async (_, end) => {
      const [holder, other] = await Promise.all([store.start('holder', LONG), store.start('other', LONG)]);
      const fence = await holder.takeOver();
      const lease = await store.held();
      await end();
      await holder.next('event:renewal-failed');
      expect(await other.fire()).toBe(false);
      expect(other.heard('event:skipped').at(-1)).toMatchObject({ error: 'StoreUnavailableError' });
      await store.server.restart();
      await store.goesOn(holder, lease);
      expect(restored(holder)).toEqual([]);
      await isRefused(other);
      expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
      expect(await other.takeOver()).toBeGreaterThan(fence);
    },
  );

  test('a server that stays away past the deadline costs the lease, and the job is told while it is away', async () => {
    const [first, second] = await Promise.all([store.start('first', TTL), store.start('second', LONG)]);
    const fence = await first.takeOver();
    await store.server.kill();
    expect(await first.next('event:lost')).toMatchObject({ reason: 'deadline', fencingToken: fence });
    expect(await first.next('aborted')).toMatchObject({ error: 'LockLostError', reason: 'deadline' });
    await store.server.restart();
    expect(await second.takeOver()).toBeGreaterThan(fence);
    const lease = await store.held();
    // Past the deadline the lease is over, whatever the store says later.
    expect(await first.judge()).toMatchObject({ held: false, error: 'LockLostError' });
    expect(await first.endJob()).toMatchObject({ outcome: 'aborted', confirmed: false });
    await store.goesOn(second, lease);
  });
});

// What a table holds survives its server: `test/integration/sql-restore` sets a database back.
onServers([REDIS], (store) => {
  const start = (instanceId: string): Promise<Instance> => store.start(instanceId, LONG);

  async function restartEmpty(): Promise<void> {
    await store.server.kill();
    await store.server.restart({ empty: true });
  }

  test('a Redis that restarts empty gets the lease back, and the job goes on', async () => {
    const [holder, other] = await Promise.all([start('holder'), start('other')]);
    const fence = await holder.takeOver();
    const lease = await store.held();
    await restartEmpty();
    await until(() => restored(holder).length > 0, { message: 'the lease to be restored' });
    expect(await store.held()).toEqual(lease);
    expect(holder.heard('event:lost')).toEqual([]);
    await isRefused(other);
    expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
    expect(await other.takeOver()).toBeGreaterThan(fence);
  });

  test('a Redis that restarts empty and is used by another first does not get the lease back', async () => {
    const [first, second] = await Promise.all([start('first'), start('second')]);
    const fence = await first.takeOver();
    first.pause();
    await restartEmpty();
    expect(await second.takeOver()).toBeGreaterThan(fence);
    const lease = await store.held();
    first.resume();
    expect(await first.next('event:lost')).toMatchObject({ reason: 'taken', holder: 'second' });
    await first.endJob();
    await store.goesOn(second, lease);
  });

  test('a lease that was released is not given back to a Redis that restarts empty', async () => {
    const [first, second] = await Promise.all([start('first'), start('second')]);
    await first.takeOver();
    await first.next('event:renewed');
    expect(await first.endJob()).toMatchObject({ confirmed: true });
    await restartEmpty();
    await second.takeOver();
    await store.goesOn(second, await store.held());
    expect(await second.endJob()).toMatchObject({ confirmed: true });
    expect(await store.server.lease()).toMatchObject({ owner: null });
  });
});
