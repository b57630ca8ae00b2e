import { ConsoleLogger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Lock, SchedulerLockEvents } from 'nestjs-scheduler-lock';
import { childMain } from '../../test/support/child-main.js';
import { AppModule } from '../src/app.module.js';
import { MailJob } from '../src/jobs/mail.job.js';
import { PricesJob } from '../src/jobs/prices.job.js';
import { ReportJob } from '../src/jobs/report.job.js';
import { machineTime, type Report } from './reports.js';

/*
 * The sample app, as an instance of the demo: it begins when it is told to, so that all begin together, and tells
 * what happens in it.
 */
childMain(async (parent) => {
  const tell = (report: Report): void => void parent.send({ ...report }).catch(() => undefined);
  watch('prices', PricesJob.prototype, tell);
  watch('report', ReportJob.prototype, tell);
  watch('mail', MailJob.prototype, tell);

  const logger = new ConsoleLogger({ logLevels: ['warn', 'error', 'fatal'], colors: false });
  const app = await NestFactory.create(AppModule, { logger });
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
    tell({ type: 'run-started', at: machineTime(), ...run });
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
