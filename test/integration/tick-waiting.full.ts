import 'reflect-metadata';
import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  currentLock,
  SchedulerLock,
  type SchedulerLockModuleOptions,
  type SchedulerLockOptions,
  SchedulerLockService,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { gate, startApp, type TestApp } from './app.js';
import {
  acquired,
  DAY,
  daily,
  dieIn,
  fleetsOnRedis,
  plainStore,
  request,
  runIn,
  skipped,
} from './tick-support.js';

/* Jobs of the scheduler that wait in line: each tick runs once all the same. */

const shared = fleetsOnRedis();

const WAIT = { name: 'nightly', job: 'nightly', wait: '1m', ttl: '1s' } as const;

/** A job of one tick, half a minute ago; it notes its runs. */
function nightly(more: Pick<SchedulerLockOptions, 'rerun' | 'catchUp'> = {}) {
  const { expression, tick } = daily();
  const runs: { tick: number | undefined; attempt: number | undefined }[] = [];
  @Injectable()
  class Nightly {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ ...WAIT, ...more })
    async run(): Promise<void> {
      const { tick: own, attempt } = currentLock();
      runs.push({ tick: own, attempt });
    }
  }
  return { Nightly, tick, runs };
}

const waiting = (app: TestApp) => app.events.filter(({ type }) => type === 'waiting');

/** Whether it was refused, because the tick was started before. */
const knows = (app: TestApp, tick: number): boolean =>
  skipped(app).some((event) => event.reason === 'already-ran' && event.tick === tick);

/** Takes the lock of the job, as another part of an application does. */
async function holdLock(options: SchedulerLockModuleOptions) {
  const [app, entered, leave] = [await startApp([], options), gate(), gate()];
  const run = app.get(SchedulerLockService).run('nightly', async () => {
    entered.open();
    await leave.opened;
  });
  await entered.opened;
  return async (): Promise<void> => {
    leave.open();
    await run;
  };
}

test('ten instances wait for one tick: one runs it, and none waits on', async () => {
  const { Nightly, tick, runs } = nightly();
  const options = shared();
  const release = await holdLock(options);
  const apps = await Promise.all(Array.from({ length: 10 }, () => startApp([Nightly], options)));
  await Promise.all(apps.map((app) => app.fire('nightly')));
  await until(() => apps.every((app) => waiting(app).length === 1));
  await release();
  await until(() => apps.filter((app) => knows(app, tick)).length === 9);
  expect(runs).toEqual([{ tick, attempt: 1 }]);
  // The lock is free for whoever comes, as soon as the last of those that were refused has left the line.
  await until(
    async () => (await apps[0]?.get(SchedulerLockService).run('nightly', () => 'free'))?.ran === true,
  );
});

test('a holder that outlives three ticks is followed by the newest of them, and each tick runs once at most', async () => {
  const runs: (number | undefined)[] = [];
  @Injectable()
  class Often {
    @Cron('* * * * * *', { name: 'often', timeZone: 'UTC' })
    @SchedulerLock({ ...WAIT, job: 'often' })
    async run(): Promise<void> {
      runs.push(currentLock().tick);
    }
  }
  const options = shared();
  const release = await holdLock(options);
  const apps = await Promise.all([startApp([Often], options), startApp([Often], options)]);
  const ticks = (app: TestApp) =>
    waiting(app).flatMap((event) => ('callTick' in event ? [event.callTick ?? 0] : []));
  await until(() => apps.every((app) => new Set(ticks(app)).size >= 3));
  const third = Math.min(...apps.map((app) => ticks(app)[2] ?? Infinity));
  // An older one that has just asked once more when it was replaced has its turn, if the lock is free then.
  const isOver = (app: TestApp, tick: number) => skipped(app).some(({ callTick }) => callTick === tick);
  await until(() =>
    apps.every((app) =>
      ticks(app)
        .filter((tick) => tick < third)
        .every((tick) => isOver(app, tick)),
    ),
  );
  await release();
  await until(() => runs.length >= 2);
  expect(Math.min(...runs.map((tick = 0) => tick))).toBeGreaterThanOrEqual(third);
  await Promise.all(apps.map((app) => app.close()));
  expect(new Set(runs).size).toBe(runs.length);
  // A newer tick took the place of the older ones, which are skipped.
  for (const app of apps) expect(skipped(app).map(({ callTick }) => callTick)).toContain(ticks(app)[0]);
});

test('a tick whose holder died is run again by one of those that wait in line for it', async () => {
  const { Nightly, tick, runs } = nightly({ rerun: 1 });
  const options = shared();
  const store = await plainStore(options);
  const apps = await Promise.all(Array.from({ length: 3 }, () => startApp([Nightly], options)));
  // At the start nothing is known of the job, so nothing is repeated.
  await until(() => apps.every((app) => skipped(app).length === 1));
  await dieIn(store, request('nightly', tick, { ttl: 2_000 }));
  await Promise.all(apps.map((app) => app.fire('nightly')));
  await until(() => apps.every((app) => waiting(app).length === 1));
  await until(() => acquired(...apps).length === 1 && apps.filter((app) => knows(app, tick)).length === 2);
  expect(runs).toEqual([{ tick, attempt: 2 }]);
});

test('a tick that was missed waits in line at the start, and runs once over the fleet', async () => {
  const { Nightly, tick, runs } = nightly({ catchUp: '1h' });
  const options = shared();
  await runIn(await plainStore(options), request('nightly', tick - DAY));
  const release = await holdLock(options);
  const apps = await Promise.all(Array.from({ length: 3 }, () => startApp([Nightly], options)));
  await until(() => apps.every((app) => waiting(app).length === 1));
  expect(runs).toEqual([]);
  await release();
  await until(() => runs.length === 1 && apps.filter((app) => knows(app, tick)).length === 2);
  expect(runs).toEqual([{ tick, attempt: 1 }]);
  expect(acquired(...apps)).toMatchObject([{ job: 'nightly', tick, waited: expect.any(Number) }]);
});

test('atLeast holds for those in line, too', async () => {
  const began: number[] = [];
  const app = await startApp([], shared());
  const locks = app.get(SchedulerLockService);
  const call = (job: string) =>
    locks.run('nightly', { job, wait: '1m', ttl: '10s', atLeast: '700ms' }, ({ waited }) => {
      began.push(performance.now());
      return waited;
    });
  const asked = performance.now();
  const first = await call('first');
  const rest = await Promise.all([call('second'), call('third')]);
  expect(first).toMatchObject({ ran: true, value: 0 });
  expect(rest).toMatchObject([{ ran: true }, { ran: true }]);
  // The store counts whole milliseconds.
  for (const [turn, at] of began.entries()) expect(at - asked).toBeGreaterThan(turn * (700 - 2));
});
