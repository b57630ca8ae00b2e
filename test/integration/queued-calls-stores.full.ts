import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import {
  MemoryLockStore,
  type SchedulerLockEvent,
  SchedulerLock,
  SchedulerLockService,
} from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, startFailure, type TestApp } from './app.js';
import { calendar, hold, ids } from './support/calendar.js';
import { QUEUED_CALL_STORES, type QueuedCallFleet } from './support/queued-call-stores.js';
import { locksOnly } from '../support/locks-only.js';

/* Calls by hand that find their lock taken, and are queued. Those that come at the moment of a release: queued-calls-race. */

describe.each(QUEUED_CALL_STORES)('on %s', (_, open) => {
  let fleet: QueuedCallFleet;
  beforeEach(async () => void (fleet = await open()));
  afterEach(async () => {
    await closeApps();
    await fleet.stop();
  });
  const start = (providers: Parameters<typeof startApp>[0]): Promise<TestApp> =>
    startApp(providers, { store: fleet.store() });

  test('a call that finds its lock taken is queued, and runs with its arguments when the lock is free', async () => {
    const { Calendar, ran } = calendar();
    const app = await start([Calendar]);
    expect(await app.get(Calendar).changed('free')).toBe('free');
    const letGo = await hold(app);
    expect(await app.get(Calendar).changed('kept')).toBeUndefined();
    expect(ids(ran)).toEqual(['free']);
    await letGo();
    await until(() => ran.length === 2);
    expect(ran[1]).toMatchObject({ id: 'kept', queuedCall: { key: 'kept', delivery: 1, merged: 0 } });
    expect(ran[0]?.queuedCall).toBeUndefined();
    expect(app.events.filter(({ type }) => type === 'skipped')).toMatchObject([
      { reason: 'queued', key: 'kept', merged: 0 },
    ]);
  });

  test('queued calls run in their order, those with the same key once with the newest arguments, each with a greater fencing token', async () => {
    const { Calendar, ran } = calendar({ queue: { key: (id) => id.slice(0, 1) } });
    const app = await start([Calendar]);
    const letGo = await hold(app);
    for (const id of ['a1', 'b1', 'c1', 'a2', 'b2']) await app.get(Calendar).changed(id);
    await letGo();
    await until(() => ran.length === 3);
    expect(ids(ran)).toEqual(['a2', 'b2', 'c1']);
    expect(ran.map(({ queuedCall }) => queuedCall?.merged)).toEqual([1, 1, 0]);
    const tokens = ran.map(({ fencingToken = 0 }) => fencingToken);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  test('calls that wait and queued calls run in the order in which they came, also behind a queued call', async () => {
    const { Calendar, ran, work } = calendar();
    const app = await start([Calendar]);
    const first = gate();
    work.of = (id) => (id === '1' ? first.opened : Promise.resolve());
    const letGo = await hold(app);
    await app.get(Calendar).changed('1');
    await letGo();
    await until(() => ran.length === 1);
    const order = () => ran.map(({ id }) => id).join();
    const wait = async (id: string): Promise<unknown> => {
      const before = app.events.filter(({ type }) => type === 'waiting').length;
      const call = app
        .get(SchedulerLockService)
        .run(
          'calendar',
          { wait: '1m' },
          () => void ran.push({ id, queuedCall: undefined, fencingToken: undefined }),
        );
      await until(() => app.events.filter(({ type }) => type === 'waiting').length > before);
      return { call };
    };
    const calls = [await wait('2'), await app.get(Calendar).changed('3'), await wait('4')];
    first.open();
    await until(() => ran.length === 4);
    expect(order()).toBe('1,2,3,4');
    await Promise.all(calls);
  });

  test('calls that come while a run goes on get exactly one more run', async () => {
    const { Calendar, ran, work } = calendar({ onHeld: 'once-more', queue: undefined });
    const app = await start([Calendar]);
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

  test('who works off what two instances have queued does so in one go, and in order', async () => {
    const [ours, theirs] = [calendar({ queue: undefined }), calendar({ queue: undefined })];
    const [one, two] = [await start([ours.Calendar]), await start([theirs.Calendar])];
    const letGo = await hold(one);
    for (let i = 0; i < 20; i++)
      await (i % 2 === 0 ? one.get(ours.Calendar) : two.get(theirs.Calendar)).changed(String(i));
    await letGo();
    await until(() => ours.ran.length + theirs.ran.length === 20);
    const ran = [ours, theirs].flatMap((from) =>
      from.ran.map(({ id, fencingToken = 0 }) => ({ id, fencingToken, from })),
    );
    ran.sort((a, b) => a.fencingToken - b.fencingToken);
    expect(ran.map(({ id }) => id)).toEqual(Array.from(ran.keys(), String));
    // The first queued call, those until the first one has stood in line again, and the rest.
    const handOvers = ran.filter(({ from }, i) => i > 0 && from !== ran[i - 1]?.from);
    expect(handOvers.length).toBeLessThanOrEqual(3);
  });

  test('a run that throws leaves a dead letter, which is shown and can be put back', async () => {
    const { Calendar, ran, work } = calendar();
    const app = await start([Calendar]);
    work.of = () => Promise.reject(new Error('no such calendar'));
    const letGo = await hold(app);
    await app.get(Calendar).changed('a');
    await letGo();
    await until(() => app.events.some(({ type }) => type === 'dead-lettered'));
    expect(app.logs.own.filter((line) => line.startsWith('error'))).toEqual([
      expect.stringMatching(
        /Calendar.changed \[calendar\]: the queued call "a" will not be run any more \(failed, 1 delivery\)\. See inspect\(\); redeliver\('calendar'\) puts it back\. .*no such calendar/s,
      ),
    ]);
    const service = app.get(SchedulerLockService);
    await until(async () =>
      (await service.inspect()).some(({ name, state }) => name === 'calendar' && state === 'free'),
    );
    const info = (await service.inspect()).find(({ name }) => name === 'calendar');
    expect(info).toMatchObject({
      dead: [{ job: 'Calendar.changed', key: 'a', deliveries: 1, reason: 'failed' }],
    });
    work.of = async () => undefined;
    expect(await service.redeliver('calendar')).toBe(1);
    await until(() => ran.length === 2);
    expect(ran[1]?.queuedCall).toMatchObject({ key: 'a', delivery: 1 });
    await until(async () => {
      const now = (await service.inspect()).find(({ name }) => name === 'calendar');
      return now?.dead === undefined && now?.queued === undefined;
    });
  });

  test('a queue that is full refuses, with an error where the options say so', async () => {
    const { Calendar } = calendar({ queue: { max: 2 }, onSkip: 'throw' });
    const app = await start([Calendar]);
    const letGo = await hold(app);
    for (const id of ['a', 'b']) expect(await app.get(Calendar).changed(id)).toBeUndefined();
    await expect(app.get(Calendar).changed('c')).rejects.toMatchObject({
      code: 'LOCK_NOT_ACQUIRED',
      reason: 'queue-full',
    });
    const reasons = app.events.flatMap((event) => (event.type === 'skipped' ? [event.reason] : []));
    expect(reasons).toEqual(['queued', 'queued', 'queue-full']);
    await letGo();
  });

  test('what an instance that closes has queued runs on another one', async () => {
    const { Calendar, ran } = calendar();
    const [one, two] = [await start([Calendar]), await start([Calendar])];
    const letGo = await hold(two);
    await one.get(Calendar).changed('a');
    await two.get(Calendar).changed('b');
    await one.close();
    await letGo();
    await until(() => ran.length === 2);
    expect(ids(ran)).toEqual(['a', 'b']);
  });

  test('a call in line that came first goes first, and the queued calls after it', async () => {
    const { Calendar, ran } = calendar({ queue: undefined });
    const [one, two] = [await start([Calendar]), await start([Calendar])];
    const order: string[] = [];
    const letGo = await hold(one);
    await one.get(Calendar).changed('a');
    const waiting = two
      .get(SchedulerLockService)
      .run('calendar', { wait: '1m' }, () => void order.push(`waiter after ${ids(ran).join()}`));
    await until(() => two.events.some(({ type }) => type === 'waiting'));
    await two.get(Calendar).changed('b');
    await letGo();
    await waiting;
    await until(() => ran.length === 2);
    expect(order).toEqual(['waiter after a']);
    expect(ids(ran)).toEqual(['a', 'b']);
  });
});

describe('a Redis that is out of memory', () => {
  let server: LocalRedis;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url);
  });
  afterEach(closeApps);
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });
  const start = (providers: Parameters<typeof startApp>[0]): Promise<TestApp> =>
    startApp(providers, {
      store: new RedisLockStore(server.url, { keyPrefix: `queued-calls-${randomUUID()}` }),
      ttl: 1_000,
    });
  const isFull = (full: boolean): Promise<unknown> => client.config('SET', 'maxmemory', full ? '1' : '0');

  test('queues no further call, says so, and still has those that were queued before', async () => {
    const { Calendar, ran } = calendar({ onSkip: 'throw' });
    const app = await start([Calendar]);
    const letGo = await hold(app);
    await app.get(Calendar).changed('before');
    await isFull(true);
    await expect(app.get(Calendar).changed('lost')).rejects.toMatchObject({
      reason: 'store-unavailable',
      cause: { message: expect.stringContaining('OOM') },
    });
    await letGo();
    const isQueued = (event: SchedulerLockEvent): boolean =>
      event.type === 'skipped' && event.reason === 'queued';
    expect(app.events.filter(isQueued)).toHaveLength(1);
    await isFull(false);
    await until(() => ran.length === 1);
    await app.get(Calendar).changed('after');
    await until(() => ran.length === 2);
    expect(ids(ran)).toEqual(['before', 'after']);
  });

  test.each([
    ['goes through', false],
    ['throws', true],
  ])('notes the end of a run that %s, and runs no call twice', async (_, throws) => {
    const { Calendar, ran, work } = calendar();
    const app = await start([Calendar]);
    const [entered, leave] = [gate(), gate()];
    work.of = async (id) => {
      if (id !== 'first') return;
      entered.open();
      await leave.opened;
      if (throws) throw new Error('no such calendar');
    };
    const letGo = await hold(app);
    for (const id of ['first', 'second']) await app.get(Calendar).changed(id);
    await letGo();
    await entered.opened;
    await isFull(true);
    leave.open();
    const isRun = (event: SchedulerLockEvent): boolean =>
      event.type === 'released' && event.job === 'Calendar.changed';
    await until(() => app.events.some(isRun));
    await isFull(false);
    await until(() => ran.length === 2);
    const service = app.get(SchedulerLockService);
    await until(async () => {
      const [info] = await service.inspect();
      return (
        info?.state === 'free' && info.queued === undefined && info.dead?.length === (throws ? 1 : undefined)
      );
    });
    expect(ids(ran)).toEqual(['first', 'second']);
  });
});

