import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Cluster } from 'ioredis';
import { startRedisCluster, type RedisCluster } from './support/redis-topologies.js';
import { until } from '../support/until.js';
import { hold, startApp, type TestApp } from './support/app.js';
import { lockKey } from './support/redis-view.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { faultSuite } from './support/suite.js';
import { inOrder, Runs, standing } from './support/turns.js';

faultSuite();

let cluster: RedisCluster;
let client: Cluster;
/** What another process would use. */
let second: Cluster;
beforeEach(async () => {
  cluster = await startRedisCluster();
  // A node that hangs takes away its own slots only.
  await Promise.all(
    cluster.servers.map((server) => server.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')),
  );
  [client, second] = [new Cluster(cluster.nodes), new Cluster(cluster.nodes, { lazyConnect: true })];
  for (const each of [client, second]) each.on('error', () => undefined);
  await until(() => client.status === 'ready');
});
afterEach(async () => {
  for (const each of [client, second]) each.disconnect();
  await cluster.stop();
});

/** The name of a lock on each node. */
async function namesByNode(): Promise<string[]> {
  const names: string[] = [];
  for (let i = 0; names.filter(Boolean).length < cluster.servers.length; i++) {
    const slot = await client.cluster('KEYSLOT', lockKey(`job-${i}`));
    names[Math.floor(slot / (16_384 / cluster.servers.length))] ??= `job-${i}`;
  }
  return names;
}

test('one primary that evicts is a warning, whichever it is', async () => {
  const store = new RedisLockStore(client);
  await store.init();
  expect(await store.warning()).toBeUndefined();
  for (const server of cluster.servers) {
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
    await server.command('CONFIG', 'SET', 'maxmemory', '100mb');
    expect(await store.warning()).toMatch(/maxmemory-policy volatile-lru/);
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
  }
  await store.close();
});

test('attempts of one moment are never judged by a look, which a client may send to a replica that lags behind', async () => {
  const store = new RedisLockStore(client, { key: (name) => `{app}:${name}` });
  await store.init();
  const volley = (token: string): Promise<boolean[]> => {
    const attempt = async (name: string): Promise<boolean> =>
      (await store.acquire({ name, token: `${token}-${name}`, ttl: 60_000, holder: token, brief: true }))
        .acquired;
    return Promise.all(['a', 'b', 'c', 'd'].map(attempt));
  };
  expect(await volley('first')).toEqual([true, true, true, true]);
  const looks = async (): Promise<string[]> => {
    const stats = await Promise.all(cluster.servers.map((server) => server.command('INFO', 'commandstats')));
    return stats.map((text) => /cmdstat_mget:calls=(\d+)/.exec(String(text))?.[1] ?? '0');
  };
  const before = await looks();
  expect(await volley('second')).toEqual([false, false, false, false]);
  expect(await looks()).toEqual(before);
});

test('a node that hangs during a renewal does not hide what the others answer', async () => {
  const app = await startApp({ connection: client, ttl: '1m', heartbeat: 100, storeTimeout: 500 });
  const [hung = '', ...others] = await namesByNode();
  const held = await Promise.all([hung, ...others].map((name) => hold(app, name)));
  for (const name of others) await app.event('renewed', name);
  const [server] = cluster.servers;
  server?.pause();
  await app.event('renewal-failed', hung);
  // In one batch with the one that fails: the others are renewed all the same.
  const failures = (): number => app.heard('renewal-failed', hung).length;
  const before = others.map((name) => app.heard('renewed', name).length);
  const failed = failures();
  await until(() => failures() >= failed + 2, { message: 'two more renewals that fail' });
  await until(() => others.every((name, i) => app.heard('renewed', name).length > (before[i] ?? 0)));
  for (const name of others) expect(app.heard('renewal-failed', name)).toEqual([]);
  server?.resume();
  const renewed = app.heard('renewed', hung).length;
  await until(() => app.heard('renewed', hung).length > renewed, { message: 'the node to be back' });
  expect(app.heard('lost')).toEqual([]);
  for (const { end } of held) await end();
  await until(() => app.heard('released').filter(({ confirmed }) => confirmed).length === held.length);
});

test('a node that hangs is one outage, which begins and ends once, though the others answer meanwhile', async () => {
  const app = await startApp({ connection: client, ttl: '1m', storeTimeout: 300 });
  const [hung = '', ...others] = await namesByNode();
  const run = async (name: string): Promise<boolean> => (await app.locks.run(name, () => name)).ran;
  const [server] = cluster.servers;
  server?.pause();
  for (let round = 0; round < 3; round++) {
    expect(await run(hung)).toBe(false);
    for (const name of others) expect(await run(name)).toBe(true);
  }
  expect(app.heard('outage-started')).toHaveLength(1);
  expect(app.heard('outage-ended')).toEqual([]);
  server?.resume();
  await until(() => run(hung), { message: 'the node to be back' });
  for (const name of others) expect(await run(name)).toBe(true);
  expect(app.heard('outage-started')).toHaveLength(1);
  expect(app.heard('outage-ended')).toHaveLength(1);
});

test('a volley of runs over a cluster takes each lock where it lives', async () => {
  const app = await startApp({ connection: client, ttl: '1m' });
  const names = Array.from({ length: 60 }, (_, i) => `volley-${i}`);
  const results = await Promise.all(names.map((name) => app.locks.run(name, () => name)));
  expect(results).toEqual(names.map((value) => ({ ran: true, value })));
  expect(app.heard('released').every(({ confirmed }) => confirmed)).toBe(true);
});

test('a name whose key cannot be made fails alone, and the others of its volley run', async () => {
  const key = (name: string): string => {
    if (name === 'bad') throw new Error('no key for this one');
    return `locks:${name}`;
  };
  const app = await startApp({ connection: client, ttl: '1m', key });
  const results = await Promise.allSettled(
    ['one', 'bad', 'two', 'three'].map((name) => app.locks.run(name, () => name)),
  );
  expect(results.map((result) => result.status === 'fulfilled' && result.value.ran)).toEqual([
    true,
    false,
    true,
    true,
  ]);
});

/** Moves the slot of a lock, with its keys, to another node, as `redis-cli --cluster reshard` does. */
async function moveSlot(name: string): Promise<void> {
  const slot = await client.cluster('KEYSLOT', lockKey(name));
  const owner = Math.floor(slot / (16_384 / cluster.servers.length));
  const [from, to] = [cluster.servers[owner], cluster.servers[(owner + 1) % cluster.servers.length]];
  if (from === undefined || to === undefined) throw new Error('a cluster has two nodes at least');
  const [fromId, toId] = [await from.command('CLUSTER', 'MYID'), await to.command('CLUSTER', 'MYID')];
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(fromId));
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(toId));
  for (;;) {
    const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[];
    if (keys.length === 0) break;
    await from.command('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...keys);
  }
  for (const server of [to, from, ...cluster.servers])
    await server.command('CLUSTER', 'SETSLOT', slot, 'NODE', String(toId));
}

test('a slot that moves while calls wait costs nobody a turn', async () => {
  const runs = new Runs();
  const apps = [
    await startApp({ connection: client, ttl: '1m' }),
    await startApp({ connection: second, ttl: '1m' }),
  ];
  const holder = await hold(apps[0] as TestApp, 'lock');
  const calls = await standing(runs, apps, 20);
  const moved = moveSlot('lock');
  await holder.end();
  await moved;
  for (const result of await Promise.all(calls)) expect(result).toMatchObject({ ran: true });
  expect(runs).toMatchObject({ order: inOrder(20), overlaps: [] });
});
