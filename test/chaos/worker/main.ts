import 'reflect-metadata';
import { type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { SchedulerLockEvents, SchedulerLockModule } from 'nestjs-scheduler-lock';
import { childMain } from '../../support/child-main.js';
import { monotonic } from '../history.js';
import { MAX_CLOCK_SKEW, STORE_TIMEOUT } from '../jobs.js';
import type { StoreConnection } from '../stores/store.js';
import { storeOptions } from '../stores/worker-options.js';
import { Jobs } from './jobs.js';
import { Recorder } from './recorder.js';

/** What the driver tells an instance, in the environment variable CHAOS_WORKER. */
export interface WorkerOptions {
  readonly folder: string;
  readonly instance: string;
  readonly life: number;
  readonly connection: StoreConnection;
}

/** How long a shutdown waits for jobs, ms: shorter than the longest job. */
const SHUTDOWN_TIMEOUT = 1_500;

const { folder, instance, life, connection } = JSON.parse(
  process.env['CHAOS_WORKER'] ?? '{}',
) as WorkerOptions;
const recorder = new Recorder(folder, instance, life);

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SchedulerLockModule.forRoot({
      ...storeOptions(connection),
      instanceId: `${instance}.${life}`,
      maxClockSkew: MAX_CLOCK_SKEW,
      storeTimeout: STORE_TIMEOUT,
      shutdownTimeout: SHUTDOWN_TIMEOUT,
    }),
  ],
  providers: [
    {
      provide: Jobs,
      // Listens before the first job can be fired.
      useFactory: (events: SchedulerLockEvents) => {
        events.on((event) => recorder.hear(event));
        return new Jobs(recorder);
      },
      inject: [SchedulerLockEvents],
    },
  ],
})
class AppModule {}

const silent = (): void => undefined;
const logger: LoggerService = { log: silent, warn: silent, error: console.error, debug: silent };

childMain(async (parent) => {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  app.useLogger(logger);
  app.enableShutdownHooks();
  recorder.write({ k: 'up', m: monotonic() });
  await parent.send({ type: 'up' });
});
