import 'reflect-metadata';
import { ConsoleLogger, type LogLevel, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import {
  SchedulerLockControl,
  type SchedulerLockEvent,
  SchedulerLockEvents,
  SchedulerLockModule,
  SchedulerLockService,
} from 'nestjs-scheduler-lock';
import { childMain } from '../../support/child.js';
import { monotonic } from '../history.js';
import { isQuiet, MOST_KEPT, OVERDUE, STORE_TIMEOUT, volleyJobs } from '../jobs.js';
import type { StoreConnection } from '../stores/store.js';
import { storeOptions } from '../stores/worker-options.js';
import { Callers } from './callers.js';
import { Hooks } from './hooks.js';
import { Jobs, volleyOf } from './jobs.js';
import { Recorder } from './recorder.js';
import { Switches } from './switches.js';

/** The options that the driver passes to an instance, in the environment variable CHAOS_WORKER. */
export interface WorkerOptions {
  readonly folder: string;
  readonly instance: string;
  readonly life: number;
  readonly connection: StoreConnection;
  /** How many short jobs fire at the same second. */
  readonly volley: number;
  /** How many of its calls stand in line at the same time. */
  readonly callers: number;
}

/** How long a shutdown waits for jobs, ms: shorter than the longest job. */
const SHUTDOWN_TIMEOUT = 1_500;

const { folder, instance, life, connection, volley, callers } = JSON.parse(
  process.env['CHAOS_WORKER'] ?? '{}',
) as WorkerOptions;
const recorder = new Recorder(folder, instance, life);
const Volley = volleyOf(volleyJobs(volley));

/** What the library's own listeners use: a listener that says what it wants. */
interface Listening {
  listen(listener: (event: SchedulerLockEvent) => unknown, wants: (wanted: string) => boolean): void;
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SchedulerLockModule.forRoot({
      ...storeOptions(connection),
      instanceId: `${instance}.${life}`,
      storeTimeout: STORE_TIMEOUT,
      shutdownTimeout: SHUTDOWN_TIMEOUT,
      // Nothing is pushed out within a run.
      insight: { keep: MOST_KEPT, beat: 1_000 },
      overdue: OVERDUE,
    }),
  ],
  providers: [
    {
      provide: Jobs,
      // Listens before the first job can be fired.
      useFactory: (events: SchedulerLockEvents) => {
        // Listeners that write to the same place throw as well.
        for (const listener of [
          (event: SchedulerLockEvent) => recorder.hear(event),
          mayThrow,
          async () => mayThrow(),
        ])
          (events as unknown as Listening).listen(
            listener,
            (wanted) => wanted !== 'refusal' || !isQuiet(Date.now()),
          );
        return new Jobs(recorder);
      },
      inject: [SchedulerLockEvents],
    },
    { provide: Volley, useFactory: () => new Volley(recorder) },
    {
      provide: Callers,
      useFactory: (locks: SchedulerLockService) => new Callers(recorder, locks, callers),
      inject: [SchedulerLockService],
    },
    {
      provide: Hooks,
      useFactory: (locks: SchedulerLockService) => new Hooks(recorder, locks, callers > 0),
      inject: [SchedulerLockService],
    },
  ],
})
class AppModule {}

/** Whether the logger throws on each call, like one whose worker has exited, or whose disk is full. */
let broken = false;
const mayThrow = (): void => {
  if (broken) throw new Error('This logger is broken');
};

/**
 * Nest's own logger, as the library knows of no other one what it shows. The level `debug` has a line for each refusal: with any other
 * logger somebody would always want the details, and no attempt would begin with a look.
 */
class FleetLogger extends ConsoleLogger {
  override isLevelEnabled(level: LogLevel): boolean {
    return level !== 'debug' || !isQuiet(Date.now());
  }

  override log(): void {
    mayThrow();
  }

  override warn(): void {
    mayThrow();
  }

  override debug(): void {
    mayThrow();
  }

  override error(...given: unknown[]): void {
    mayThrow();
    console.error(...given);
  }
}

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
  app.useLogger(new FleetLogger());
  app.enableShutdownHooks();
  const switches = new Switches(recorder, app.get(SchedulerLockControl), app.get(SchedulerLockService));
  parent.on('switch', (message) => switches.hear(message));
  parent.on('logger', ({ throws }) => void (broken = throws === true));
  recorder.write({ k: 'up', m: monotonic() });
  await parent.send({ type: 'up' });
});
