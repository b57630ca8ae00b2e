import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { LockStore } from '../../../lib/index.js';
import { lockKeys, OF_HISTORY } from '../../../lib/stores/redis/keys.js';
import { RedisLockStore } from '../../../lib/stores/redis/index.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { MongoLockStore } from '../../../lib/stores/mongo/index.js';
import { farStores } from '../../contract/support/document-subject.js';
import type { TestDatabase, TestPool } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { provideMongo, testMongo } from '../../support/mongo-server.js';
import { provideRedis, uniquePrefix } from '../../support/redis-server.js';
import { until } from '../../support/until.js';

export const HOUR = 3_600_000;

/** A store, and what can happen to it. What a test needs of it is the same everywhere, however it is done. */
export interface StoreSubject {
  /** Stores over the same data, as several instances have. */
  readonly stores: readonly [LockStore, ...LockStore[]];
  /** Whether time passes by itself. */
  readonly isTimed: boolean;
  /** The lease of a lock ends by itself. */
  expire(name: string): Promise<void>;
  /** The time of the one that is called is over. */
  pass(name: string): Promise<void>;
  /** What is remembered of a lock, and of instances whose names begin with its name, becomes so much older, ms. Its lease may end. */
  age(name: string, ms: number): Promise<void>;
  /**
   * Time passes between two steps, as much as the store's clock can tell: what comes to two instances in one moment of that clock has no
   * order. Absent: some always passes.
   */
  tick?(): Promise<void>;
  /** What is too old or too much is deleted, where that waits for its turn. */
  settle(): Promise<void>;
  /** Whether then no more is left than was asked for. Redis keeps some more, and so does each of several instances, which counts its own. */
  readonly trims: boolean;
}

/** A server with a {@link StoreSubject} on it. */
export interface ServedSubject extends StoreSubject {
  close(): Promise<void>;
}

/** A store in memory, with a clock that is moved by hand. Aging moves all of it, so leases end. @param ttl of all leases, ms */
export const manualSubject = (make: (clock: ManualClock) => LockStore, ttl = HOUR): StoreSubject => {
  const clock = new ManualClock();
  return {
    stores: [make(clock)],
    isTimed: false,
    expire: () => clock.advance(ttl + 1),
    pass: () => clock.advance(2_001),
    age: (_name, ms) => clock.advance(ms),
    settle: () => Promise.resolve(),
    trims: true,
  };
};

/** Three instances on one place that takes time to answer. */
export const farSubject = (): StoreSubject => {
  const clock = new ManualClock();
  const { store, others } = farStores(clock);
  return {
    ...manualSubject(() => store),
    stores: [store, ...others],
    expire: () => clock.advance(HOUR + 1),
    pass: () => clock.advance(2_001),
    age: (_name, ms) => clock.advance(ms),
    tick: () => clock.advance(1),
  };
};

