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

/** Times of a run, ms. Where the machine is too slow for them, a test begins anew with longer ones. */
interface Times {
  /** Of the leader: what came more than twice that ago (and the shutdownTimeout) is not begun by the next one. */
  readonly ttl: number;
  readonly shutdownTimeout: number;
  /** Of the job: its tick waits for so much longer. */
  readonly jobTtl: number;
  /** How long the lease that was left behind lives on after the tick. */
  readonly left: number;
  /** How long before the tick the instances are started. */
  readonly lead: number;
}

const SHORT = { ttl: 900, shutdownTimeout: 100, jobTtl: 20_000, lead: 1_000 };
const tooOld = ({ ttl, shutdownTimeout }: Times): number => 2 * ttl + shutdownTimeout;

/** These times, then twice as long ones, and so on. */
function* longerAndLonger(times: Times): Generator<Times> {
  for (let factor = 1; ; factor *= 2) {
    const { ttl, shutdownTimeout, jobTtl, left, lead } = times;
    yield {
      ttl: factor * ttl,
      shutdownTimeout: factor * shutdownTimeout,
      jobTtl: factor * jobTtl,
      left: factor * left,
      lead: factor * lead,
    };
  }
}

interface Waiting {
  readonly leader: TestApp;
  readonly standby: TestApp | undefined;
  readonly tick: number;
  readonly runs: (number | undefined)[];
}

const PATIENCE = { timeout: 120_000 };

/**
 * A leader whose tick waits for a lease that was left behind before its time.
 *
 * @returns `undefined` if the machine is too slow
 */
async function waiting(
  { ttl, shutdownTimeout, jobTtl, left, lead }: Times,
  { standby }: { standby: boolean },
): Promise<Waiting | undefined> {
  const tick = Math.ceil((Date.now() + lead) / 1_000) * 1_000;
  const runs: (number | undefined)[] = [];
  const store = new MemoryLockStore();
  const start = (): Promise<TestApp> => {
    @Injectable()
    class Jobs {
      @Cron(cronAt(new Date(tick)), { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock({ name: 'nightly', job: 'nightly', ttl: jobTtl })
      async nightly(): Promise<void> {
        runs.push(currentLock().tick);
      }
    }
    return startApp([Jobs], { store, leader: { name: 'main', ttl }, shutdownTimeout });
  };
  await dieIn(store, request('nightly', tick - DAY, { ttl: tick - Date.now() + left }));
  const leader = await start();
  await elected(leader);
  const other = standby ? await start() : undefined;
  if (!leads(leader) || Date.now() >= tick) return undefined;
  await until(() => skipped(leader).length > 0 || Date.now() > tick + left, PATIENCE);
  const [skip] = skipped(leader);
  const waits = skip?.callTick === tick && skip.reason === 'held';
  return waits ? { leader, standby: other, tick, runs } : undefined;
}

/** How often they were elected: more than the test wants where the machine is so slow that a leader loses its lease. */
const elections = (...apps: TestApp[]): number =>
  apps.flatMap(({ events }) => events.filter(({ type }) => type === 'elected')).length;

describe('a tick that waits for a lease left behind', () => {
  test('runs once on the next leader but one', async () => {
    for (const times of longerAndLonger({ ...SHORT, left: 6_000 })) {
      const found = await waiting(times, { standby: true });
      if (found?.standby !== undefined) {
        const { leader, standby, tick, runs } = found;
        await until(() => Date.now() > tick + tooOld(times), PATIENCE);
        await leader.get(SchedulerLeader).resign();
        await until(() => skipped(standby).length > 0 || elections(leader, standby) > 2, PATIENCE);
        const isHeld = skipped(standby)[0]?.reason === 'held';
        if (isHeld) await until(() => runs.length > 0 || elections(leader, standby) > 2, PATIENCE);
        if (isHeld && elections(leader, standby) === 2) {
          expect(runs).toEqual([tick]);
          expect(acquired(standby)).toMatchObject([{ lock: 'main' }, { job: 'nightly', tick, attempt: 1 }]);
          return;
        }
      }
      await closeApps();
    }
  }, 300_000);

  test('runs once when its instance leads again that did not when its turn came', async () => {
    for (const times of longerAndLonger({ ...SHORT, left: 2_500 })) {
      const found = await waiting(times, { standby: false });
      if (found !== undefined) {
        const { leader, tick, runs } = found;
        await until(() => Date.now() > tick + times.left - 100, PATIENCE);
        await leader.get(SchedulerLeader).resign();
        const missed = (): boolean => skipped(leader).some(({ reason }) => reason === 'not-leader');
        await until(() => missed() || leads(leader), PATIENCE);
        if (missed()) {
          await elected(leader);
          await until(() => runs.length > 0 || elections(leader) > 2, PATIENCE);
          if (elections(leader) === 2) {
            expect(runs).toEqual([tick]);
            return;
          }
        }
      }
      await closeApps();
    }
  }, 300_000);
});
