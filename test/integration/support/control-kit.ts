import { afterEach, beforeEach } from '@jest/globals';
import { Injectable, type Provider } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  Control,
  currentLock,
  type LockInfo,
  type LockStore,
  SchedulerLock,
  SchedulerLockControl,
  SchedulerLockInsight,
  SchedulerLockService,
} from '../../../lib/index.js';
import { systemClock } from '../../../lib/base/clock.js';
import { until } from '../../support/until.js';
import { closeApps, startApp, type TestApp } from '../app.js';
import type { QueuedCallFleet } from './queued-call-stores.js';

/** Two persons. */
export const ANNA = { actor: 'anna@ops', reason: 'the provider is down: café' } as const;
export const BOB = { actor: 'bob' } as const;

/** A job that notes its runs, and lasts as long as the test wants. */
export function invoices(work: () => Promise<unknown> = async () => undefined) {
  const ran: { fencingToken: number | undefined; signal: AbortSignal; args: readonly unknown[] }[] = [];
  @Injectable()
  class Invoices {
    // Not by itself: tests fire it.
    @Cron('0 0 1 1 *', { name: 'send' })
    @SchedulerLock({ name: 'invoices', ttl: '3s' })
    async send(...args: unknown[]): Promise<void> {
      const { fencingToken, signal } = currentLock();
      ran.push({ fencingToken, signal, args });
      await work();
    }
  }
  return { Invoices, ran };
}

export const skips = (app: TestApp): unknown[] =>
  app.events.flatMap((event) => (event.type === 'skipped' ? [[event.reason, event.paused?.actor]] : []));
export const controlled = (app: TestApp): string[] =>
  app.events.flatMap((event) => (event.type === 'controlled' ? [`${event.action} by ${event.actor}`] : []));

/** A fleet with one store for each test, and what tests do with it. */
export function useFleet(open: () => Promise<QueuedCallFleet>) {
  let fleet: QueuedCallFleet;
  beforeEach(async () => void (fleet = await open()));
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    await closeApps();
    for (const close of closing.splice(0)) await close();
    await fleet.stop();
  });

  async function start(
    work?: () => Promise<unknown>,
    store: LockStore = fleet.store(),
    more: readonly Provider[] = [],
  ) {
    const { Invoices, ran } = invoices(work);
    const app = await startApp([Invoices, ...more], { store, insight: { beat: '1s' } });
    const control = app.get(SchedulerLockControl);
    const insight = app.get(SchedulerLockInsight);
    await until(async () => (await insight.job('Invoices.send')) !== undefined);
    const lock = async (): Promise<LockInfo | undefined> =>
      (await app.get(SchedulerLockService).inspect(['invoices']))[0];
    return { app, ran, control, insight, lock, byHand: () => app.get(Invoices).send() };
  }

  /** As the shell: it has the store, and no job. */
  async function elsewhere(store: LockStore = fleet.store()): Promise<Control> {
    await store.init?.();
    if (store.close !== undefined) closing.push(() => store.close?.());
    return new Control(store, { clock: systemClock, instance: 'elsewhere' });
  }

  /** The locks as a store of its own sees them. */
  async function fleetLocks(): Promise<LockInfo[] | undefined> {
    const store = fleet.store();
    await store.init?.();
    if (store.close !== undefined) closing.push(() => store.close?.());
    return store.inspect?.(['invoices']);
  }

  return { start, elsewhere, fleetLocks, store: () => fleet.store() };
}
