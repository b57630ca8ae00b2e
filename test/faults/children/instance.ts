import 'reflect-metadata';
import { Injectable, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  currentLock,
  type Lock,
  LockLostError,
  type LockStore,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
} from 'nestjs-scheduler-lock';
import { childMain, type Parent } from '../../support/child-main.js';

/*
 * One instance of a fleet: a Nest application with one job, which ends when the parent says so. Started by
 * `startInstance` in ../support/instance.ts, which says what its messages mean.
 */

const { database, ...given } = JSON.parse(
  process.env['FAULT_OPTIONS'] ?? '{}',
) as SchedulerLockModuleOptions & {
  /** Instead of a connection to Redis: a table of a database. */
  database?: { url: string; table: string };
};

/** Ends the pool, which is the application's. */
let endPool = async (): Promise<void> => undefined;

/** Drivers are loaded by those who need them: every instance has to start soon. */
async function databaseStore({ url, table }: { url: string; table: string }): Promise<LockStore> {
  if (url.startsWith('mysql:')) {
    const { createPool } = await import('mysql2/promise');
    const { MysqlLockStore } = await import('nestjs-scheduler-lock/mysql');
    const pool = createPool(url);
    endPool = () => pool.end();
    return new MysqlLockStore(pool, { table });
  }
  const { default: pg } = await import('pg');
  const { PostgresLockStore } = await import('nestjs-scheduler-lock/postgres');
  const pool = new pg.Pool({ connectionString: url });
  // Without a listener an idle connection that breaks ends the process.
  pool.on('error', () => undefined);
  endPool = () => pool.end();
  return new PostgresLockStore(pool, { table });
}

const options = database === undefined ? given : { ...given, store: await databaseStore(database) };

let parent: Parent;
let lock: Lock | undefined;
let end = (): void => undefined;

const describe = (error: unknown) =>
  error instanceof Error
    ? { error: error.name, message: error.message, reason: error instanceof LockLostError && error.reason }
    : { error: String(error) };

/** Whether the job may go on, by the clock of this moment. */
const judge = () => {
  try {
    lock?.assertLocked();
    return { held: lock !== undefined };
  } catch (error) {
    return { held: false, ...describe(error) };
  }
};

/** Blocks the event loop, as a long calculation does, without taking the processor from the other tests. */
const block = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

@Injectable()
class Jobs {
  @SchedulerLock('job')
  async work(blockFor?: number): Promise<void> {
    lock = currentLock();
    const { signal, fencingToken } = lock;
    signal.addEventListener('abort', () => void parent.send({ type: 'aborted', ...describe(signal.reason) }));
    const ended = new Promise<void>((resolve) => (end = resolve));
    await parent.send({ type: 'job-started', fencingToken });
    if (blockFor === undefined) return ended;
    block(blockFor);
    // Ends without giving the event loop a turn: nothing but the clock can have told it.
    await parent.send({ type: 'unblocked', ...judge() });
  }
}

@Module({ imports: [SchedulerLockModule.forRoot(options)], providers: [Jobs] })
class AppModule {}

const silent = (): void => undefined;
const logger: LoggerService = { log: silent, warn: silent, error: silent, debug: silent };

childMain(async (channel) => {
  parent = channel;
  const app = await NestFactory.createApplicationContext(AppModule, { logger, abortOnError: false });
  app.get(SchedulerLockEvents).on((event) => {
    const { type, ...facts } = event;
    const error = 'error' in facts ? describe(facts.error) : {};
    void parent.send({ ...facts, ...error, type: `event:${type}` });
  });
  const jobs = app.get(Jobs);
  parent.on('run', async ({ blockFor }) => {
    await jobs.work(blockFor as number | undefined);
    await parent.send({ type: 'ran' });
  });
  parent.on('end', () => end());
  parent.on('block', async ({ ms }) => {
    block(ms as number);
    await parent.send({ type: 'unblocked', ...judge() });
  });
  parent.on('judge', () => parent.send({ type: 'judged', ...judge() }));
  parent.on('close', async () => {
    await app.close();
    await endPool();
    await parent.send({ type: 'closed' });
    // Not process.exit(): whatever the application has left open keeps the process from ending.
    process.removeAllListeners('disconnect');
    process.disconnect();
  });
  await parent.send({ type: 'ready' });
});