describe('arguments', () => {
  const cases: readonly [what: string, args: unknown[], message: RegExp][] = [
    ['a Date', [{ at: new Date(0) }], /argument 1\.at is an object of class Date/],
    ['a bigint', [['a', 1n]], /argument 1\[1\] is a bigint/],
    ['undefined between others', [undefined, 'a'], /argument 1 is undefined/],
    // oxlint-disable-next-line no-sparse-arrays -- it is what is refused
    ['a hole', [['a', , 'b']], /argument 1\[1\] is undefined/],
    ['NaN', ['a', { n: { m: NaN } }], /argument 2\.n\.m is NaN/],
    ['too much', ['x'.repeat(17_000)], /take 17004 bytes as JSON, more than 16384/],
    [
      'itself',
      [
        (() => {
          const a: unknown[] = [];
          a.push(a);
          return a;
        })(),
      ],
      /argument 1\[0\] contains itself/,
    ],
  ];

  test.each(cases)(
    'that are no plain values are refused with their path, before anything runs: %s',
    async (_, args, message) => {
      let runs = 0;
      @Injectable()
      class Jobs {
        @SchedulerLock({ name: 'any', onHeld: 'queue' })
        async any(..._args: unknown[]): Promise<void> {
          runs += 1;
        }
      }
      const app = await startApp([Jobs], { store: new MemoryLockStore() });
      await expect(app.get(Jobs).any(...args)).rejects.toThrow(message);
      expect(runs).toBe(0);
      await closeApps();
    },
  );
});

