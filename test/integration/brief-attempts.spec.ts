import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  MemoryLockStore,
  SchedulerLeader,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
  type SchedulerLockOptions,
  SchedulerLockService,
} from '../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import { until } from '../support/until.js';

/** Notes whether each attempt is in brief. */
class NotingStore extends MemoryLockStore {
  readonly briefs: boolean[] = [];

  override acquire(request: AcquireRequest): Promise<AcquireResult> {
    this.briefs.push(request.brief === true);
    return super.acquire(request);
  }
}

let app: INestApplicationContext | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

/** An application with one cron job. Its log shows no more than errors. */
async function start(
  options: SchedulerLockOptions = {},
  module: Partial<SchedulerLockModuleOptions> = {},
  levels: ('error' | 'debug')[] = ['error'],
): Promise<{ store: NotingStore; fire: () => Promise<void> }> {
  const store = new NotingStore();
  @Injectable()
  class Jobs {
    @Cron('0 0 1 1 *', { name: 'yearly', timeZone: 'UTC' })
    @SchedulerLock({ name: 'yearly', ...options })
    async yearly(): Promise<void> {}
  }
  class App {}
  Module({
    imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot({ store, ...module })],
    providers: [Jobs],
  })(App);
  const running = await NestFactory.createApplicationContext(App, { logger: levels });
  app = running;
  return {
    store,
    fire: async () => {
      const known = store.briefs.length;
      await running.get(SchedulerRegistry).getCronJob('yearly').fireOnTick();
      await until(() => store.briefs.length > known);
      // A run that is not over keeps the next one away without an attempt.
      await running.get(SchedulerLockService).run('another', () => undefined);
      store.briefs.pop();
    },
  };
}

test('an attempt of the scheduler is in brief if nobody needs the details of a refusal', async () => {
  const { store, fire } = await start();
  await fire();
  expect(store.briefs).toEqual([true]);
});

test.each<[string, SchedulerLockOptions]>([
  ['rerun', { rerun: 1 }],
  ['catchUp', { catchUp: '1h' }],
])('not so with %s, which asks again when the lease in the way can have ended', async (_, options) => {
  const { store, fire } = await start(options);
  await fire();
  expect(store.briefs.length).toBeGreaterThan(0);
  expect(store.briefs).not.toContain(true);
});

test('not so with a leader, which waits for the leases of the last one', async () => {
  const { store, fire } = await start({}, { leader: { name: 'leader' } });
  // The first attempt is that of the election.
  await until(() => app?.get(SchedulerLeader).isLeader() === true);
  await fire();
  expect(store.briefs).not.toContain(true);
});

test('not so while a listener waits for the event, or the log shows it', async () => {
  const { store, fire } = await start();
  const off = app?.get(SchedulerLockEvents).on('skipped', () => undefined);
  await fire();
  off?.();
  await fire();
  expect(store.briefs).toEqual([false, true]);
  await app?.close();
  const shown = await start({}, {}, ['debug']);
  await shown.fire();
  expect(shown.store.briefs).toEqual([false]);
});

test('not so for a call by hand, which shows them to the caller', async () => {
  const { store } = await start();
  await app?.get(SchedulerLockService).run('report', () => undefined);
  expect(store.briefs).toEqual([false]);
});
