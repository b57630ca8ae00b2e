import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { currentLock, type Lock, SchedulerLock } from 'nestjs-scheduler-lock';

/** A quick job: over in a few milliseconds. */
@Injectable()
export class PricesJob {
  readonly #logger = new Logger(PricesJob.name);

  /** Over before the timer of a slower instance fires: that one is told that this tick has been run. */
  @Cron(CronExpression.EVERY_5_SECONDS)
  @SchedulerLock({ name: 'prices', ttl: '10s' })
  async refresh() {
    const lock = currentLock();
    this.#logger.log(`refreshing on ${lock.holder}, fencing token ${lock.fencingToken}`);
    await this.work(lock);
    return { ranOn: lock.holder, fencingToken: lock.fencingToken };
  }

  /** What the job is for; here it only takes its time. */
  async work({ signal }: Lock): Promise<void> {
    await sleep(5, undefined, { signal });
  }
}
