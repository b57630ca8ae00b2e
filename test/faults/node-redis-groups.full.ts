import { afterEach, describe, expect, test } from '@jest/globals';
import { createCluster, createSentinel } from 'redis';
import { createCluster as createCluster5, createSentinel as createSentinel5 } from 'redis5';
import type { NodeRedisClient } from '../../lib/stores/redis/index.js';
import { until } from '../support/until.js';
import { hold, logged, startApp, type TestApp } from './support/app.js';
import { replicaPromoted, startRedisCluster, startRedisSentinel } from './support/redis-topologies.js';
import { faultSuite } from './support/suite.js';

/* A failover, and a Cluster that loses nodes, with clients of node-redis. */

faultSuite();

type Client = NodeRedisClient & { destroy(): unknown };

const atTheEnd: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of atTheEnd.splice(0).reverse()) await end();
});

function keep<Given extends NodeRedisClient>(client: Given): Client {
  const kept = client as unknown as Client;
  atTheEnd.push(() => (kept.isOpen ? kept.destroy() : undefined));
  return kept;
}

const start = (connection: Client): Promise<TestApp> => startApp({ connection, ttl: '1m', heartbeat: 100 });
const runsAgain = (app: TestApp, name: string): Promise<unknown> =>
  until(async () => (await app.locks.run(name, () => undefined)).ran, {
    message: `${name} to run`,
    timeout: 60_000,
  });

describe.each([
  ['node-redis 6', createSentinel],
  ['node-redis 5', createSentinel5 as unknown as typeof createSentinel],
])('Sentinels, %s', (_version, create) => {
  test('a failover during a job: the job goes on or is told, and jobs run on the new master', async () => {
    const group = await startRedisSentinel();
    atTheEnd.push(() => group.stop());
    const make = (): Client =>
      keep(
        create({
          name: group.name,
          sentinelRootNodes: group.sentinels,
          nodeClientOptions: { disableOfflineQueue: true },
        }),
      );
    const [holder, other] = [await start(make()), await start(make())];
    const { end } = await hold(holder, 'job');
    await holder.event('renewed');
    await group.master.kill();
    await replicaPromoted(group);
    const renewals = holder.heard('renewed').length;
    await until(() => holder.heard('renewed').length > renewals || holder.heard('lost').length > 0, {
      message: 'the lease to be renewed on the new master, or lost',
      timeout: 60_000,
    });
    await end();
    await runsAgain(other, 'job');
    await runsAgain(holder, 'next');
    // They exclude each other on the new master, and hints go there, too.
    const held = await hold(holder, 'after');
    const waiting = other.locks.run('after', { wait: '1m' }, () => 'called');
    await other.event('waiting', 'after');
    await held.end();
    expect(await waiting).toEqual({ ran: true, value: 'called' });
    const tokens = [...holder.heard('acquired'), ...other.heard('acquired')].map(({ lock, fencingToken }) =>
      [lock, fencingToken].join(),
    );
    expect(new Set(tokens).size).toBe(tokens.length);
  });
});

describe.each([
  ['node-redis 6', createCluster],
  ['node-redis 5', createCluster5 as unknown as typeof createCluster],
])('a Cluster, %s', (_version, create) => {
  test('locks of a node that is away are skipped, those of the others run, and all do when it is back', async () => {
    const cluster = await startRedisCluster();
    atTheEnd.push(() => cluster.stop());
    for (const server of cluster.servers)
      await server.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    const client = keep(
      create({
        rootNodes: cluster.nodes.map((socket) => ({ socket })),
        defaults: { disableOfflineQueue: true },
      }),
    );
    const app = await start(client);
    // The slot is a checksum: names that differ in their last digit only are close to each other.
    const names = Array.from({ length: 30 }, (_, index) => `${index ** 5}-job-${index}`);
    const ran = async (): Promise<number> => {
      const results = await Promise.all(names.map((name) => app.locks.run(name, () => undefined)));
      return results.filter((result) => result.ran).length;
    };
    expect(await ran()).toBe(names.length);
    const [server] = cluster.servers;
    await server?.kill();
    await until(
      async () => {
        const some = await ran();
        return some > 0 && some < names.length;
      },
      { timeout: 60_000 },
    );
    await server?.restart();
    await until(async () => (await ran()) === names.length, { timeout: 60_000 });
    expect(logged(/misconfigured/)).toEqual([]);
  });
});
