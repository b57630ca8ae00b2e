import { Controller, Get } from '@nestjs/common';
import { SchedulerLockService } from 'nestjs-scheduler-lock';

/** For a readiness probe, and for people. */
@Controller('health')
export class HealthController {
  constructor(private readonly locks: SchedulerLockService) {}

  /** A store that is away skips jobs, and no restart would mend that: the instance is degraded, not down. */
  @Get()
  async health() {
    const ping = await this.locks.ping();
    return ping.ok
      ? { status: 'ok', store: ping.store, latency: ping.latency }
      : { status: 'degraded', store: ping.store, reason: ping.error.message };
  }
}
