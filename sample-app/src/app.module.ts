import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { SchedulerLockModule } from 'nestjs-scheduler-lock';
import { lockStore } from './lock-store.js';
import { JobsController } from './jobs/jobs.controller.js';
import { MailJob } from './jobs/mail.job.js';
import { PricesJob } from './jobs/prices.job.js';
import { ReportJob } from './jobs/report.job.js';

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SchedulerLockModule.forRootAsync({
      // In an application with @nestjs/config: `inject: [ConfigService]`, and the values from there.
      useFactory: () => ({
        ...lockStore(),
        // By default host:pid:short-uuid; a name that people know reads better. Must differ between instances.
        instanceId: process.env['INSTANCE_ID'],
        // How long Ctrl-C waits for a running job. In production leave the default of 25 s.
        shutdownTimeout: '2s',
      }),
    }),
  ],
  controllers: [JobsController],
  providers: [PricesJob, ReportJob, MailJob],
})
export class AppModule {}
