import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import {
  type ControlSwitches,
  currentLock,
  LOCK_STORE,
  type LockStore,
  SchedulerLock,
  SchedulerLockControl,
  SchedulerLockEvents,
  SchedulerLockInsight,
  SchedulerLockModule,
} from 'nestjs-scheduler-lock';
import { childMain, type Parent } from '../../support/child.js';
import type { InstanceOptions } from '../support/instance.js';
import { closeOnDemand, createApp } from './application.js';
import { openStore } from './open-store.js';

/*
 * One instance of a fleet with a job of each second, whose switches somebody uses. Started by ../control.full.ts. On `hold` its runs go on
 * until `end`; on `switch` it does what a person wants, and tells what became of it. On `stall` the next switch gets no further than a call of
 * the store.
 */

const { store: address, ...given } = JSON.parse(process.env['FAULT_OPTIONS'] ?? '{}') as InstanceOptions;
const store = await openStore(address);

let parent: Parent;
let held: Promise<void> | undefined;
let end = (): void => undefined;

@Injectable()
class Fleet {
  @Cron('* * * * * *', { timeZone: 'UTC' })
  @SchedulerLock({ name: 'work', job: 'work' })
  async work(): Promise<void> {
    const { fencingToken, signal } = currentLock();
    await parent.send({ type: 'began', fencingToken });
    await Promise.race([held, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
    await parent.send({ type: 'ended', fencingToken, aborted: signal.aborted });
  }
}

/** The next switch stops for ever at this call of the store: before the call is sent, or once it is answered. Then it says so. */
function stall(lockStore: LockStore, call: string, when: string): void {
  const { queuedCalls } = lockStore;
  const stopAt = async <T>(send: () => Promise<T>): Promise<T> => {
    if (when === 'after') await send();
    await parent.send({ type: 'stalled' });
    return new Promise(() => undefined);
  };
  if (call === 'release') {
    const release = lockStore.release.bind(lockStore);
    lockStore.release = (lease, options) => {
      const send = (): ReturnType<typeof release> => release(lease, options);
      return options?.record?.by?.action === 'break' ? stopAt(send) : send();
    };
  } else if (call === 'pause') {
    const pause = lockStore.pause?.bind(lockStore);
    if (pause) lockStore.pause = (name, asked) => stopAt(() => pause(name, asked));
  } else if (call === 'resume') {
    const resume = lockStore.resume?.bind(lockStore);
    if (resume) lockStore.resume = (name, asked) => stopAt(() => resume(name, asked));
  } else if (queuedCalls !== undefined) {
    const enqueue = queuedCalls.enqueue.bind(queuedCalls);
    queuedCalls.enqueue = (queued, options) => stopAt(() => enqueue(queued, options));
  }
}

@Module({
  imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot({ ...given, ...store.options })],
  providers: [Fleet],
})
class AppModule {}

childMain(async (channel) => {
  parent = channel;
  // Before its first run.
  parent.on('hold', () => void (held = new Promise((resolve) => (end = resolve))));
  parent.on('end', () => {
    held = undefined;
    end();
  });
  held = new Promise((resolve) => (end = resolve));
  const app = await createApp(AppModule);
  app.get(SchedulerLockEvents).on('skipped', ({ reason, paused }) => {
    if (reason === 'paused') void parent.send({ type: 'paused', actor: paused?.actor });
  });
  parent.on('switch', async ({ action, request }) => {
    const control = app.get(SchedulerLockControl);
    const act = control[action as keyof ControlSwitches] as (request: unknown) => Promise<object>;
    await parent.send({ type: 'switched', ...(await act.call(control, request)) });
  });
  parent.on('stall', ({ call, when }) => stall(app.get<LockStore>(LOCK_STORE), String(call), String(when)));
  parent.on('look', async () => {
    const insight = app.get(SchedulerLockInsight);
    const [runs, acts] = [await insight.runs({ lock: 'work' }), await insight.controls({ lock: 'work' })];
    const { length: instances } = await insight.instances();
    await parent.send({ type: 'seen', status: (await insight.job('work'))?.status, runs, acts, instances });
  });
  closeOnDemand(parent, app, store);
  await parent.send({ type: 'ready' });
});
