import { Module } from '@nestjs/common';
import { CalendarJob } from './calendar.job.js';
import { CustomerJobs } from './customer.jobs.js';
import { JobsController } from './jobs.controller.js';
import { MailJob } from './mail.job.js';
import { PricesJob } from './prices.job.js';
import { ReportJob } from './report.job.js';

@Module({
  controllers: [JobsController],
  providers: [PricesJob, ReportJob, MailJob, CustomerJobs, CalendarJob],
})
export class JobsModule {}
