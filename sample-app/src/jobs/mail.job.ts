import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentLock, type Lock, SchedulerLock } from 'nestjs-scheduler-lock';

/** A job that fails. Its lock is given back all the same, and the next run may be on any instance. */
@Injectable()
export class MailJob {
  @Cron('3/10 * * * * *')
  @SchedulerLock({ name: 'mail', ttl: '10s' })
  async send(): Promise<void> {
    await this.work(currentLock());
  }

  /** What the job is for; here it never succeeds. */
  async work({ signal, holder, fencingToken }: Lock): Promise<void> {
    await sleep(20, undefined, { signal });
    throw new Error(`The mail server refused (sent by ${holder}, fencing token ${fencingToken})`);
  }
}
