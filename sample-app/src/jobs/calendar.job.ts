import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentLock, type Lock, SchedulerLock } from 'nestjs-scheduler-lock';

/** A cron and a webhook that share a lock: no change is lost, and none is synced beside another. */
@Injectable()
export class CalendarJob {
  readonly #logger = new Logger(CalendarJob.name);

  /** Late rather than never, and before the queued changes: in the end all calendars are as they should be. */
  @Cron('15/30 * * * * *', { timeZone: 'UTC' })
  @SchedulerLock({ name: 'calendar', ttl: '5s', wait: '20s', priority: 1 })
  async syncAll(): Promise<void> {
    await this.work('all calendars', currentLock());
  }

  /**
   * Called by the webhook. While somebody syncs, the call is queued, and calls for one calendar become one. Returns `undefined` for
   * one that is queued; throws if there are too many, or Redis is away: then the sender of the webhook has to try again.
   */
  @SchedulerLock<[id: string]>({
    name: 'calendar',
    ttl: '5s',
    onHeld: 'queue',
    queue: { key: (id) => id },
    onSkip: 'throw',
  })
  async changed(id: string) {
    const lock = currentLock();
    await this.work(`calendar ${id}`, lock);
    return { synced: id, ranOn: lock.holder, fencingToken: lock.fencingToken };
  }

  /** What the job is for; here it only takes its time. */
  async work(what: string, { holder, signal, queuedCall }: Lock): Promise<void> {
    const waited = queuedCall === undefined ? '' : `, queued for ${Date.now() - queuedCall.queuedAt} ms`;
    this.#logger.log(`syncs ${what} on ${holder}${waited}`);
    await sleep(300, undefined, { signal });
  }
}
