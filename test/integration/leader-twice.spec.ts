import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentLock, MemoryLockStore, SchedulerLeader, SchedulerLock } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';
import { elected, leads } from './leader-support.js';
import { acquired, cronAt, DAY, dieIn, request, skipped } from './tick-support.js';

afterEach(closeApps);

/** Of the leader, ms: what came more than twice that ago (and the shutdownTimeout) is not begun by the next one. */
const TTL = 900;
const SHUTDOWN_TIMEOUT = 100;
const TOO_OLD = 2 * TTL + SHUTDOWN_TIMEOUT;
/** Of the job, ms: its tick waits for so much longer. */
const JOB_TTL = 20_000;

interface Waiting {
  readonly leader: TestApp;
  readonly standby: TestApp | undefined;
  readonly tick: number;
  readonly runs: (number | undefined)[];
}

/**
 * A leader whose tick waits for a lease that was left behind before its time. Begins anew where the machine is too slow.
 *
 * @param left how long that lease lives on after the tick, ms
 */
async function waiting(left: number, { standby }: { standby: boolean }): Promise<Waiting> {
  for (let lead = 1_000; ; lead *= 2) {
    const tick = Math.ceil((Date.now() + lead) / 1_000) * 1_000;
    const runs: (number | undefined)[] = [];
    const store = new MemoryLockStore();
    const start = (): Promise<TestApp> => {
      @Injectable()
      class Jobs {
        @Cron(cronAt(new Date(tick)), { name: 'nightly', timeZone: 'UTC' })
        @SchedulerLock({ name: 'nightly', job: 'nightly', ttl: JOB_TTL })
        async nightly(): Promise<void> {
          runs.push(currentLock().tick);
        }
      }
      const leader = { name: 'main', ttl: TTL };
      return startApp([Jobs], { store, leader, shutdownTimeout: SHUTDOWN_TIMEOUT });
    };
    await dieIn(store, request('nightly', tick - DAY, { ttl: tick - Date.now() + left }));
    const leader = await start();
    await elected(leader);
    const other = standby ? await start() : undefined;
    if (leads(leader) && Date.now() < tick) {
      const refused = (): boolean => skipped(leader).length > 0;
      await until(() => refused() || Date.now() > tick + left);
      const [skip] = skipped(leader);
      if (skip?.callTick === tick && skip.reason === 'held') return { leader, standby: other, tick, runs };
    }
    await closeApps();
  }
}

/** How often they were elected: more than the test wants where the machine is so slow that a leader loses its lease. */
const elections = (...apps: TestApp[]): number =>
  apps.flatMap(({ events }) => events.filter(({ type }) => type === 'elected')).length;

describe('a tick that waits for a lease left behind', () => {
  test('runs once on the next leader but one', async () => {
    const left = 6_000;
    for (;;) {
      const { leader, standby, tick, runs } = await waiting(left, { standby: true });
      if (standby === undefined) throw new Error('no standby');
      await until(() => Date.now() > tick + TOO_OLD);
      await leader.get(SchedulerLeader).resign();
      await until(() => skipped(standby).length > 0 || elections(leader, standby) > 2);
      const isHeld = skipped(standby)[0]?.reason === 'held';
      if (isHeld) await until(() => runs.length > 0 || elections(leader, standby) > 2);
      if (isHeld && elections(leader, standby) === 2) {
        expect(runs).toEqual([tick]);
        expect(acquired(standby)).toMatchObject([{ lock: 'main' }, { job: 'nightly', tick, attempt: 1 }]);
        return;
      }
      await closeApps();
    }
  }, 60_000);

  test('runs once when its instance leads again that did not when its turn came', async () => {
    const left = 2_500;
    for (;;) {
      const { leader, tick, runs } = await waiting(left, { standby: false });
      await until(() => Date.now() > tick + left - 100);
      await leader.get(SchedulerLeader).resign();
      const missed = (): boolean => skipped(leader).some(({ reason }) => reason === 'not-leader');
      await until(() => missed() || leads(leader));
      if (missed()) {
        await elected(leader);
        await until(() => runs.length > 0 || elections(leader) > 2);
        if (elections(leader) === 2) {
          expect(runs).toEqual([tick]);
          return;
        }
      }
      await closeApps();
    }
  }, 60_000);
});