test('a key that no store can keep rejects its call, before anything runs', async () => {
  const { Calendar, ran } = calendar();
  const app = await startApp([Calendar], { store: new MemoryLockStore() });
  await expect(app.get(Calendar).changed('a\0')).rejects.toThrow(
    /Calendar\.changed: queue\.key gave a text with a NUL character/,
  );
  expect(ran).toEqual([]);
  await closeApps();
});

test('a call whose arguments cannot be read becomes a dead letter, without them in the log, and the next one runs', async () => {
  const store = new MemoryLockStore();
  const { Calendar, ran } = calendar({ queue: undefined });
  const app = await startApp([Calendar], { store });
  const letGo = await hold(app);
  const call = { name: 'calendar', job: 'Calendar.changed', priority: 0, max: 10, redeliver: 3 };
  await store.queuedCalls.enqueue({ ...call, id: 'text', args: 'secret' });
  await store.queuedCalls.enqueue({ ...call, id: 'object', args: '{"a":"secret"}' });
  await app.get(Calendar).changed('next');
  await letGo();
  await until(() => ran.length === 1);
  expect(ids(ran)).toEqual(['next']);
  const dead = app.events.filter(({ type }) => type === 'dead-lettered');
  expect(dead).toMatchObject([{ reason: 'failed' }, { reason: 'failed' }]);
  const errors = app.logs.own.filter((line) => line.startsWith('error'));
  expect(errors).toHaveLength(2);
  for (const line of errors) expect(line).toMatch(/the arguments of a queued call are no JSON array/);
  expect(app.logs.own.join()).not.toContain('secret');
  await closeApps();
});

