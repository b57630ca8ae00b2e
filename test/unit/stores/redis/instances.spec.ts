import { describe, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Beats, type ShownJob } from '../../../../lib/insight/beats.js';
import { type Beat, INSTANCES_KEPT, type KnownJob } from '../../../../lib/contract/history-store.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { commandsDuring } from '../../../support/local-redis.js';
import { until } from '../../../support/until.js';
import { ownStore } from './support/own-redis.js';

const KEYS = ['history', 'places'].map((end) => `{scheduler:instances}:state:${end}`);

let client: Redis;
let store: RedisLockStore;

ownStore((...own) => ([client, store] = own));

const JOBS: KnownJob[] = [
  { job: 'a', lock: 'a', kind: 'cron', schedule: '* * * * *', enabled: true, overdue: 60_000 },
];
const FACTS = { startedAt: 5, every: 30_000, leads: ['main'], left: false };
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

describe('an instance', () => {
  test('is remembered with its beat, and with the list of its jobs, which it tells once', async () => {
    const before = await now();
    expect(await store.history.beat(beatOf())).toMatchObject({ known: false });
    expect(await store.history.beat(beatOf({ jobs: JOBS }))).toMatchObject({ known: true });
    const commands = await commandsDuring(client, () => store.history.beat(beatOf()));
    expect(commands.length).toBeLessThanOrEqual(3);
    const ofBrief = await commandsDuring(client, () => store.history.beat(beatOf({ brief: true })));
    expect(ofBrief.filter(([name]) => name === 'evalsha')).toHaveLength(1);
    const { time = 0, known } = await store.history.beat(beatOf({ instance: 'second' }));
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

  test('leaves nothing behind where nobody beats any more', async () => {
    await store.history.beat(beatOf({ jobs: JOBS }));
    const keys = await client.keys('*');
    expect(keys.sort()).toEqual(KEYS);
    for (const key of keys) expect(await client.pttl(key)).toBeGreaterThan(INSTANCES_KEPT - 60_000);
  });

  test('is kept in one slot, under the keyPrefix and under that of the client', async () => {
    const prefixed = client.duplicate({ keyPrefix: 'app:', disconnectTimeout: 100 });
    await prefixed.ping();
    const other = new RedisLockStore(prefixed, { keyPrefix: 'jobs' });
    await other.history.beat(beatOf({ jobs: JOBS }));
    expect(await other.history.instances()).toMatchObject([{ jobs: JOBS }]);
    expect((await client.keys('*')).sort()).toEqual(
      ['history', 'places'].map((end) => `app:{app:jobs:instances}:state:${end}`),
    );
    await other.close();
    prefixed.disconnect();
    expect(await ids()).toEqual([]);
  });

  test('is unknown to a store that has none', async () => {
    expect(await store.history.instances()).toEqual([]);
  });
});

test('a fleet of 200 sends less than eight commands per second: a beat is one, but for one in a quarter of an hour', async () => {
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
    const jobs = () => [{ ...JOBS[0], next: 7 } as ShownJob];
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
    expect(commands).toHaveLength(instances * rounds);
    const perSecond = ((commands.length / instances) * fleet) / ((clock.now() - from) / 1_000);
    expect(perSecond).toBeLessThan(8);
  } finally {
    random.mockRestore();
    await Promise.all(beats.map((each) => each.stop()));
  }
});
