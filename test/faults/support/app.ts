import 'reflect-metadata';
import { afterEach } from '@jest/globals';
import type { INestApplicationContext, LoggerService, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type SchedulerLockEvent,
  SchedulerLockEvents,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
  SchedulerLockService,
} from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { type EventKind, type EventOf, isEvent, kindOf } from '../../support/events.js';

/** Nest's logger is one for the whole process, so this one is too. */
const lines: { level: string; text: string }[] = [];
const write =
  (level: string) =>
  (text: unknown, ...rest: unknown[]): void => {
    // Errors have a stack before the context.
    if (rest.at(-1) === 'SchedulerLock') lines.push({ level, text: String(text) });
  };
const logger: LoggerService = {
  log: write('log'),
  warn: write('warn'),
  error: write('error'),
  debug: write('debug'),
};

const open = new Set<TestApp>();

/** A Nest application in this process. */
export class TestApp {
  readonly events: SchedulerLockEvent[] = [];

  constructor(readonly context: INestApplicationContext) {
    context.get(SchedulerLockEvents).on((event) => void this.events.push(event));
  }

  get locks(): SchedulerLockService {
    return this.context.get(SchedulerLockService);
  }

  /** The events of this kind so far, of one lock or of all. */
  heard<K extends EventKind>(kind: K, lock?: string): EventOf<K>[] {
    return this.events.filter(isEvent(kind)).filter((event) => lock === undefined || event.lock === lock);
  }

  /** Resolves with the first event of this kind, once there have been `count` of them. */
  async event<K extends EventKind>(kind: K, lock?: string, count = 1): Promise<EventOf<K>> {
    const message = (): string =>
      `${count} × the event ${kind}${lock === undefined ? '' : ` of ${lock}`}; heard: ${this.events.map(kindOf).join(', ')}`;
    const heard = await until(
      () => {
        const events = this.heard(kind, lock);
        return events.length >= count && events;
      },
      { message },
    );
    return heard[0] as EventOf<K>;
  }

  async close(): Promise<void> {
    open.delete(this);
    await this.context.close();
  }
}

/** Starts an application, closed after the test at the latest. */
export async function startApp(
  options: SchedulerLockModuleOptions,
  providers: Type[] = [],
): Promise<TestApp> {
  class AppModule {}
  const context = await NestFactory.createApplicationContext(
    { module: AppModule, imports: [SchedulerLockModule.forRoot(options)], providers },
    { logger, abortOnError: false },
  );
  const app = new TestApp(context);
  open.add(app);
  return app;
}

/** What the library has logged since the test began, but for what is only for debugging. */
export function logged(pattern = /^/): string[] {
  return lines
    .filter(({ level, text }) => level !== 'debug' && pattern.test(text))
    .map(({ level, text }) => `${level}: ${text}`);
}

export function closeApps(): void {
  afterEach(async () => {
    await Promise.all([...open].map((app) => app.close()));
    lines.length = 0;
  });
}

/** A job that lasts until it is told to end. */
export function job() {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  let start!: () => void;
  const started = new Promise<void>((resolve) => (start = resolve));
  let runs = 0;
  return {
    /** Give this to `locks.run()`. */
    body: async (): Promise<void> => {
      runs += 1;
      start();
      await ended;
    },
    started,
    end,
    get runs() {
      return runs;
    },
  };
}

/** A lock with a job that runs under it. */
export interface HeldLock {
  /** Ends the job; resolves when its lease has been given back. */
  end(): Promise<void>;
}

/** Runs a job that lasts until it is told to end. On a machine so busy that a call times out, it is called again. */
export async function hold(app: TestApp, name: string): Promise<HeldLock> {
  const begin = async () => {
    const { body, started, end } = job();
    const run = app.locks.run(name, body);
    const runs = await Promise.race([started.then(() => true), run.then(() => false)]);
    return runs && { run, end };
  };
  const { run, end } = await until(begin, { message: `a run that holds ${name}` });
  return {
    end: async () => {
      end();
      await run;
    },
  };
}
