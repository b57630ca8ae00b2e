import { setTimeout as sleep } from 'node:timers/promises';
import { ConsoleLogger, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { SchedulerLock, SchedulerLockModule } from 'nestjs-scheduler-lock';
import { SchedulerLockBoardModule } from 'nestjs-scheduler-lock/board';
import { childMain } from '../../test/support/child.js';
import { lockStore } from './lock-store.js';
import type { Report } from './reports.js';

/*
 * An instance of the fleet that `npm run demo -- --page` shows: its jobs have what can befall one, within a minute.
 */

const { INSTANCE_ID = '', VERSION = '1.0.0' } = process.env;
const isNew = VERSION !== '1.0.0';

@Injectable()
class FleetJobs {
  @Cron('*/5 * * * * *')
  @SchedulerLock({ name: 'prices', ttl: '3s', overdue: '5s' })
  async prices(): Promise<void> {
    await sleep(400 + Math.random() * 600);
  }

  @Cron('*/10 * * * * *')
  @SchedulerLock({ name: 'mail', ttl: '3s', overdue: '5s' })
  async mail(): Promise<void> {
    await sleep(300);
    throw new Error('no mail server');
  }

  /** Takes longer than the time between two ticks. */
  @Cron('*/15 * * * * *')
  @SchedulerLock({ name: 'export', ttl: '3s', overdue: '5s' })
  async export(): Promise<void> {
    await sleep(25_000);
  }

  /** The instance that runs it dies: the others start the tick again. */
  @Cron('*/20 * * * * *')
  @SchedulerLock({ name: 'report', ttl: '3s', rerun: 1, overdue: '10s' })
  async report(): Promise<void> {
    await sleep(8_000);
  }

  /** Only one instance has it switched on, and that one dies. */
  @Cron('*/10 * * * * *')
  @SchedulerLock({ name: 'cleanup', ttl: '3s', overdue: '5s', enabled: INSTANCE_ID === 'old-2' })
  async cleanup(): Promise<void> {
    await sleep(200);
  }

  /** A deploy has changed when it runs. */
  @Cron(isNew ? '30 * * * * *' : '45 * * * * *')
  @SchedulerLock({ name: 'digest', ttl: '3s' })
  async digest(): Promise<void> {
    await sleep(500);
  }

  @Cron('0 3 * * *', { timeZone: 'Europe/Berlin' })
  @SchedulerLock({ name: 'nightly' })
  async nightly(): Promise<void> {
    await sleep(1_000);
  }
}

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
  providers: [FleetJobs],
})
class FleetModule {}

childMain(async (parent) => {
  const logger = new ConsoleLogger({ logLevels: ['fatal'], colors: false });
  const app = await NestFactory.create(FleetModule, { logger });
  app.enableShutdownHooks();
  parent.on('go', async () => {
    await app.listen(0, '127.0.0.1');
    const report: Report = { type: 'page', url: `${await app.getUrl()}/jobs` };
    await parent.send({ ...report }).catch(() => undefined);
  });
  await parent.send({ type: 'ready' });
});
