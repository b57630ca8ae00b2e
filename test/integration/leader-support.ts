import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { MemoryLockStore, SchedulerLeader } from '../../lib/index.js';
import { until } from '../support/until.js';
import type { TestApp } from './app.js';
import { DAY } from './tick-support.js';

export const leads = (app: TestApp): boolean => app.get(SchedulerLeader).isLeader();

export const elected = (...apps: TestApp[]): Promise<TestApp> =>
  until(() => apps.find(leads), { message: 'a leader' });

/** A job that does not run within a test: an instance without any job would not lead. */
@Injectable()
export class Idle {
  @Interval(3_600_000)
  idle(): void {}
}

/** A store in which somebody else leads for as long as the test wants. */
export async function occupied(): Promise<{ store: MemoryLockStore; free(): Promise<void> }> {
  const store = new MemoryLockStore();
  const lease = { name: 'main', token: 'other', ttl: DAY, holder: 'other' };
  const answer = await store.acquire(lease);
  if (!answer.acquired) throw new Error(answer.reason);
  return {
    store,
    free: async () => void (await store.release({ ...lease, fencingToken: answer.fencingToken })),
  };
}
