import { ConsoleLogger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { type Lock, SchedulerLockEvents, SchedulerLockModule } from 'nestjs-scheduler-lock';
import { childMain } from '../../test/support/child.js';
import { MailJob } from '../src/jobs/mail.job.js';
import { PricesJob } from '../src/jobs/prices.job.js';
import { ReportJob } from '../src/jobs/report.job.js';
import { lockStore } from './lock-store.js';
import { machineTime, type Report } from './reports.js';

/*
 * Three jobs of the sample app, as an instance of the demo, with the store that it is about: it begins when it is told to, so that
 * all begin together, and tells what happens in it.
 */
@Module({
  imports: [
    ScheduleModule.forRoot(),
    SchedulerLockModule.forRoot({
      ...lockStore(),
      instanceId: process.env['INSTANCE_ID'],
      shutdownTimeout: '2s',
      // The one that is killed counts as gone after three of these: the demo is short.
      insight: { beat: '1s' },
    }),
  ],
  providers: [PricesJob, ReportJob, MailJob],
})
class DemoModule {}

childMain(async (parent) => {
  const tell = (report: Report): void => void parent.send({ ...report }).catch(() => undefined);
  watch('prices', PricesJob.prototype, tell);
  watch('report', ReportJob.prototype, tell);
  watch('mail', MailJob.prototype, tell);

  const logger = new ConsoleLogger({ logLevels: ['warn', 'error', 'fatal'], colors: false });
  const app = await NestFactory.create(DemoModule, { logger });
  app.enableShutdownHooks();
  app.get(SchedulerLockEvents).on((event) => {
    const { type, lock } = event;
    if (lock === undefined) return;
    const { reason, holder } = event.type === 'skipped' || event.type === 'lost' ? event : {};
    const { expiresIn } = event.type === 'skipped' ? event : {};
    tell({ type: 'lock', at: machineTime(), event: type, lock, reason, holder, expiresIn });
  });
  parent.on('go', async () => {
    await app.listen(0, '127.0.0.1');
  });
  tell({ type: 'ready' });
});

/** Watches the work itself, not the lock around it: what the lock believes is what the demo is to check. */
function watch(
  job: string,
  prototype: { work(lock: Lock): Promise<unknown> },
  tell: (report: Report) => void,
): void {
  const { work } = prototype;
  prototype.work = async function (lock) {
    const run = { job, fencingToken: lock.fencingToken ?? 0 };
    tell({ type: 'run-started', at: machineTime(), ...run, tick: lock.tick });
    let outcome: 'completed' | 'failed' = 'failed';
    try {
      const result = await work.call(this, lock);
      outcome = 'completed';
      return result;
    } finally {
      tell({ type: 'run-ended', at: machineTime(), outcome, ...run });
    }
  };
}
