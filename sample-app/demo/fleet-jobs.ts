import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentLock, LeaderElection, type LeaderHooks, SchedulerLock } from 'nestjs-scheduler-lock';

/*
 * The jobs of the fleet that `npm run demo -- --page` shows: each has something of what can befall a job, within a minute.
 */

export const { INSTANCE_ID = '', VERSION = '1.0.0' } = process.env;
const isNew = VERSION !== '1.0.0';
/** How long a run of export takes, ms. */
const LONG = 600_000;

@Injectable()
export class FleetJobs {
  @Cron('*/5 * * * * *')
  @SchedulerLock({ name: 'prices', ttl: '3s', overdue: '5s' })
  async prices(): Promise<void> {
    await sleep(400 + Math.random() * 600);
  }

  @Cron('*/10 * * * * *')
  @SchedulerLock({ name: 'mail', ttl: '3s', overdue: '5s' })
  async mail(): Promise<void> {
    await sleep(300);
    throw new Error('no mail server');
  }

  /** Takes longer than the time between two ticks. When its lease is lost, or broken, it is slow to stop: then another instance runs it, too. */
  @Cron('*/10 * * * * *')
  @SchedulerLock({ name: 'export', ttl: '3s', overdue: '5s' })
  async export(): Promise<void> {
    const { signal } = currentLock();
    await sleep(LONG, undefined, { signal }).catch(() => undefined);
    await sleep(25_000);
  }

  /** The instance that runs it dies: another one starts the tick again. */
  @Cron('*/6 * * * * *')
  @SchedulerLock({ name: 'report', ttl: '2s', rerun: 1, enabled: INSTANCE_ID !== 'old-1' })
  async report(): Promise<void> {
    await sleep(3_000);
  }

  /** Only one instance has it switched on, and that one dies. */
  @Cron('*/10 * * * * *')
  @SchedulerLock({ name: 'cleanup', ttl: '3s', overdue: '5s', enabled: INSTANCE_ID === 'old-2' })
  async cleanup(): Promise<void> {
    await sleep(200);
  }

  /** A deploy has changed when it runs. */
  @Cron(isNew ? '30 * * * * *' : '45 * * * * *')
  @SchedulerLock({ name: 'digest', ttl: '3s' })
  async digest(): Promise<void> {
    await sleep(500);
  }

  /** A person pauses it. */
  @Cron('*/10 * * * * *')
  @SchedulerLock({ name: 'backup', ttl: '3s' })
  async backup(): Promise<void> {
    await sleep(300);
  }

  @Cron('0 3 * * *', { timeZone: 'Europe/Berlin' })
  @SchedulerLock({ name: 'nightly' })
  async nightly(): Promise<void> {
    await sleep(1_000);
  }
}

/** Calls by hand, as requests would make them. */
@Injectable()
export class FleetCalls implements OnApplicationBootstrap {
  #stops = false;

  onApplicationBootstrap(): void {
    void this.#callStock();
    if (INSTANCE_ID === 'old-1') void this.#callOrders();
  }

  beforeApplicationShutdown(): void {
    this.#stops = true;
  }

  /** Each instance calls it again and again: the others stand in line. */
  @SchedulerLock({ name: 'stock', ttl: '3s', wait: '1m' })
  async stock(): Promise<void> {
    await sleep(3_000);
  }

  /** Those that come during a run are queued. One of them cannot be done, and becomes a dead letter. */
  @SchedulerLock<[order: string]>({ name: 'orders', ttl: '3s', onHeld: 'queue' })
  async onOrder(order: string): Promise<void> {
    await sleep(3_000);
    if (order === 'order-2') throw new Error('order-2 has no address');
  }

  async #callStock(): Promise<void> {
    while (!this.#stops) {
      // The store may be away.
      await this.stock().catch(() => undefined);
      await sleep(500);
    }
  }

  async #callOrders(): Promise<void> {
    for (let order = 1; !this.#stops; order += 3) {
      for (const number of [order, order + 1, order + 2])
        void this.onOrder(`order-${number}`).catch(() => undefined);
      await sleep(12_000);
    }
  }
}

/** One instance leads, as long as it lives: the page shows which. */
@Injectable()
@LeaderElection('feed', { ttl: '3s' })
export class Feed implements LeaderHooks {
  onElected(): void {}

  onRevoked(): void {}
}
