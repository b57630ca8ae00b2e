import { describe, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Beats, type ShownJob } from '../../../../lib/insight/beats.js';
import {
  type Beat,
  INSTANCES_KEPT,
  type InstanceRecord,
  type KnownJob,
  MAX_INSTANCES,
  UNDATED,
} from '../../../../lib/contract/history-store.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { commandsDuring } from '../../../support/local-redis.js';
import { until } from '../../../support/until.js';
import { ownStore } from './support/own-redis.js';

const INSTANCES = 'scheduler:instances';
const SEEN = `{${INSTANCES}}:seen`;

let client: Redis;
let store: RedisLockStore;

ownStore((...own) => ([client, store] = own));

const JOBS: KnownJob[] = [
  { job: 'a', lock: 'a', kind: 'cron', schedule: '* * * * *', enabled: true, overdue: 60_000 },
];
const FACTS = { startedAt: 5, every: 30_000, leads: ['main'], next: [7], last: [null], left: false };
const beatOf = (fields: Partial<Beat> = {}): Beat => ({
  instance: 'host:1:abc',
  catalogue: 'list-1',
  version: '1.2',
  clockOffset: -3,
  ...FACTS,
  ...fields,
});
const now = async (): Promise<number> => Number((await client.time())[0]) * 1_000;
const ids = async (): Promise<string[]> =>
  (await store.history.instances()).map(({ instance }) => instance).sort();

test('the server leaves out the dates of instances if nobody asks for them, and nothing else', async () => {
  await store.history.beat(beatOf({ jobs: JOBS, version: ',"next":[', left: true }));
  const [[brief], [whole]] = [
    await store.history.instances(undefined, UNDATED),
    await store.history.instances(),
  ];
  expect(whole).toMatchObject({ next: [7], last: [null], left: true, version: ',"next":[' });
  expect(brief).toEqual({ ...whole, next: [], last: [], time: expect.any(Number) });
});

test('an instance that was not seen since is not read again, nor a list of jobs', async () => {
  const look = (): Promise<InstanceRecord[]> => store.history.instances(undefined, UNDATED);
  const texts = async (work: () => Promise<unknown>): Promise<string> =>
    JSON.stringify(await commandsDuring(client, work));
  await store.history.beat(beatOf({ instance: 'gone', jobs: JOBS, version: '1', left: true }));
  await store.history.beat(beatOf({ instance: 'up', version: '1' }));
  const seen = Date.now();
  // What is seen in the millisecond of a look may change within it.
  await until(async () => (await look()).every(({ time, seenAt }) => time > seenAt));
  const before = await look();
  expect(await texts(look)).not.toMatch(/"gone"|"up"|list-1/);

  await store.history.beat(beatOf({ instance: 'up', version: '2', catalogue: 'list-2', jobs: [] }));
  let after: InstanceRecord[] = [];
  const asked = await texts(async () => (after = await look()));
  expect(asked).toMatch(/"up"/);
  expect(asked).toMatch(/list-2/);
  expect(asked).not.toMatch(/"gone"|list-1/);
  const told = (all: readonly InstanceRecord[]): unknown[] =>
    all.map(({ instance, version, jobs, next }) => ({ instance, version, jobs, next })).reverse();
  const gone = { instance: 'gone', version: '1', jobs: JOBS, next: [] };
  expect(told(after)).toEqual([gone, { instance: 'up', version: '2', jobs: [], next: [] }]);
  // The answer of before is as it was.
  expect(told(before)).toEqual([gone, { instance: 'up', version: '1', jobs: JOBS, next: [] }]);
  expect(before.every(({ time }) => time <= (after[0]?.time ?? 0))).toBe(true);

  await client.hdel(INSTANCES, 'gone');
  await client.zrem(SEEN, 'gone');
  expect(told(await look())).toHaveLength(1);
  expect(await store.history.instances()).toMatchObject([{ next: FACTS.next }]);
  await client.zadd(SEEN, seen, 'up');
  await client.hset(INSTANCES, 'up', '{');
  const unreadable = jest.fn();
  expect(await store.history.instances(unreadable, UNDATED)).toEqual([]);
  expect(unreadable).toHaveBeenCalledTimes(1);
  expect(await store.history.instances(unreadable, UNDATED)).toEqual([]);
  expect(unreadable).toHaveBeenCalledTimes(2);
});

