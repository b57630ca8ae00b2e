import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  MemoryLockStore,
  SchedulerLockConfigError,
  SchedulerLockEvents,
  SchedulerLockModule,
  type SchedulerLockEvent,
  type SchedulerLockModuleOptions,
} from '../../lib/index.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  ReleaseOptions,
  ReleaseResult,
} from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';

type Level = 'log' | 'error' | 'warn' | 'debug' | 'verbose' | 'fatal';

/** Keeps what is logged, and prints nothing. */
export class LogLines {
  readonly lines: { level: Level; message: string; context: unknown }[] = [];

  log = this.#write('log');
  error = this.#write('error');
  warn = this.#write('warn');
  debug = this.#write('debug');
  verbose = this.#write('verbose');
  fatal = this.#write('fatal');

  /** What this library logged: `level: message`. */
  get own(): string[] {
    return this.lines
      .filter(({ context }) => context === 'SchedulerLock')
      .map(({ level, message }) => `${level}: ${message}`);
  }

  #write(level: Level) {
    return (message: unknown, ...rest: unknown[]): void => {
      this.lines.push({ level, message: String(message), context: rest.at(-1) });
    };
  }
}

/** An application that is running. */
export interface TestApp {
  readonly module: TestingModule;
  readonly logs: LogLines;
  readonly events: SchedulerLockEvent[];
  get<T>(token: abstract new (...args: never[]) => T): T;
  /** Fires a cron job as the scheduler does, and waits for it. */
  fire(name: string): Promise<void>;
  close(): Promise<void>;
}

const running = new Set<{ close(): Promise<void> }>();

/** Closes what the test has started and not closed. */
export async function closeApps(): Promise<void> {
  await Promise.all([...running].map((app) => app.close()));
}

/** Starts an application of these parts. */
export async function startModule(metadata: ModuleMetadata): Promise<TestApp> {
  const logs = new LogLines();
  const module = await Test.createTestingModule(metadata).setLogger(logs).compile();
  const events = module.get(SchedulerLockEvents, { strict: false });
  const seen: SchedulerLockEvent[] = [];
  events.on((event) => void seen.push(event));
  let closed: Promise<void> | undefined;
  let refusal: unknown;
  // After a start that failed, close() of NestJS 11 fails with the same.
  const close = (): Promise<void> =>
    module.close().catch((error: unknown) => {
      if (error !== refusal) throw error;
    });
  const app: TestApp = {
    module,
    logs,
    events: seen,
    get: (token) => module.get(token, { strict: false }),
    fire: async (name) => {
      await module.get(SchedulerRegistry, { strict: false }).getCronJob(name).fireOnTick();
    },
    close: () => {
      running.delete(app);
      return (closed ??= close());
    },
  };
  running.add(app);
  await module.init().catch((error: unknown) => {
    refusal = error;
    throw error;
  });
  return app;
}

/** Starts an application with the scheduler and these providers; leases in memory unless told otherwise. */
export function startApp(
  providers: NonNullable<ModuleMetadata['providers']>,
  options: SchedulerLockModuleOptions = { store: 'memory' },
): Promise<TestApp> {
  return startModule({
    imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot(options)],
    providers,
  });
}

/** The message with which a start is refused. */
export async function startFailure(start: Promise<unknown>): Promise<string> {
  const error = await start.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof SchedulerLockConfigError) return error.message;
  throw new Error('the application was not refused as misconfigured', { cause: error });
}

/** Listens on a free loopback port. */
export async function serve(app: INestApplication): Promise<string> {
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

/** Leases in memory, with a note of every call. */
export class NotedStore extends MemoryLockStore {
  readonly calls: string[] = [];

  init(): Promise<void> {
    this.calls.push('init');
    return Promise.resolve();
  }

  override acquire(request: AcquireRequest): Promise<AcquireResult> {
    this.calls.push(`acquire ${request.name}`);
    return super.acquire(request);
  }

  override extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    this.calls.push(`extend ${leases.map(({ name }) => name).join()}`);
    return super.extend(leases);
  }

  override release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    this.calls.push(`release ${lease.name} ${options?.outcome}`);
    return super.release(lease, options);
  }

  close(): Promise<void> {
    this.calls.push('close');
    return Promise.resolve();
  }
}

/** A promise that the test resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
