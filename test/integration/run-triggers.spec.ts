import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { MemoryLockStore, type RunInfo, SchedulerLock, SchedulerLockInsight } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp } from './app.js';
import { daily, dieIn, request, skipped } from './tick-support.js';

/* What started a run, as far as the store knows it. Of a tick that is caught up: control-shared-lock. */

afterEach(closeApps);

const JOB = 'Nightly.run';

/** A job of a tick that was due half a minute ago, which is run again if it was interrupted. */
async function nightly() {
  const { expression, tick } = daily();
  const store = new MemoryLockStore();
  const hold = gate();
  @Injectable()
  class Nightly {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ name: 'nightly', rerun: 2 })
    async run(): Promise<void> {
      await hold.opened;
    }
  }
  const app = await startApp([Nightly], { store, insight: { beat: '1s' } });
  // At the start it asks for the newest tick of a job that nobody has run yet.
  await until(() => skipped(app).length === 1);
  const insight = app.get(SchedulerLockInsight);
  const runs = (): Promise<RunInfo[]> => insight.runs({ lock: 'nightly' });
  const die = (rerun?: number): Promise<void> =>
    dieIn(
      store,
      request('nightly', tick, { job: JOB, ttl: 1, history: true, ...(rerun !== undefined && { rerun }) }),
    );
  return { app, runs, die, hold };
}

test('a run that goes on for the second time is a rerun, and stays one; of the first one nobody knows by what it began', async () => {
  const { app, runs, die, hold } = await nightly();
  await die();
  await until(async () => (await runs())[0]?.outcome === 'interrupted');
  expect((await runs())[0]).not.toHaveProperty('trigger');
  const fired = app.fire('nightly');
  await until(async () => (await runs())[0]?.outcome === 'running');
  expect(await runs()).toMatchObject([{ attempt: 2, trigger: 'rerun' }, { outcome: 'interrupted' }]);
  hold.open();
  await fired;
  await until(async () => (await runs())[0]?.outcome === 'completed');
  expect((await runs())[0]).toMatchObject({ attempt: 2, trigger: 'rerun' });
});

test('a rerun that was interrupted, too, is one, with and without a record', async () => {
  const { app, runs, die, hold } = await nightly();
  await die();
  await until(async () => (await runs())[0]?.outcome === 'interrupted');
  await die(2);
  await until(async () => (await runs())[0]?.outcome === 'interrupted');
  expect((await runs())[0]).toMatchObject({ attempt: 2, trigger: 'rerun' });
  // The next run puts it on record.
  hold.open();
  await app.fire('nightly');
  await until(async () => (await runs())[0]?.outcome === 'completed');
  expect(await runs()).toMatchObject([
    { attempt: 3, trigger: 'rerun' },
    { attempt: 2, outcome: 'interrupted', trigger: 'rerun' },
  ]);
});
