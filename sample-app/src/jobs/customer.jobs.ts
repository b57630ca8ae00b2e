import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type Lock, SchedulerLockService } from 'nestjs-scheduler-lock';

/** In an application they come from a table, and so do their schedules. */
const CUSTOMERS = [{ id: 'acme', schedule: '5/20 * * * * *' }];

/** A job for each customer, made when the application starts: each instance makes it, and one runs it. */
@Injectable()
export class CustomerJobs implements OnModuleInit {
  readonly #logger = new Logger(CustomerJobs.name);

  constructor(private readonly locks: SchedulerLockService) {}

  onModuleInit(): void {
    for (const { id, schedule } of CUSTOMERS) {
      this.locks.cron(`export-${id}`, schedule, { timeZone: 'UTC', ttl: '10s' }, (lock) =>
        this.export(id, lock),
      );
    }
  }

  async export(customer: string, { holder, signal }: Lock): Promise<void> {
    this.#logger.log(`exporting for ${customer} on ${holder}`);
    await sleep(50, undefined, { signal });
  }
}
