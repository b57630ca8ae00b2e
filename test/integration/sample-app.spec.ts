import 'reflect-metadata';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { LockInfo } from 'nestjs-scheduler-lock';
import { AppModule } from '../../sample-app/src/app.module.js';
import { CalendarJob } from '../../sample-app/src/jobs/calendar.job.js';
import { LOOPBACK } from '../support/machine.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { gate } from './app.js';

let redis: RedisServer;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  redis = await provideRedis();
  const prefix = uniquePrefix('sample').replace(/:$/, '');
  Object.assign(process.env, {
    REDIS_URL: redis.url,
    LOCK_PREFIX: prefix,
    INSTANCE_ID: 'only-one',
  });
  app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
  await app.listen(0, LOOPBACK);
  url = await app.getUrl();
});

afterAll(async () => {
  await app?.close();
  await redis?.stop();
});

async function locks(): Promise<Map<string, LockInfo>> {
  const response = await fetch(`${url}/jobs/locks`);
  expect(response.status).toBe(200);
  const all = (await response.json()) as LockInfo[];
  return new Map(all.map((lock) => [lock.name, lock]));
}

test('GET /jobs/locks of the sample app names the holder of a lock, and of its job the tick that runs', async () => {
  // Every two seconds, for eight.
  const report = await until(
    async () => {
      const lock = (await locks()).get('report');
      return lock?.state === 'held' && lock;
    },
    { message: 'the report to be built' },
  );
  expect(report).toEqual({
    name: 'report',
    time: expect.any(Number),
    state: 'held',
    holder: 'only-one',
    since: expect.any(Number),
    expiresIn: expect.any(Number),
    fencingToken: expect.any(Number),
    job: 'ReportJob.build',
    jobs: [{ job: 'ReportJob.build', tick: expect.any(Number), attempt: 1 }],
  });
  expect((report.jobs[0]?.tick ?? 1) % 2_000).toBe(0);
});

test('GET /jobs/locks of the sample app shows a lock that was given back as free, with the fencing token of its last lease', async () => {
  const ran = await until(async () => {
    const response = await fetch(`${url}/jobs/prices`, { method: 'POST' });
    // Unless the scheduler is running it just then.
    const result = (await response.json()) as { ranOn?: string; fencingToken?: number };
    return result.ranOn === 'only-one' && result;
  });
  const prices = await until(async () => {
    const lock = (await locks()).get('prices');
    return lock?.state === 'free' && lock;
  });
  expect(prices).not.toHaveProperty('expiresIn');
  // Or of the scheduler's, if its turn came in between.
  expect(prices.fencingToken).toBeGreaterThanOrEqual(ran.fencingToken ?? Infinity);
});

test('POST /jobs/calendar of the sample app keeps what comes while a calendar is synced, and syncs it after that', async () => {
  const synced: (string | undefined)[] = [];
  const { work } = CalendarJob.prototype;
  const first = gate();
  CalendarJob.prototype.work = async (what) => {
    synced.push(what);
    if (synced.length === 1) await first.opened;
  };
  const change = async (id: string): Promise<unknown> =>
    (await fetch(`${url}/jobs/calendar/${id}`, { method: 'POST' })).json();
  try {
    const anna = change('anna');
    await until(() => synced.length > 0);
    const answers = await Promise.all(['anna', 'bob', 'anna'].map(change));
    expect(answers).toEqual([{ queued: 'anna' }, { queued: 'bob' }, { queued: 'anna' }]);
    first.open();
    await anna;
    await until(() => ['calendar anna', 'calendar bob'].every((what) => synced.slice(1).includes(what)));
    const mine = synced.slice(1).filter((what) => what !== 'all calendars');
    expect(mine.toSorted()).toEqual(['calendar anna', 'calendar bob']);
  } finally {
    CalendarJob.prototype.work = work;
  }
});

test('GET /health of the sample app says that the store answers, and which job fails', async () => {
  const degraded = await until(
    async () => {
      const health = (await (await fetch(`${url}/health`)).json()) as {
        schedulerLock: { failing: string[] };
      };
      return health.schedulerLock.failing.length > 0 && health;
    },
    { message: 'the mail to fail', interval: 100 },
  );
  expect(degraded).toEqual({
    schedulerLock: {
      status: 'degraded',
      store: 'up',
      lastAnswer: expect.any(String),
      overdue: [],
      failing: ['MailJob.send'],
      hung: [],
      attention: [],
      // On a busy machine jobs are unknown for a moment when a tick has passed.
      unknown: expect.any(Array),
    },
  });
});

test('a job of the sample app that is made at run time runs in its tick', async () => {
  const job = await until(
    async () => {
      const { jobs = [], state } = (await locks()).get('export-acme') ?? {};
      return state === 'free' && jobs[0];
    },
    { message: 'the export to run', timeout: 40_000 },
  );
  expect(job).toMatchObject({ job: 'export-acme', outcome: 'completed' });
});
