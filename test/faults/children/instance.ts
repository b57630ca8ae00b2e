import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import {
  currentLock,
  type Lock,
  LockLostError,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
} from 'nestjs-scheduler-lock';
import { childMain, type Parent } from '../../support/child.js';
import type { InstanceOptions } from '../support/instance.js';
import { closeOnDemand, createApp } from './application.js';
import { openStore } from './open-store.js';
import { kindOf } from '../../support/events.js';

/*
 * One instance of a fleet: a Nest application with one job, which ends when the parent says so. Started by
 * `startInstance` in ../support/instance.ts, which says what its messages mean.
 */

const { store: address, ...given } = JSON.parse(process.env['FAULT_OPTIONS'] ?? '{}') as InstanceOptions;
const store = await openStore(address);
const options = { ...given, ...store.options };

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

childMain(async (channel) => {
  parent = channel;
  const app = await createApp(AppModule);
  app.get(SchedulerLockEvents).on((event) => {
    const error = 'error' in event ? describe(event.error) : {};
    void parent.send({ ...event, ...error, type: `event:${kindOf(event)}` });
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
  closeOnDemand(parent, app, store);
  await parent.send({ type: 'ready' });
});