test('options that make no sense stop the start, each with what to do', async () => {
  const key = 'id' as never;
  @Injectable()
  class Jobs {
    @Cron('0 0 1 1 *')
    @SchedulerLock({ name: 'a', onHeld: 'queue' })
    async a(): Promise<void> {}

    @SchedulerLock({ name: 'b', queue: { max: 1 } })
    async b(): Promise<void> {}

    @SchedulerLock({ name: 'c', onHeld: 'queue', queue: { max: 0, redeliver: -1, key, keys: 1 } as object })
    async c(): Promise<void> {}

    @SchedulerLock({ name: 'd', onHeld: 'once-more', queue: { key: '' } })
    async d(): Promise<void> {}

    @SchedulerLock({ name: 'e', onHeld: 'wait' as never })
    async e(): Promise<void> {}
  }
  const message = await startFailure(startApp([Jobs], { store: new MemoryLockStore() }));
  for (const part of [
    /Jobs\.a: onHeld: 'queue' is for methods that are called by hand.*Give `wait` instead/,
    /Jobs\.b: queue: it has no effect without onHeld/,
    /Jobs\.c: queue\.keys: there is no such option here\. Did you mean `key`\?/,
    /Jobs\.c: queue\.key: 'id' is no function/,
    /Jobs\.c: queue\.max: 0 is no whole number from 1 to 10000/,
    /Jobs\.c: queue\.redeliver: -1 is no whole number from 0 to 10000/,
    /Jobs\.d: queue\.key: onHeld: 'once-more' keeps one call of all/,
    /Jobs\.e: onHeld: 'wait' is not one of 'skip', 'queue', 'once-more'/,
  ])
    expect(message).toMatch(part);
});

test('a store that keeps no queued calls stops the start', async () => {
  const { Calendar } = calendar();
  const { acquire, extend, release } = new MemoryLockStore();
  const store = { ...locksOnly, acquire, extend, release };
  expect(await startFailure(startApp([Calendar], { store }))).toMatch(
    /Calendar\.changed: onHeld: the store keeps no queued calls/,
  );
});

test('without queued calls no instance takes calls that people make elsewhere, and none looks for queued calls', async () => {
  const { Calendar, ran } = calendar({ onHeld: 'skip', queue: undefined });
  const memory = new MemoryLockStore();
  const call = { name: 'calendar', job: 'Calendar.changed', priority: 0, max: 10, redeliver: 3 };
  await memory.queuedCalls.enqueue({ ...call, id: 'one', args: '[]' });
  const looks = jest.spyOn(memory.queuedCalls, 'left');
  const store = Object.assign(memory, { keeps: { lines: true, queuedCalls: false, histories: true } });
  const app = await startApp([Calendar], { store });
  const listed = async () => (await memory.history.instances()).flatMap(({ jobs }) => jobs);
  await until(async () => (await listed()).length > 0);
  expect((await listed()).map(({ takesCalls }) => takesCalls)).toEqual([undefined]);
  expect(await app.get(Calendar).changed('by hand')).toBe('by hand');
  expect(looks).not.toHaveBeenCalled();
  expect(ids(ran)).toEqual(['by hand']);
});
