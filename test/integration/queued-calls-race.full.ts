import 'reflect-metadata';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { currentLock, type LockStore, SchedulerLock, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { QUEUED_CALL_STORES, type QueuedCallFleet } from './support/queued-call-stores.js';
import { isEvent } from '../support/events.js';

/*
 * Calls that are queued at the very moment at which their lock becomes free: because its holder lets it go, or because the last queued call
 * has run. The store itself makes the two cross: it frees the lock while it keeps the call.
 */

/** How many calls are queued on each store, half of them at either moment. Of 10,000: see test/README.md. */
const ROUNDS = Number(process.env['ROUNDS'] ?? 100);
/** How many locks this happens to at a time: most of the time each waits for a hand-over. */
const LANES = 50;
/** Longer than any busy machine takes for one, ms. */
const LONGEST = 30;
/** A call of the store that is given up leaves its queued call to the looks, which find nothing here. */
const PATIENT = { ttl: '10m', storeTimeout: '3m' } as const;

/** What a lock lets go of while a call is being queued for it, by its name. */
type Meanwhile = Map<string, () => void>;

/** The orders in which the two are sent, by turns. */
const ORDERS: readonly ((letGo: () => void, keep: () => Promise<void>) => Promise<void>)[] = [
  async (letGo, keep) => {
    letGo();
    await keep();
  },
  async (letGo, keep) => {
    const kept = keep();
    letGo();
    await kept;
  },
  async (letGo, keep) => {
    letGo();
    await setImmediate();
    await keep();
  },
  async (letGo, keep) => {
    const kept = keep();
    await setImmediate();
    letGo();
    await kept;
  },
];

/** Lets the locks go while it queues calls. Finds no calls that were left: whoever has queued one must see to it. */
function crossing(store: LockStore, meanwhile: Meanwhile): LockStore {
  const { queuedCalls } = store;
  if (queuedCalls === undefined || 'crosses' in queuedCalls) return store;
  const enqueue = queuedCalls.enqueue.bind(queuedCalls);
  let turn = 0;
  Object.assign(queuedCalls, {
    crosses: true,
    left: async () => [],
    enqueue: async (call: Parameters<typeof enqueue>[0]) => {
      let kept: Awaited<ReturnType<typeof enqueue>> | undefined;
      const keep = async (): Promise<void> => void (kept = await enqueue(call));
      const letGo = meanwhile.get(call.name) ?? (() => undefined);
      meanwhile.delete(call.name);
      await ORDERS[turn++ % ORDERS.length]?.(letGo, keep);
      return kept;
    },
  });
  return store;
}

/** The job, and the ids of the calls that have run after they were queued. */
function webhooks() {
  const ran: string[] = [];
  /** Holds a run up. */
  const runs = new Map<string, { began: () => void; end: Promise<void> }>();
  @Injectable()
  class Webhooks {
    @SchedulerLock<[lock: string, id: string]>({ name: (lock) => lock, onHeld: 'queue' })
    async changed(_lock: string, id: string): Promise<string> {
      if (currentLock().queuedCall !== undefined) ran.push(id);
      runs.get(id)?.began();
      await runs.get(id)?.end;
      return id;
    }
  }
  return { Webhooks, ran, runs };
}

describe.each(QUEUED_CALL_STORES)('on %s', (_, open) => {
  let fleet: QueuedCallFleet;
  beforeEach(async () => void (fleet = await open()));
  afterEach(async () => {
    await closeApps();
    await fleet.stop();
  });

  test('each call that is queued at the very moment at which its lock becomes free runs, once', async () => {
    const meanwhile: Meanwhile = new Map();
    const { Webhooks, ran, runs } = webhooks();
    const start = (): Promise<TestApp> =>
      startApp([Webhooks], { ...PATIENT, store: crossing(fleet.store(), meanwhile) });
    const apps = [await start(), await start()] as const;
    const of = (n: number): TestApp => apps[n % 2 === 0 ? 0 : 1];
    const keep = async (app: TestApp, lock: string, id: string): Promise<void> => {
      const result = await app.get(Webhooks).changed(lock, id);
      if (result !== undefined) throw new Error(`the call ${id} was not queued, although its lock was held`);
    };

    /** One call comes when a holder lets go, one when the run of the first ends. */
    async function two(lock: string, n: number): Promise<void> {
      const [held, letGo, began, end] = [gate(), gate(), gate(), gate()];
      const holder = of(n)
        .get(SchedulerLockService)
        .run(lock, { wait: '10m' }, async () => {
          held.open();
          await letGo.opened;
        });
      await held.opened;
      const [first, second] = [`${lock} ${2 * n}`, `${lock} ${2 * n + 1}`];
      meanwhile.set(lock, letGo.open);
      runs.set(first, { began: began.open, end: end.opened });
      await Promise.all([holder, keep(of(n >> 1), lock, first)]);
      await began.opened;
      meanwhile.set(lock, end.open);
      await keep(of(n >> 2), lock, second);
    }

    const lanes = Array.from({ length: LANES }, async (__, lane) => {
      for (let n = lane; 2 * n < ROUNDS; n += LANES) await two(`lock-${lane}`, n);
    });
    const message = (): string => {
      const failures = apps.flatMap(({ events }) =>
        events.flatMap((event) => (isEvent('outage-started')(event) ? [String(event.error)] : [])),
      );
      return [`${ran.length} of ${ROUNDS} to have run`, ...failures].join('; ');
    };
    const all = Promise.all(lanes);
    await Promise.race([
      all.then(() => until(() => ran.length >= ROUNDS, { message })),
      until(() => ran.length >= ROUNDS, { timeout: 20_000 + ROUNDS * LONGEST, interval: 100, message }),
    ]);
    await all;
    expect(new Set(ran).size).toBe(ROUNDS);
    expect(ran).toHaveLength(ROUNDS);
    const queued = apps.flatMap(({ events }) =>
      events.filter((event) => event.type === 'skipped' && event.reason === 'queued'),
    );
    expect(queued).toHaveLength(ROUNDS);
  });
});
