import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { SchedulerLock, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { calendar, hold, ids } from './support/calendar.js';
import { QUEUED_CALL_STORES, type QueuedCallFleet } from './support/queued-call-stores.js';

/* Queued calls whose lock was held by somebody who knows nothing of them, or whose instance is about to end. */

describe.each(QUEUED_CALL_STORES)('on %s', (_, open) => {
  let fleet: QueuedCallFleet;
  beforeEach(async () => void (fleet = await open()));
  afterEach(async () => {
    await closeApps();
    await fleet.stop();
  });
  const start = (providers: Parameters<typeof startApp>[0]): Promise<TestApp> =>
    startApp(providers, { store: fleet.store() });

  test('calls that come while a cron without a wait has the lock, on an instance without their job, run when it ends', async () => {
    const [began, end] = [gate(), gate()];
    @Injectable()
    class Sync {
      @Cron('0 0 1 1 *', { name: 'sync', timeZone: 'UTC' })
      @SchedulerLock({ name: 'calendar' })
      async all(): Promise<void> {
        began.open();
        await end.opened;
      }
    }
    const { Calendar, ran } = calendar();
    const [other, own] = [await start([Sync]), await start([Calendar])];
    const cron = other.fire('sync');
    await began.opened;
    for (const id of ['a', 'b', 'a']) expect(await own.get(Calendar).changed(id)).toBeUndefined();
    expect(ran).toEqual([]);
    end.open();
    await cron;
    await until(() => ran.length === 2);
    expect(ids(ran)).toEqual(['a', 'b']);
  });

  test('calls whose job no instance has any more wait, whoever takes the lock, for one that has it', async () => {
    const { Calendar, ran } = calendar();
    const [other, own] = [await start([]), await start([Calendar])];
    const letGo = await hold(other);
    await own.get(Calendar).changed('a');
    await own.close();
    await letGo();
    await (
      await hold(other)
    )();
    expect(ran).toEqual([]);
    const [info] = await other.get(SchedulerLockService).inspect(['calendar']);
    expect(info).toMatchObject({ state: 'free', queued: 1 });
    await start([Calendar]);
    await until(() => ran.length === 1);
    expect(ran[0]?.queuedCall).toMatchObject({ key: 'a', delivery: 1 });
  });

  test('a call that stands in line when its instance shuts down stays queued', async () => {
    const { Calendar, ran } = calendar({ wait: '1m', onSkip: 'throw' });
    const [other, own] = [await start([]), await start([Calendar])];
    const letGo = await hold(other);
    const call = own.get(Calendar).changed('a');
    await until(() => own.events.some(({ type }) => type === 'waiting'));
    await own.close();
    expect(await call).toBeUndefined();
    expect(own.events.filter(({ type }) => type === 'skipped')).toMatchObject([{ reason: 'queued' }]);
    await letGo();
    await start([Calendar]);
    await until(() => ran.length === 1);
  });
});
