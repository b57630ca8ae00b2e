import {
  ConflictException,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  ServiceUnavailableException,
} from '@nestjs/common';
import { LockNotAcquiredError, SchedulerLockService } from 'nestjs-scheduler-lock';
import { CalendarJob } from './calendar.job.js';
import { PricesJob } from './prices.job.js';
import { ReportJob } from './report.job.js';

/** Runs jobs by hand: through the same locks as the scheduler. */
@Controller('jobs')
export class JobsController {
  constructor(
    private readonly prices: PricesJob,
    private readonly report: ReportJob,
    private readonly calendar: CalendarJob,
    private readonly locks: SchedulerLockService,
  ) {}

  /** Who holds which lock, and the last tick of each job, whichever instance is asked. */
  @Get('locks')
  async inspect() {
    return this.locks.inspect();
  }

  /** Without `onSkip: 'throw'` a call that was skipped resolves `undefined`. */
  @Post('prices')
  @HttpCode(200)
  async refreshPrices() {
    return (await this.prices.refresh()) ?? { ran: false };
  }

  /** A webhook. Answers at once if somebody syncs: then the change is queued, and is synced after that. */
  @Post('calendar/:id')
  @HttpCode(200)
  async calendarChanged(@Param('id') id: string) {
    try {
      return (await this.calendar.changed(id)) ?? { queued: id };
    } catch (error) {
      if (!(error instanceof LockNotAcquiredError)) throw error;
      throw new ServiceUnavailableException(error.message);
    }
  }

  /** Answers when the report is built, or with 409 and the instance that is building it. */
  @Post('report')
  @HttpCode(200)
  async buildReport() {
    try {
      return await this.report.build();
    } catch (error) {
      if (!(error instanceof LockNotAcquiredError)) throw error;
      const { message, reason, holder } = error;
      throw new ConflictException({ message, reason, holder });
    }
  }
}
