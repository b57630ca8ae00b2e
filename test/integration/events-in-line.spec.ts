import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  currentLock,
  type EventFacts,
  type LockStore,
  MemoryLockStore,
  SchedulerLock,
  type SchedulerLockOptions,
  SchedulerLockService,
} from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { provideRedis, type RedisServer } from '../support/redis-server.js';
import { DATABASES } from '../support/database.js';
import { uniqueTable } from '../support/database-server.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';

/* Calls by hand that find their lock taken, and are kept until it is free. */

interface Ran {
  readonly id: string;
  readonly event: EventFacts | undefined;
  readonly fencingToken: number | undefined;
}

/** A provider whose method is called by hand, and notes its runs. */
function calendar(options: Partial<SchedulerLockOptions<[id: string]>> = {}) {
  const ran: Ran[] = [];
  const work = { of: async (_id: string): Promise<void> => undefined };
  @Injectable()
  class Calendar {
    @SchedulerLock<[id: string]>({
      name: 'calendar',
      onHeld: 'queue',
      queue: { key: (id) => id },
      ...options,
    })
    async changed(id: string): Promise<string> {
      const { event, fencingToken } = currentLock();
      ran.push({ id, event, fencingToken });
      await work.of(id);
      return id;
    }
  }
  return { Calendar, ran, work };
}

/** Takes the lock until the test lets it go. */
async function hold(app: TestApp, name = 'calendar') {
  const [entered, leave] = [gate(), gate()];
  const run = app.get(SchedulerLockService).run(name, async () => {
    entered.open();
    await leave.opened;
  });
  await entered.opened;
  return async () => {
    leave.open();
    await run;
  };
}

/** Each test has locks of its own, on every store. */
const STORES: readonly [
  name: string,
  open: () => Promise<{ store: () => LockStore; stop(): Promise<void> }>,
][] = [
  [
    'memory',
    async () => {
      const store = new MemoryLockStore();
      return { store: () => store, stop: async () => undefined };
    },
  ],
  [
    'Redis',
    async () => {
      const server: RedisServer = await provideRedis();
      const keyPrefix = `events-${randomUUID()}`;
      return { store: () => new RedisLockStore(server.url, { keyPrefix }), stop: () => server.stop() };
    },
  ],
  ...DATABASES.map((database): (typeof STORES)[number] => [
    database.name,
    async () => {
      const server = await database.provide();
      const pool = database.pool(server.url);
      const table = uniqueTable('events');
      const drop = async (): Promise<void> => {
        for (const each of [table, `${table}_events`]) await pool.write(`DROP TABLE IF EXISTS ${each}`);
        await pool.end();
        await server.stop();
      };
      return { store: () => pool.store({ table }), stop: drop };
    },
  ]),
];

const ids = (ran: readonly Ran[]): string[] => ran.map(({ id }) => id);

describe.each(STORES)('on %s', (_, open) => {
  let fleet: Awaited<ReturnType<typeof open>>;
  beforeEach(async () => void (fleet = await open()));
  afterEach(async () => {
    await closeApps();
    await fleet.stop();
  });

  test('a call that finds its lock taken is kept, and runs with its arguments when the lock is free', async () => {
    const { Calendar, ran } = calendar();
    const app = await startApp([Calendar], { store: fleet.store() });
    expect(await app.get(Calendar).changed('free')).toBe('free');
    const letGo = await hold(app);
    expect(await app.get(Calendar).changed('kept')).toBeUndefined();
    expect(ids(ran)).toEqual(['free']);
    await letGo();
    await until(() => ran.length === 2);
    expect(ran[1]).toMatchObject({ id: 'kept', event: { key: 'kept', delivery: 1, merged: 0 } });
    expect(ran[0]?.event).toBeUndefined();
    expect(app.events.filter(({ type }) => type === 'queued')).toMatchObject([{ key: 'kept', merged: 0 }]);
    expect(app.events.filter(({ type }) => type === 'skipped')).toEqual([]);
  });

  test('kept calls run in their order, those with the same key once with the newest arguments, each with a greater fencing token', async () => {
    const { Calendar, ran } = calendar({ queue: { key: (id) => id.slice(0, 1) } });
    const app = await startApp([Calendar], { store: fleet.store() });
    const letGo = await hold(app);
    for (const id of ['a1', 'b1', 'c1', 'a2', 'b2']) await app.get(Calendar).changed(id);
    await letGo();
    await until(() => ran.length === 3);
    expect(ids(ran)).toEqual(['a2', 'b2', 'c1']);
    expect(ran.map(({ event }) => event?.merged)).toEqual([1, 1, 0]);
    const tokens = ran.map(({ fencingToken = 0 }) => fencingToken);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  test('calls that come while a run goes on get exactly one more run', async () => {
    const { Calendar, ran, work } = calendar({ onHeld: 'once-more', queue: undefined });
    const app = await startApp([Calendar], { store: fleet.store() });
    const [first, second] = [gate(), gate()];
    work.of = (id) => (id === '1' ? first.opened : id === '3' ? second.opened : Promise.resolve());
    const run = app.get(Calendar).changed('1');
    await until(() => ran.length === 1);
    await app.get(Calendar).changed('2');
    await app.get(Calendar).changed('3');
    first.open();
    await run;
    await until(() => ran.length === 2);
    // That one runs already.
    await app.get(Calendar).changed('4');
    await app.get(Calendar).changed('5');
    second.open();
    await until(() => ran.length === 3);
    expect(ids(ran)).toEqual(['1', '3', '5']);
  });
});
