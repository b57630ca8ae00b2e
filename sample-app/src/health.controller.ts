import { Controller, Get } from '@nestjs/common';
import { SchedulerLockHealth } from 'nestjs-scheduler-lock';

/** For a readiness probe, and for people. */
@Controller('health')
export class HealthController {
  constructor(private readonly jobs: SchedulerLockHealth) {}

  /**
   * From memory, without a call of the store. If the store is away, or a job fails, the instance is degraded, not down: no restart
   * would mend that.
   */
  @Get()
  async health() {
    return this.jobs.check();
  }
}
