import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import {
  currentLock,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
  SchedulerLockService,
} from 'nestjs-scheduler-lock';
import { childMain, type Parent } from '../../support/child.js';
import type { InstanceOptions } from '../support/instance.js';
import { closeOnDemand, createApp } from './application.js';
import { openStore } from './open-store.js';

/*
 * One instance of a fleet whose calls are queued while their lock is taken. Started by `startWebhooks` in ../queued-calls.full.ts. On `hold` it
 * takes the lock until `letGo`; on `call` it calls the method, whose runs go on until `end`; on `stand` four of its calls wait for the lock, one
 * after another, until `leave`: so some always wait.
 */

const { store: address, ...given } = JSON.parse(process.env['FAULT_OPTIONS'] ?? '{}') as InstanceOptions;
const store = await openStore(address);

let parent: Parent;
let end = (): void => undefined;
let letGo = (): void => undefined;
let stands = false;
/** Of each call that waits, ms. */
const RUN = 100;

@Injectable()
class Webhooks {
  @SchedulerLock<[id: string]>({ name: 'calendar', onHeld: 'queue', queue: { redeliver: 1 } })
  async changed(id: string): Promise<string> {
    const { queuedCall, fencingToken } = currentLock();
    const ended = new Promise<void>((resolve) => (end = resolve));
    await parent.send({ type: 'began', id, delivery: queuedCall?.delivery, fencingToken });
    await ended;
    await parent.send({ type: 'completed', id });
    return id;
  }
}

@Module({ imports: [SchedulerLockModule.forRoot({ ...given, ...store.options })], providers: [Webhooks] })
class AppModule {}

childMain(async (channel) => {
  parent = channel;
  const app = await createApp(AppModule);
  app.get(SchedulerLockEvents).on((event) => {
    if (event.type === 'dead-lettered')
      void parent.send({ type: 'event:dead-lettered', reason: event.reason });
    if (event.type === 'skipped' && event.reason === 'queued') void parent.send({ type: 'event:queued' });
  });
  parent.on('hold', async () => {
    await app.get(SchedulerLockService).run('calendar', async () => {
      const left = new Promise<void>((resolve) => (letGo = resolve));
      await parent.send({ type: 'holds' });
      await left;
    });
  });
  parent.on('letGo', () => letGo());
  const stand = async (): Promise<void> => {
    const locks = app.get(SchedulerLockService);
    while (stands) {
      const { ran } = await locks.run('calendar', { wait: 600_000 }, () => sleep(RUN));
      await parent.send({ type: 'stood', ran });
    }
  };
  parent.on('stand', async () => {
    stands = true;
    await Promise.all(Array.from({ length: 4 }, stand));
    await parent.send({ type: 'left' });
  });
  parent.on('leave', () => void (stands = false));
  parent.on('call', async ({ id }) => {
    const result = await app.get(Webhooks).changed(String(id));
    await parent.send({ type: 'called', id, ran: result !== undefined });
  });
  parent.on('end', () => end());
  closeOnDemand(parent, app, store);
  await parent.send({ type: 'ready' });
});
