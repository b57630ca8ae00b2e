import { Injectable, Module } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { SchedulerLock } from '../../../lib/index.js';

/** A job of the application itself: it brings `cron`, so that the page knows dates. */
@Injectable()
export class HousekeepingJobs {
  @Cron('0 5 * * *', { name: 'housekeeping', timeZone: 'Europe/Berlin' })
  @SchedulerLock()
  async tidy(): Promise<void> {
    // It does not come to that.
  }
}

@Module({ providers: [HousekeepingJobs] })
export class HousekeepingModule {}