test('the dates of those instances are read for which somebody asks', async () => {
  const { history } = store;
  for (const instance of ['a', 'b', 'c']) await history.beat(beatOf({ instance, jobs: JOBS }));
  const seen = await history.instances();
  await until(async () =>
    (await history.instances(undefined, UNDATED)).every(({ time, seenAt }) => time > seenAt),
  );
  const dates = async (isDated?: (instance: string) => boolean): Promise<unknown[]> =>
    (await history.instances(undefined, isDated)).map(({ instance, next }) => [instance, ...next]);
  const inOrder = (isDated: (instance: string) => boolean): unknown[] =>
    seen.map(({ instance }) => (isDated(instance) ? [instance, 7] : [instance]));
  for (const asked of ['abc', 'b', '', 'ac', 'abc', 'c'])
    expect(await dates((instance) => asked.includes(instance))).toEqual(
      inOrder((one) => asked.includes(one)),
    );
  expect(await dates()).toEqual(inOrder(() => true));
});

describe('a list of jobs', () => {
  const LISTS = `{${INSTANCES}}:jobs:`;
  const HOUR = 3_600_000;
  const kept = (catalogue: string): Promise<number> => client.pttl(LISTS + catalogue);

  test('that no instance has any more is forgotten in an hour: jobs that come and go leave no pile of lists', async () => {
    for (let n = 1; n <= 300; n++) await store.history.beat(beatOf({ catalogue: `list-${n}`, jobs: JOBS }));
    const keys = await client.keys(`${LISTS}*`);
    const left = await Promise.all(keys.map(async (key) => [key, await client.pttl(key)] as const));
    expect(left.filter(([, ms]) => ms > HOUR).map(([key]) => key)).toEqual([`${LISTS}list-300`]);
    expect(left.every(([, ms]) => ms > 0)).toBe(true);
    expect(await store.history.instances()).toMatchObject([{ jobs: JOBS }]);
  });

  test('that another instance has is kept as long as that one is remembered, also if it is gone', async () => {
    await store.history.beat(beatOf({ instance: 'gone', jobs: JOBS }));
    await store.history.beat(beatOf());
    await store.history.beat(beatOf({ catalogue: 'list-2', jobs: [] }));
    expect(await kept('list-1')).toBeGreaterThan(HOUR);
    expect((await store.history.instances()).find(({ instance }) => instance === 'gone')).toMatchObject({
      jobs: JOBS,
    });
    await store.history.beat(beatOf({ instance: 'gone', catalogue: 'list-2' }));
    expect(await kept('list-1')).toBeLessThanOrEqual(HOUR);
  });

  test('that comes back within the hour is kept again, and one whose name begins like it is another one', async () => {
    await store.history.beat(beatOf({ jobs: JOBS }));
    await store.history.beat(beatOf({ instance: 'second', catalogue: 'list-10', jobs: JOBS }));
    await store.history.beat(beatOf({ catalogue: 'list-2', jobs: [] }));
    expect(await kept('list-1')).toBeLessThanOrEqual(HOUR);
    expect(await store.history.beat(beatOf())).toMatchObject({ known: true });
    expect(await kept('list-1')).toBeGreaterThan(HOUR);
    expect(await kept('list-2')).toBeLessThanOrEqual(HOUR);
  });
});

