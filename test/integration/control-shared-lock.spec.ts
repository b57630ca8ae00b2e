import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  currentLock,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockControl,
  SchedulerLockInsight,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';
import { cronAt, DAY, request, runIn, skipped } from './tick-support.js';

afterEach(closeApps);

const ANNA = { actor: 'anna', reason: 'migration' } as const;
const MINUTE = 60_000;
const JOBS = ['Accounts.close', 'Accounts.report'];

/** Two jobs of one lock and one tick, which the test fires: the next date by the machine's clock is half a day away. */
async function accounts() {
  const tick = Math.trunc((Date.now() + DAY / 2) / 1_000) * 1_000;
  const clock = new ManualClock(tick - 10_000);
  const store = new MemoryLockStore({ clock });
  const ran: [string, number | undefined][] = [];
  @Injectable()
  class Accounts {
    @Cron(cronAt(new Date(tick)), { name: 'close', timeZone: 'UTC' })
    @SchedulerLock({ name: 'accounts', catchUp: '1h', ttl: '10s' })
    async close(): Promise<void> {
      ran.push(['close', currentLock().tick]);
    }
    @Cron(cronAt(new Date(tick)), { name: 'report', timeZone: 'UTC' })
    @SchedulerLock({ name: 'accounts', ttl: '10s' })
    async report(): Promise<void> {
      ran.push(['report', currentLock().tick]);
    }
  }
  // Both have run the day before.
  for (const job of JOBS)
    await runIn(store, { ...request('accounts', tick - DAY), job, holder: 'yesterday' });
  const app = await startApp([Accounts], { store, clock, insight: { beat: '1s' } });
  const insight = app.get(SchedulerLockInsight);
  await until(async () => (await insight.jobs()).length === 2);
  return { app, clock, tick, ran, insight, control: app.get(SchedulerLockControl) };
}

test('a pause of one job stops the other one of its lock, and says so; resume makes up only what has `catchUp`', async () => {
  const { app, clock, tick, ran, insight, control } = await accounts();
  expect(await control.pause({ job: 'Accounts.report', ...ANNA })).toMatchObject({
    result: 'paused',
    pause: { lock: 'accounts' },
    jobs: JOBS,
  });
  for (const job of JOBS) expect(await insight.job(job)).toMatchObject({ status: 'paused', paused: ANNA });
  await clock.advance(10_000);
  // One after another: a call for a lock that another call of this process asks for is refused as held.
  for (const job of ['close', 'report']) {
    await app.fire(job);
    await until(() => skipped(app).some((each) => each.job === `Accounts.${job}`));
  }
  expect(new Set(skipped(app).map(({ reason }) => reason))).toEqual(new Set(['paused']));
  for (let minutes = 0; minutes < 5; minutes++) await clock.advance(MINUTE);
  expect(ran).toEqual([]);
  expect(await control.resume({ job: 'Accounts.report', actor: 'bob' })).toMatchObject({
    result: 'resumed',
    jobs: JOBS,
  });
  await until(async () => {
    // In steps that are shorter than a lease: a run whose lease is over when it is told of it does not begin.
    await clock.advance(1_000);
    return ran.length > 0;
  });
  for (let minutes = 0; minutes < 5; minutes++) await clock.advance(MINUTE);
  expect(ran).toEqual([['close', tick]]);
  const runs = await insight.runs({ lock: 'accounts' });
  expect(runs[0]).toMatchObject({ job: 'Accounts.close', tick, outcome: 'completed', trigger: 'catch-up' });
  expect(runs.filter((run) => run.tick === tick)).toHaveLength(1);
  const why = await insight.why('Accounts.report', tick);
  expect(why).toMatchObject({ cause: 'paused', pause: { ...ANNA, resumedBy: 'bob' } });
  expect(why.sentence).toMatch(/ paused by .* from .* to .*, when bob resumed it \(migration\)\.$/);
});
