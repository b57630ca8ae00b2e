import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { currentLock, SchedulerLock, SchedulerLockEvents, SchedulerLockModule } from 'nestjs-scheduler-lock';
import { childMain, type Parent } from '../../support/child.js';
import type { InstanceOptions, TickJob } from '../support/instance.js';
import { closeOnDemand, createApp } from './application.js';
import { openStore } from './open-store.js';
import { kindOf } from '../../support/events.js';

/*
 * One instance of a fleet with a scheduled job, `nightly`. Started by `startTickInstance` in ../support/instance.ts,
 * which says what its messages mean.
 */

const { store: address, ...given } = JSON.parse(process.env['FAULT_OPTIONS'] ?? '{}') as InstanceOptions;
const store = await openStore(address);
const options = { ...given, ...store.options };
const {
  expression,
  deadly,
  quick,
  timeZone = 'UTC',
} = JSON.parse(process.env['FAULT_JOB'] ?? '{}') as TickJob;

let parent: Parent;
let end = (): void => undefined;

@Injectable()
class Jobs {
  @Cron(expression, { name: 'nightly', timeZone })
  @SchedulerLock({ name: 'nightly', job: 'nightly' })
  async nightly(): Promise<void> {
    const { tick, attempt, fencingToken } = currentLock();
    const ended = new Promise<void>((resolve) => (end = resolve));
    await parent.send({ type: 'job-started', tick, attempt, fencingToken });
    if (deadly) process.kill(process.pid, 'SIGKILL');
    if (!quick) await ended;
  }
}

@Module({ imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot(options)], providers: [Jobs] })
class AppModule {}

childMain(async (channel) => {
  parent = channel;
  const app = await createApp(AppModule);
  app.get(SchedulerLockEvents).on((event) => {
    void parent.send({ ...JSON.parse(JSON.stringify(event)), type: `event:${kindOf(event)}` });
  });
  parent.on('run', () => void app.get(SchedulerRegistry).getCronJob('nightly').fireOnTick());
  parent.on('end', () => end());
  parent.on('close', () => end());
  closeOnDemand(parent, app, store);
  await parent.send({ type: 'ready' });
});