/** Three instances on one Redis. */
export async function redisSubject(): Promise<ServedSubject> {
  const server = await provideRedis();
  const clients = [1, 2, 3].map(() => new Redis(server.url)) as [Redis, Redis, Redis];
  const [client] = clients;
  const keyPrefix = uniquePrefix('model');
  const stores = clients.map((each) => new RedisLockStore(each, { keyPrefix }));
  const [store, ...others] = stores;
  if (store === undefined) throw new Error('no client');
  await Promise.all(stores.map((each) => each.init()));
  const key = (name: string): string => `${keyPrefix}:${name}:lock`;
  // Time itself ends it, only sooner.
  const end = async (name: string): Promise<void> => {
    await client.pexpire(key(name), 1);
    await until(async () => (await client.exists(key(name))) === 0, { interval: 1 });
  };
  return {
    stores: [store, ...others],
    isTimed: true,
    expire: end,
    pass: end,
    async age(name, ms) {
      const keys = lockKeys(key(name), '');
      const [, state] = keys;
      await ageEntries(client, OF_HISTORY.of(keys), ms, () => true);
      for (const [field, value] of Object.entries(await client.hgetall(state))) {
        const [, due, interval] = /^next (\d+) (\d+)$/.exec(value) ?? [];
        if (due !== undefined) await client.hset(state, field, `next ${Number(due) - ms} ${interval}`);
      }
      const instances = OF_HISTORY.of(lockKeys(`${keyPrefix}:instances`, ''));
      await ageEntries(
        client,
        instances,
        ms,
        (id) => /^\["(instance|dates)/.test(id) && id.includes(`"${name}`),
      );
    },
    settle: async () => void (await Promise.all(stores.map((each) => each.history.flush()))),
    trims: false,
    async close() {
      for (const each of await client.keys(`${keyPrefix}:*`)) await client.del(each);
      for (const each of clients) each.disconnect();
      await server.stop();
    },
  };
}

/** Each of these entries came so much sooner: see entry-scripts.ts. */
async function ageEntries(
  client: Redis,
  [entries = '', order = '']: readonly string[],
  ms: number,
  isAged: (id: string) => boolean,
): Promise<void> {
  for (const [field, stored] of Object.entries(await client.hgetall(entries))) {
    const [head, until, at, place] = /^([^ ]+) ([^ ]+) ([^ ]+) /.exec(stored) ?? [];
    if (head === undefined || !field.startsWith('"[') || !isAged(JSON.parse(field) as string)) continue;
    const [kind, job] = stored.slice(head.length).split(' ').slice(2);
    const [ends, came, stands] = [Number(until) - ms, Number(at) - ms, Number(place) - ms * 1_000];
    await client.hset(
      entries,
      field,
      `${ends} ${came} ${stands} ${stored.slice(head.length)}`,
      'earliest',
      '0',
    );
    await client.zadd(order, stands, `${kind} ${job} ${field}`);
  }
}

/** Three instances on one database, each with a pool. */
export async function databaseSubject(database: TestDatabase): Promise<ServedSubject> {
  const server = await database.provide();
  const pools = [1, 2, 3].map(() => database.pool(server.url)) as [TestPool, TestPool, TestPool];
  const [pool] = pools;
  const table = uniqueTable('model');
  const stores = pools.map((each) => each.store({ table }));
  const [store, ...others] = stores;
  if (store === undefined) throw new Error('no pool');
  await Promise.all(stores.map((each) => each.init()));
  const ago =
    database.name === 'MySQL'
      ? `TIMESTAMPADD(MICROSECOND, -1000, UTC_TIMESTAMP(6))`
      : `timezone('utc', clock_timestamp()) - interval '1 millisecond'`;
  /** Changes what is in the column beside the lock. */
  const edit = async (name: string, change: (state: string) => string): Promise<void> => {
    const [row] = await pool.rows(`SELECT state FROM ${table} WHERE name = ?`, [name]);
    const state = row?.['state'];
    if (typeof state !== 'string') return;
    // With a version of its own, as each write.
    const values = [change(state), randomUUID(), name];
    await pool.write(`UPDATE ${table} SET state = ?, version = ? WHERE name = ?`, values);
  };
  return {
    stores: [store, ...others],
    isTimed: true,
    expire: async (lock) =>
      void (await pool.write(`UPDATE ${table} SET lock_until = ${ago} WHERE name = ?`, [lock])),
    async pass(lock) {
      // Who is called is written when somebody looks.
      const look = { name: lock, token: randomUUID(), ttl: HOUR, holder: 'host' };
      if ((await store.acquire(look)).acquired) throw new Error('nobody is called');
      await edit(lock, (text) => {
        const state = JSON.parse(text) as { line: { called?: { until: number } } };
        if (state.line.called === undefined) throw new Error('nobody is called');
        state.line.called.until = 0;
        return JSON.stringify(state);
      });
    },
    async age(name, ms) {
      const times = ['noted_at', 'expires_at'].map((column) => `${column} = ${column} - ${ms}`).join(', ');
      await pool.write(
        `UPDATE ${table}_entries SET ${times}, place = place - ${ms * 1_000} WHERE name = ? OR id LIKE ?`,
        [name, `%${name}%`],
      );
      await edit(name, (state) =>
        state.replaceAll(/("due": ?)(\d+)/g, (_, text: string, due) => `${text}${Number(due) - ms}`),
      );
    },
    settle: async () => void (await Promise.all(stores.map((each) => each.close()))),
    // Each instance counts what it has written itself.
    trims: false,
    async close() {
      for (const each of ['', '_entries']) await pool.write(`DROP TABLE IF EXISTS ${table}${each}`);
      await Promise.all(pools.map((each) => each.end()));
      await server.stop();
    },
  };
}

/** Three instances on one MongoDB, each with a client. */
export async function mongoSubject(): Promise<ServedSubject> {
  const server = await provideMongo();
  const clients = [1, 2, 3].map(() => testMongo(server.url));
  const name = uniqueTable('model');
  const stores = clients.map((client) => new MongoLockStore(client, { collection: name }));
  const [store, ...others] = stores;
  const db = clients[0]?.db();
  if (store === undefined || db === undefined) throw new Error('no client');
  const [locks, entries] = [
    db.collection<{ _id: string; state: string }>(name),
    db.collection(`${name}_entries`),
  ];
  const earlier = (time: unknown, ms: number): Date => new Date(Number(time) - ms);
  return {
    stores: [store, ...others],
    isTimed: true,
    expire: async (_id) => void (await locks.updateOne({ _id }, { $set: { lockUntil: new Date(1) } })),
    async pass(lock) {
      // Who is called is written when somebody looks.
      const look = { name: lock, token: randomUUID(), ttl: HOUR, holder: 'host' };
      if ((await store.acquire(look)).acquired) throw new Error('nobody is called');
      const text = (await locks.findOne({ _id: lock }))?.state ?? '{}';
      const state = JSON.parse(text) as { line?: { called?: { until: number } } };
      if (state.line?.called === undefined) throw new Error('nobody is called');
      state.line.called.until = 0;
      const $set = { state: JSON.stringify(state), version: randomUUID() };
      await locks.updateOne({ _id: lock }, { $set });
    },
    tick: () => sleep(2),
    async age(lock, ms) {
      const found = await entries.find({}).toArray();
      for (const { _id, at, expiresAt, place, ...entry } of found) {
        if (entry['lock'] !== lock && !String(entry['id']).includes(lock)) continue;
        const times = { at: earlier(at, ms), expiresAt: earlier(expiresAt, ms), place: place - ms * 1_000 };
        await entries.updateOne({ _id }, { $set: times });
      }
      const state = (await locks.findOne({ _id: lock }))?.state;
      const older = (text: string): string =>
        text.replaceAll(/("due": ?)(\d+)/g, (_, key: string, due) => `${key}${Number(due) - ms}`);
      if (state !== undefined) await locks.updateOne({ _id: lock }, { $set: { state: older(state) } });
    },
    settle: async () => void (await Promise.all(stores.map((each) => each.close()))),
    // Each instance counts what it has written itself.
    trims: false,
    async close() {
      for (const each of [locks, entries]) await each.drop();
      await Promise.all(clients.map((client) => client.close()));
      await server.stop();
    },
  };
}