describe('an instance', () => {
  test('is remembered with its beat, and with the list of its jobs, which it tells once', async () => {
    const before = await now();
    expect(await store.history.beat(beatOf())).toMatchObject({ known: false });
    expect(await store.history.beat(beatOf({ jobs: JOBS }))).toMatchObject({ known: true });
    const commands = await commandsDuring(client, () => store.history.beat(beatOf()));
    expect(commands).toHaveLength(1);
    const { time, known } = await store.history.beat(beatOf({ instance: 'second' }));
    expect([known, time >= before]).toEqual([true, true]);
    const shown = await store.history.instances();
    const facts = { ...FACTS, version: '1.2', clockOffset: -3, jobs: JOBS, seenAt: expect.any(Number) };
    expect(shown).toHaveLength(2);
    expect(shown).toEqual(
      expect.arrayContaining([
        { ...facts, instance: 'second', time: expect.any(Number) },
        { ...facts, instance: 'host:1:abc', time: expect.any(Number) },
      ]),
    );
    for (const { seenAt, time: looked } of shown) {
      expect(seenAt).toBeGreaterThanOrEqual(before);
      expect(looked).toBeGreaterThanOrEqual(seenAt);
    }
  });

  test('is shown as its newest beat tells', async () => {
    await store.history.beat(beatOf({ jobs: JOBS }));
    await store.history.beat(beatOf({ left: true, catalogue: 'list-2', jobs: [] }));
    expect(await store.history.instances()).toMatchObject([{ left: true, jobs: [] }]);
  });

  test('is forgotten after its time, a few with each beat of another', async () => {
    await store.history.beat(beatOf());
    await client.zadd(SEEN, (await now()) - INSTANCES_KEPT - 60_000, 'host:1:abc');
    for (let i = 0; i < 25; i++) {
      await client.zadd(SEEN, i, `old-${i}`);
      await client.hset(INSTANCES, `old-${i}`, '{}');
    }
    // Nobody is shown that is only waiting to be removed.
    expect(await ids()).toEqual([]);
    for (const left of [16, 6, 0]) {
      await store.history.beat(beatOf({ instance: 'second' }));
      expect(await client.zcard(SEEN)).toBe(left + 1);
      expect(await client.hlen(INSTANCES)).toBe(left + 1);
    }
    expect(await ids()).toEqual(['second']);
  });

  test('is forgotten where there are too many', async () => {
    const time = await now();
    const seen = Array.from({ length: MAX_INSTANCES + 5 }, (_, i) => [time - 10_000 + i, `i-${i}`]).flat();
    await client.zadd(SEEN, ...seen);
    await client.hset(INSTANCES, Object.fromEntries(seen.map((each) => [each, JSON.stringify(beatOf())])));
    expect(await ids()).toHaveLength(MAX_INSTANCES);
    await store.history.beat(beatOf());
    const left = await ids();
    expect(left).toHaveLength(MAX_INSTANCES);
    expect(left).not.toContain('i-5');
    expect(left).toContain('i-6');
    expect(left).toContain('host:1:abc');
  });

  test('leaves nothing behind where nobody beats any more', async () => {
    await store.history.beat(beatOf({ jobs: JOBS }));
    const keys = await client.keys('*');
    expect(keys.sort()).toEqual([INSTANCES, `{${INSTANCES}}:jobs:list-1`, SEEN].sort());
    for (const key of keys) expect(await client.pttl(key)).toBeGreaterThan(INSTANCES_KEPT - 60_000);
  });

  test('is kept in one slot, under the keyPrefix and under that of the client', async () => {
    const prefixed = client.duplicate({ keyPrefix: 'app:', disconnectTimeout: 100 });
    await prefixed.ping();
    const other = new RedisLockStore(prefixed, { keyPrefix: 'jobs' });
    await other.history.beat(beatOf({ jobs: JOBS }));
    expect(await other.history.instances()).toMatchObject([{ jobs: JOBS }]);
    expect(await client.keys('*')).toEqual(
      expect.arrayContaining(['app:jobs:instances', 'app:{app:jobs:instances}:seen']),
    );
    await other.close();
    prefixed.disconnect();
    expect(await ids()).toEqual([]);
  });

  test('is unknown to a store that has none', async () => {
    expect(await store.history.instances()).toEqual([]);
  });
});

test('a fleet of 200 sends less than ten commands per second: each beat is one', async () => {
  const [instances, fleet, rounds, every] = [5, 200, 20, 30_000];
  const clock = new ManualClock();
  const { history } = store;
  // The server has the script, as it does but for the first beat of all.
  await history.beat(beatOf({ jobs: JOBS }));
  let answered = 0;
  const beat: typeof history.beat = async (given) => {
    const result = await history.beat(given);
    answered += 1;
    return result;
  };
  const beats = Array.from({ length: instances }, (_, i) => {
    const jobs = () => [{ ...JOBS[0], next: 7, last: undefined } as ShownJob];
    return new Beats(Object.assign(Object.create(history) as typeof history, { beat }), clock, {
      instance: `host:${i}`,
      version: undefined,
      every,
      jobs,
      leads: () => [],
      hung: () => [],
      kept: { count: 1, age: 1 },
      answered: () => undefined,
    });
  });
  // The most that beats may come early.
  const random = jest.spyOn(Math, 'random').mockReturnValue(1);
  try {
    for (const each of beats) each.start();
    await until(() => answered >= instances);
    const from = clock.now();
    const commands = await commandsDuring(client, async () => {
      for (let round = 1; round <= rounds; round++) {
        await clock.advance(every * 0.9);
        await until(() => answered >= instances * (round + 1));
      }
    });
    expect(commands.map(([command]) => command)).toEqual(Array(instances * rounds).fill('evalsha'));
    const perSecond = ((commands.length / instances) * fleet) / ((clock.now() - from) / 1_000);
    expect(perSecond).toBeCloseTo(fleet / 27);
    expect(perSecond).toBeLessThan(10);
  } finally {
    random.mockRestore();
    await Promise.all(beats.map((each) => each.stop()));
  }
});
