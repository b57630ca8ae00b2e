import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { replicaPromoted, startRedisSentinel, type RedisSentinel } from './support/redis-topologies.js';
import { until } from '../support/until.js';
import { hold, startApp, type TestApp } from './support/app.js';
import { faultSuite } from './support/suite.js';
import { inOrder, Runs, standing } from './support/turns.js';

faultSuite();

let group: RedisSentinel;
let client: Redis;
beforeEach(async () => {
  group = await startRedisSentinel();
  client = new Redis({ sentinels: group.sentinels, name: group.name });
  client.on('error', () => undefined);
});
afterEach(async () => {
  client.disconnect();
  await group.stop();
});

const withUsersClient = (): Promise<TestApp> =>
  startApp({ connection: client, ttl: '1m', heartbeat: 100, instanceId: 'users-client' });
const withOptions = (): Promise<TestApp> =>
  startApp({
    connection: { sentinels: group.sentinels, name: group.name },
    ttl: '1m',
    heartbeat: 100,
    instanceId: 'options',
  });

test.each([
  ["the user's client", withUsersClient, withOptions],
  ['sentinels given as options', withOptions, withUsersClient],
])(
  'a failover during a job, by %s: the job goes on or is told, and jobs run on the new master',
  async (_, of, by) => {
    const [holder, other] = [await of(), await by()];
    const { end } = await hold(holder, 'job');
    await holder.event('renewed');
    await group.master.kill();
    await replicaPromoted(group);
    // Replication is asynchronous, so either may be; but the job must not be left in the dark.
    const [renewals] = [holder.heard('renewed').length];
    await until(() => holder.heard('renewed').length > renewals || holder.heard('lost').length > 0, {
      message: 'the lease to be renewed on the new master, or lost',
      timeout: 60_000,
    });
    await end();
    await until(async () => (await other.locks.run('job', () => 'ran')).ran, { timeout: 60_000 });

    let running = 0;
    let overlaps = 0;
    const runs = { holder: 0, other: 0 };
    const tick = async (app: TestApp, who: keyof typeof runs): Promise<void> => {
      await app.locks.run('next', async () => {
        if (++running > 1) overlaps += 1;
        runs[who] += 1;
        // Long enough for the other to be refused: its answer comes over the network.
        await app.locks.run(`during-${who}`, () => undefined);
        running -= 1;
      });
    };
    await until(async () => {
      await Promise.all([tick(holder, 'holder'), tick(other, 'other')]);
      if (runs.holder > runs.other) await tick(other, 'other');
      else await tick(holder, 'holder');
      return runs.holder >= 5 && runs.other >= 5;
    });
    expect(overlaps).toBe(0);
    const refused = [...holder.heard('skipped', 'next'), ...other.heard('skipped', 'next')];
    expect(refused.some(({ reason }) => reason === 'held')).toBe(true);
    const tokens = [...holder.heard('acquired', 'next'), ...other.heard('acquired', 'next')].map(
      ({ fencingToken }) => fencingToken,
    );
    expect(new Set(tokens).size).toBe(tokens.length);
  },
);

test('a failover ends no wait, and those in line have their turn in their order on the new master', async () => {
  const runs = new Runs();
  const apps = [await withUsersClient(), await withOptions()];
  const holder = await hold(apps[0] as TestApp, 'lock');
  const calls = await standing(runs, apps, 6);
  await group.master.command('WAIT', 1, 5_000);
  await group.master.kill();
  await until(async () => /role:master/.test(String(await group.replica.command('INFO', 'replication'))), {
    message: 'the replica to be promoted',
    timeout: 60_000,
  });
  const renewed = (): number => (apps[0] as TestApp).heard('renewed', 'lock').length;
  const before = renewed();
  await until(() => renewed() > before, { message: 'the lease to be renewed there', timeout: 60_000 });
  expect(runs.order).toEqual([]);
  await holder.end();
  for (const result of await Promise.all(calls)) expect(result).toMatchObject({ ran: true });
  expect(runs).toMatchObject({ order: inOrder(6), overlaps: [] });
});
