import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import {
  type AcquiredLock,
  type AcquireRequest,
  type AcquireResult,
  currentLock,
  MemoryLockStore,
  SchedulerLeader,
  SchedulerLock,
  SchedulerLockService,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { elected } from './leader-support.js';
import { cronAt, DAY, dieIn, request, runIn, skipped } from './tick-support.js';

afterEach(closeApps);

/** How long the lease that is in the way lives on after the tick, ms. */
const LEFT = 1_500;
/** The same for the job that runs last. */
const LAST = LEFT + 200;
/** Of the lock of the job, ms: its tick comes sooner after the election than that, so a lease of the last leader can be in its way. */
const LONG = 60_000;
/** Its tick comes later after the election than that. */
const SHORT = 300;

interface Refused {
  readonly app: TestApp;
  readonly store: MemoryLockStore;
  readonly tick: number;
  /** The ticks that the job ran for. */
  readonly runs: (number | undefined)[];
  /** Resolves when a tick has run that waited for longer than any other. */
  readonly over: Promise<unknown>;
}

/** What an instance has left behind that died in a run of the tick before. */
const die = (store: MemoryLockStore, tick: number): Promise<void> => dieUnder('nightly', store, tick, LEFT);
const dieUnder = (name: string, store: MemoryLockStore, tick: number, left: number): Promise<void> =>
  dieIn(store, request(name, tick - DAY, { ttl: tick - Date.now() + left }));

/**
 * An instance that leads, and whose job is refused when its date comes. Begins anew where the machine is too slow for that.
 *
 * @param occupy takes the lock of the job
 * @param options `ttl`: of the lock of the job
 */
async function refused(
  occupy: (store: MemoryLockStore, tick: number, app: TestApp) => Promise<unknown> = die,
  { Store = MemoryLockStore, ttl = LONG } = {},
): Promise<Refused> {
  for (let lead = 1_000; ; lead *= 2) {
    const tick = Math.ceil((Date.now() + lead) / 1_000) * 1_000;
    const runs: (number | undefined)[] = [];
    const last = gate();
    const expression = cronAt(new Date(tick));
    @Injectable()
    class Jobs {
      @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock({ name: 'nightly', job: 'nightly', ttl })
      async nightly(): Promise<void> {
        runs.push(currentLock().tick);
      }
      @Cron(expression, { name: 'last', timeZone: 'UTC' })
      @SchedulerLock({ name: 'last', job: 'last', ttl: LONG })
      async last(): Promise<void> {
        last.open();
      }
    }
    const store = new Store();
    const app = await startApp([Jobs], { store, leader: { name: 'main', ttl: '1m' } });
    await elected(app);
    if (Date.now() < tick - 2 * SHORT) {
      await dieUnder('last', store, tick, LAST);
      await occupy(store, tick, app);
      const seen = (): boolean => skipped(app).filter(({ callTick }) => callTick === tick).length === 2;
      await until(() => runs.length > 0 || Date.now() > tick + SHORT || seen());
      if (seen()) return { app, store, tick, runs, over: last.opened };
    }
    await closeApps();
  }
}

/** What became of the job that did not run. */
const skips = (app: TestApp) => skipped(app).filter(({ job }) => job === 'nightly');

describe('soon after the election, a tick of the leader that is refused by a lease', () => {
  test('runs when that has ended, once', async () => {
    const { app, tick, runs, over } = await refused();
    expect(skips(app)).toMatchObject([{ reason: 'held', callTick: tick, holder: 'gone' }]);
    expect(runs).toEqual([]);
    await over;
    expect(runs).toEqual([tick]);
  });

  test('runs, too, where it was not for the job itself: for another job of the lock, say', async () => {
    const { app, tick, runs, over } = await refused((store, tick) =>
      dieIn(store, { ...request('nightly', tick, { ttl: tick - Date.now() + LEFT }), job: 'other' }),
    );
    expect(skips(app)).toMatchObject([{ reason: 'held', callTick: tick, holder: 'gone' }]);
    expect(runs).toEqual([]);
    await over;
    expect(runs).toEqual([tick]);
  });

  test('does not run where another instance was faster', async () => {
    class Racing extends MemoryLockStore {
      #ran: Promise<unknown> | undefined;
      override async acquire(lease: AcquireRequest): Promise<AcquireResult> {
        const [state] = (await this.inspect()).filter(({ name }) => name === 'nightly');
        if (lease.name === 'nightly' && lease.holder !== 'gone' && state?.state === 'free')
          await (this.#ran ??= runIn(this, request('nightly', lease.tick ?? 0)));
        return super.acquire(lease);
      }
    }
    const { app, tick, runs, over } = await refused(die, { Store: Racing });
    await over;
    expect(skips(app)).toMatchObject([{ reason: 'held' }, { reason: 'already-ran', tick }]);
    expect(runs).toEqual([]);
  });

  test.each<[string, (registry: SchedulerRegistry) => unknown]>([
    ['stopped', (registry) => registry.getCronJob('nightly').stop()],
    ['deleted', (registry) => registry.deleteCronJob('nightly')],
  ])('does not run if its job was %s meanwhile', async (_, act) => {
    const { app, runs, over } = await refused();
    await act(app.get(SchedulerRegistry));
    await over;
    expect(runs).toEqual([]);
    expect(skips(app)).toHaveLength(1);
  });

  test('does not run if this instance was revoked meanwhile', async () => {
    const { app, tick, runs } = await refused();
    await app.get(SchedulerLeader).resign();
    await until(() => skips(app).length === 2);
    expect(skips(app)[1]).toMatchObject({ reason: 'not-leader', callTick: tick });
    expect(runs).toEqual([]);
  });
});

describe('later, a tick of the leader is skipped', () => {
  const LATER = { ttl: SHORT };

  test('while its job runs in this very process', async () => {
    const job = gate();
    const { app, tick, runs, over } = await refused(async (_, __, app) => {
      const began = gate();
      void app.get(SchedulerLockService).run('nightly', () => (began.open(), job.opened));
      await began.opened;
    }, LATER);
    job.open();
    await over;
    expect(skips(app)).toMatchObject([{ reason: 'held', callTick: tick }]);
    expect(runs).toEqual([]);
  });

  test('while somebody has its lock elsewhere', async () => {
    let lock: AcquiredLock | undefined;
    const { app, tick, runs, over } = await refused(async (store) => {
      const other = await startApp([], { store, instanceId: 'other' });
      lock = await other.get(SchedulerLockService).acquire('nightly', { ttl: LEFT });
    }, LATER);
    await lock?.release();
    await over;
    expect(skips(app)).toMatchObject([{ reason: 'held', callTick: tick, holder: 'other' }]);
    expect(runs).toEqual([]);
  });
});
