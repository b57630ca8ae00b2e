import { ConsoleLogger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SchedulerLockEvents, SchedulerLockModule, SchedulerLockService } from 'nestjs-scheduler-lock';
import { childMain } from '../../test/support/child.js';
import { lockStore } from './lock-store.js';
import { machineTime, type Report } from './reports.js';

/*
 * An instance whose calls wait for a lock. It calls when it is told to, works until it is told to end, and tells what happens.
 */
const LOCK = 'sync';

@Module({
  imports: [
    SchedulerLockModule.forRoot({
      ...lockStore(),
      instanceId: process.env['INSTANCE_ID'],
      shutdownTimeout: '2s',
    }),
  ],
})
class CallerModule {}

childMain(async (parent) => {
  const tell = (report: Report): void => void parent.send({ ...report }).catch(() => undefined);
  const logger = new ConsoleLogger({ logLevels: ['warn', 'error', 'fatal'], colors: false });
  const app = await NestFactory.createApplicationContext(CallerModule, { logger });
  app.enableShutdownHooks();
  const locks = app.get(SchedulerLockService);
  app.get(SchedulerLockEvents).on('waiting', ({ type, lock, holder, ahead }) => {
    tell({ type: 'lock', at: machineTime(), event: type, lock, holder, ahead });
  });

  let end: (() => void) | undefined;
  parent.on('end', () => end?.());
  parent.on('call', async () => {
    const result = await locks.run(LOCK, { wait: '1m' }, async ({ fencingToken = 0 }) => {
      const run = { job: LOCK, fencingToken };
      const told = new Promise<void>((resolve) => (end = resolve));
      tell({ type: 'run-started', at: machineTime(), ...run });
      await told;
      tell({ type: 'run-ended', at: machineTime(), outcome: 'completed', ...run });
    });
    if (!result.ran) throw new Error(`A call that waits was skipped (${result.reason})`);
  });
  tell({ type: 'ready' });
});
