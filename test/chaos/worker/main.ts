import 'reflect-metadata';
import { type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { SchedulerLockEvents, SchedulerLockModule } from 'nestjs-scheduler-lock';
import { childMain } from '../../support/child.js';
import { monotonic } from '../history.js';
import { MAX_CLOCK_SKEW, STORE_TIMEOUT } from '../jobs.js';
import type { StoreConnection } from '../stores/store.js';
import { storeOptions } from '../stores/worker-options.js';
import { Jobs } from './jobs.js';
import { Recorder } from './recorder.js';

/** The options that the driver passes to an instance, in the environment variable CHAOS_WORKER. */
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
        // Listeners that write to the same place throw as well.
        events.on(quiet);
        events.on(async () => quiet());
        return new Jobs(recorder);
      },
      inject: [SchedulerLockEvents],
    },
  ],
})
class AppModule {}

/** Whether the logger throws on each call, like one whose worker has exited, or whose disk is full. */
let broken = false;
const quiet = (): void => {
  if (broken) throw new Error('This logger is broken');
};
const logger: LoggerService = {
  log: quiet,
  warn: quiet,
  debug: quiet,
  error: (...given: unknown[]) => {
    quiet();
    console.error(...given);
  },
};

// Without this, the instance would end, and the fate of its leases would not be seen.
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error: unknown) =>
    recorder.write({
      k: 'uncaught',
      m: monotonic(),
      error: error instanceof Error ? String(error.stack) : String(error),
    }),
  );

childMain(async (parent) => {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  app.useLogger(logger);
  app.enableShutdownHooks();
  parent.on('logger', ({ throws }) => void (broken = throws === true));
  recorder.write({ k: 'up', m: monotonic() });
  await parent.send({ type: 'up' });
});
