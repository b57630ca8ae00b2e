import { ConsoleLogger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { SchedulerLockEvents, SchedulerLockModule } from 'nestjs-scheduler-lock';
import { SchedulerLockBoardModule } from 'nestjs-scheduler-lock/board';
import { childMain } from '../../test/support/child.js';
import { Feed, FleetCalls, FleetJobs, INSTANCE_ID, VERSION } from './fleet-jobs.js';
import { lockStore } from './lock-store.js';
import { machineTime, type Report } from './reports.js';

/*
 * An instance of the fleet that `npm run demo -- --page` shows: it serves the page, and tells which runs it starts.
 */

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SchedulerLockModule.forRoot({
      ...lockStore(),
      instanceId: INSTANCE_ID,
      shutdownTimeout: '1s',
      insight: { beat: '1s', version: VERSION },
    }),
    // Whoever is on this machine may use it: it is a demo.
    SchedulerLockBoardModule.forRoot({
      path: 'jobs',
      guards: [],
      control: { guards: [], actor: () => 'the person at the demo' },
    }),
  ],
  providers: [FleetJobs, FleetCalls, Feed],
})
class FleetModule {}

childMain(async (parent) => {
  const tell = (report: Report): void => void parent.send({ ...report }).catch(() => undefined);
  const logger = new ConsoleLogger({ logLevels: ['fatal'], colors: false });
  const app = await NestFactory.create(FleetModule, { logger });
  app.enableShutdownHooks();
  app.get(SchedulerLockEvents).on('acquired', ({ type, lock }) => {
    tell({ type: 'lock', at: machineTime(), event: type, lock });
  });
  parent.on('go', async () => {
    await app.listen(0, '127.0.0.1');
    tell({ type: 'page', url: `${await app.getUrl()}/jobs` });
  });
  tell({ type: 'ready' });
});
