import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  LOCK_STORE,
  type LockStore,
  type SchedulerLockModuleOptions,
  type SchedulerLockEvent,
} from '../../lib/index.js';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';

export const DAY = 86_400_000;

/**
 * To be called once at the top of a file: provides a Redis for its tests, and closes after each test what it has started.
 * Answers what makes the options of a fleet, which shares nothing with any other.
 */
export function fleetsOnRedis(): () => SchedulerLockModuleOptions {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await provideRedis();
  }, 120_000);
  afterEach(closeApps);
  afterAll(async () => {
    await redis.stop();
  });
  return () => ({ connection: redis.url, keyPrefix: uniquePrefix() });
}

/** A cron expression (UTC) whose newest tick was half a minute ago, and whose next one is a day later. */
export function daily(): { expression: string; tick: number } {
  const tick = Math.trunc(Date.now() / 1_000) * 1_000 - 30_000;
  return { expression: cronAt(new Date(tick)), tick };
}

/** A cron expression (UTC) for the time of day of a date. */
export function cronAt(date: Date): string {
  return `${date.getUTCSeconds()} ${date.getUTCMinutes()} ${date.getUTCHours()} * * *`;
}

type Acquired = Extract<SchedulerLockEvent, { type: 'acquired' }>;
type Skipped = Extract<SchedulerLockEvent, { type: 'skipped' }>;

export const acquired = (...apps: TestApp[]): Acquired[] =>
  apps.flatMap(({ events }) => events.filter((event): event is Acquired => event.type === 'acquired'));

export const skipped = (app: TestApp): Skipped[] =>
  app.events.filter((event): event is Skipped => event.type === 'skipped');

/** The store of an application without jobs: to do there what an instance that is gone has done. */
export async function plainStore(options: SchedulerLockModuleOptions): Promise<LockStore> {
  const { module } = await startApp([], options);
  return module.get<LockStore>(LOCK_STORE);
}

/** What an instance asks for that starts a tick. */
export function request(name: string, tick: number, more: Partial<AcquireRequest> = {}): AcquireRequest {
  return { name, job: name, tick, token: randomUUID(), ttl: 1_000, holder: 'gone', ...more };
}

/** Starts a tick and never ends it, as an instance that is killed. */
export async function dieIn(store: LockStore, given: AcquireRequest): Promise<void> {
  const answer = await store.acquire(given);
  if (!answer.acquired) throw new Error(`not acquired: ${answer.reason}`);
}

/** Starts a tick and ends it. */
export async function runIn(store: LockStore, given: AcquireRequest): Promise<void> {
  const answer = await store.acquire(given);
  if (!answer.acquired) throw new Error(`not acquired: ${answer.reason}`);
  await store.release({ ...given, fencingToken: answer.fencingToken });
}

/** Fires a job as the scheduler does, which does not wait for it, and waits until it has run or was skipped. */
export async function fireAndWait(app: TestApp, job: string): Promise<void> {
  const decided = (): number =>
    app.events.filter(({ type, ...event }) => {
      return (type === 'skipped' || type === 'released') && 'job' in event && event.job === job;
    }).length;
  const before = decided();
  await app.fire(job);
  await until(() => decided() > before, { message: `${job} to run or to be skipped` });
}
