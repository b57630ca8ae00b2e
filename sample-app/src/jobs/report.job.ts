import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentLock, type Lock, SchedulerLock } from 'nestjs-scheduler-lock';

const PAGES = 16;
const PAGE_MS = 500;

/** A job that runs for 8 s on a lease of 3 s: the heartbeat keeps it. */
@Injectable()
export class ReportJob {
  readonly #logger = new Logger(ReportJob.name);

  /**
   * The ttl is not how long the job may run, but how long the others wait after its instance has died.
   * `onSkip: 'throw'` is for calls by hand, see the controller; the scheduler's calls just do not run.
   */
  @Cron('*/2 * * * * *')
  @SchedulerLock({ name: 'report', ttl: '3s', heartbeat: '1s', timeout: '1m', onSkip: 'throw' })
  async build() {
    const lock = currentLock();
    this.#logger.log(`building on ${lock.holder}, fencing token ${lock.fencingToken}`);
    const pages = await this.work(lock);
    this.#logger.log(`built ${pages} of ${PAGES} pages, fencing token ${lock.fencingToken}`);
    return { ranOn: lock.holder, fencingToken: lock.fencingToken, pages };
  }

  /**
   * What the job is for; here it only takes its time. The signal tells it to stop: when the lease is lost, after the
   * timeout, and at a shutdown. `assertLocked()` goes before a step that must not happen twice.
   */
  async work(lock: Lock): Promise<number> {
    let pages = 0;
    while (pages < PAGES && !lock.signal.aborted) {
      await sleep(PAGE_MS);
      lock.assertLocked();
      pages += 1;
    }
    return pages;
  }
}
