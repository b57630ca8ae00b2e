import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Insight } from '../../lib/insight/insight.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import type { KnownJob } from '../../lib/contract/history-store.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { ticks } from '../unit/insight/support/facts.js';

const JOB = 'InvoiceJobs.send';
const MINUTE = 60_000;
const KNOWN = { job: JOB, lock: 'invoices', enabled: true, overdue: MINUTE } as const;

let redis: RedisServer;

beforeAll(async () => {
  redis = await provideRedis();
});
afterAll(() => redis.stop());

test.each<[string, KnownJob, number | undefined]>([
  [
    'with a tick',
    { ...KNOWN, kind: 'cron', schedule: '* * * * *', timeZone: 'UTC' },
    Math.floor(Date.now() / MINUTE) * MINUTE,
  ],
  ['by hand', { ...KNOWN, kind: 'hand' }, undefined],
])(
  'a run %s goes on for people when a Redis has lost its data, and its lease is written back',
  async (_how, job, tick) => {
    const keyPrefix = uniquePrefix();
    const store = new RedisLockStore(redis.url, { keyPrefix });
    const client = new Redis(redis.url);
    await store.init();
    const status = async (): Promise<string | undefined> => {
      const startedAt = Date.now() - MINUTE;
      await store.history.beat({
        instance: 'api',
        startedAt,
        every: 30_000,
        leads: [],
        catalogue: 'one',
        jobs: [job],
        left: false,
        kept: { count: 10, age: MINUTE },
      });
      return (await new Insight(store, { ticks }).job(JOB))?.status;
    };
    const start = tick === undefined ? {} : { tick, schedule: '* * * * * (UTC)', maxClockSkew: MINUTE };
    const request = {
      name: 'invoices',
      token: 'one',
      ttl: MINUTE,
      holder: 'api',
      job: JOB,
      history: true,
      ...start,
    };
    const granted = await store.acquire(request);
    if (!granted.acquired) throw new Error(granted.reason);
    expect(await status()).toBe('running');
    await client.del(...(await client.keys(`*${keyPrefix}*`)));
    const { fencingToken } = granted;
    const lease = {
      name: 'invoices',
      token: 'one',
      ttl: MINUTE,
      holder: 'api',
      job: JOB,
      fencingToken,
      ...(tick !== undefined && { tick, attempt: 1 }),
    };
    expect(await store.extend([lease])).toMatchObject([{ held: true, restored: true }]);
    expect(await status()).toBe('running');
    client.disconnect();
    await store.close();
  },
);
