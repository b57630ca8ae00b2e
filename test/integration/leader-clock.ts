import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentLock, MemoryLockStore, SchedulerLock } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { startApp, type TestApp } from './app.js';
import { cronAt, DAY, dieIn, request } from './tick-support.js';

/** Of the leader, ms. */
export const TTL = 9_000;
export const SHUTDOWN_TIMEOUT = 1_000;
/** Of the lock of the job, ms. */
export const JOB_TTL = 10_000;
/** The longest by which those that wait for one lease are spread, ms. */
export const SPREAD = 50;

const HALF_A_DAY = DAY / 2;

/**
 * Instances with the job `nightly`, which run it if they lead. Locks, ticks and elections go by a clock that the test moves; the test
 * fires the job in place of the scheduler, whose next date by the machine's clock is half a day away.
 */
export class NightlyFleet {
  readonly tick: number;
  readonly clock: ManualClock;
  /** The ticks that the job ran for. */
  readonly runs: (number | undefined)[] = [];
  readonly store: MemoryLockStore;

  /** @param before how long before the tick it is now, ms */
  constructor(before: number, Store = MemoryLockStore) {
    this.tick = Math.trunc((Date.now() + HALF_A_DAY) / 1_000) * 1_000;
    this.clock = new ManualClock(this.tick - before);
    this.store = new Store({ clock: this.clock });
  }

  start(): Promise<TestApp> {
    const { clock, runs, store, tick } = this;
    @Injectable()
    class Jobs {
      @Cron(cronAt(new Date(tick)), { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock({ name: 'nightly', job: 'nightly', ttl: JOB_TTL })
      async nightly(): Promise<void> {
        runs.push(currentLock().tick);
      }
    }
    const leader = { name: 'main', ttl: TTL };
    return startApp([Jobs], { store, clock, leader, shutdownTimeout: SHUTDOWN_TIMEOUT });
  }

  /** Leaves a lease behind, as an instance that died in the run of the tick before. @param left how long it outlives the tick, ms */
  die(left: number, more: { readonly job?: string; readonly tick?: number } = {}): Promise<void> {
    const ttl = this.tick - this.clock.now() + left;
    return dieIn(this.store, { ...request('nightly', this.tick - DAY, { ttl }), ...more });
  }
}
