import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { currentLock, type LockStore, SchedulerLock } from '../../lib/index.js';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { hold } from './support/calendar.js';
import { QUEUED_CALL_STORES, type QueuedCallFleet } from './support/queued-call-stores.js';

/* What a store carries out late: bytes in the buffer of a connection that has failed, or a command that a client sends twice. */

const LONG = 60_000;

/** A store that answers one renewal never, and keeps what it was asked. */
class LateStore {
  /** Which renewal of a queued call's lease is not answered, from 1. */
  silent = 0;
  readonly late: LeaseRef[] = [];
  readonly looks: AcquireRequest[] = [];
  readonly store: LockStore;
  #renewals = 0;

  constructor(readonly real: LockStore) {
    const own: Partial<LockStore> = {
      acquire: (request) => {
        if (request.wait !== undefined) this.looks.push(request);
        return real.acquire(request);
      },
      extend: (leases, options) => {
        const isSilent =
          leases.some(({ queuedCall }) => queuedCall !== undefined) && (this.#renewals += 1) === this.silent;
        if (!isSilent) return real.extend(leases, options);
        this.late.push(...leases);
        return new Promise(() => undefined);
      },
    };
    this.store = new Proxy(real, {
      get: (target, key: keyof LockStore | 'fastPort') => {
        if (key === 'fastPort') return undefined;
        const value: unknown = own[key] ?? target[key];
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  /** For how long the lock is taken, ms. */
  async left(): Promise<number> {
    const [info] = (await this.real.inspect?.(['calendar'])) ?? [];
    return info?.expiresIn ?? 0;
  }
}

/** Two jobs of one lock, whose leases live for different times. */
function jobs() {
  const [first, second] = [gate(), gate()];
  const began: string[] = [];
  const signals: AbortSignal[] = [];
  @Injectable()
  class Jobs {
    @SchedulerLock({ name: 'calendar', onHeld: 'queue', queue: {}, ttl: 2_000, heartbeat: 200 })
    async short(): Promise<void> {
      began.push('short');
      await first.opened;
    }

    @SchedulerLock({ name: 'calendar', onHeld: 'queue', queue: {}, ttl: LONG })
    async long(): Promise<void> {
      began.push('long');
      signals.push(currentLock().signal);
      await second.opened;
    }
  }
  return { Jobs, began, signals, first, second };
}

describe.each(QUEUED_CALL_STORES)('on %s', (_, open) => {
  let fleet: QueuedCallFleet;
  const gates: { open(): void }[] = [];
  beforeEach(async () => void (fleet = await open()));
  afterEach(async () => {
    for (const gate of gates.splice(0)) gate.open();
    await closeApps();
    await fleet.stop();
  });

  async function start(silent: number) {
    const made = jobs();
    gates.push(made.first, made.second);
    const late = new LateStore(fleet.store());
    late.silent = silent;
    const app: TestApp = await startApp([made.Jobs], { store: late.store });
    const letGo = await hold(app);
    await app.get(made.Jobs).short();
    await app.get(made.Jobs).long();
    await letGo();
    await until(() => made.began.length === 1);
    return { ...made, late, app };
  }

  test.each([1, 2])(
    'renewal %i of a queued call that the store carries out during the next one does not shorten that one’s lease',
    async (silent) => {
      const { began, signals, first, second, late, app } = await start(silent);
      await until(() => late.late.length > 0);
      first.open();
      await until(() => began.length === 2);
      expect(await late.left()).toBeGreaterThan(LONG / 2);
      expect(await late.real.extend(late.late)).toMatchObject([{ held: false }]);
      expect(await late.left()).toBeGreaterThan(LONG / 2);
      expect(signals[0]?.aborted).toBe(false);
      second.open();
      await until(async () => (await late.left()) === 0);
      expect(app.events.filter(({ type }) => type === 'lost')).toEqual([]);
    },
  );

  test('a look in line that the store carries out during a queued call does not shorten its lease', async () => {
    const { began, signals, first, second, late } = await start(0);
    first.open();
    await until(() => began.length === 2);
    const [look] = late.looks.slice(-1);
    if (look === undefined) throw new Error('nobody stood in line');
    expect(look.ttl).toBeLessThan(LONG / 2);
    await late.real.acquire(look);
    expect(await late.left()).toBeGreaterThan(LONG / 2);
    expect(signals[0]?.aborted).toBe(false);
    second.open();
    await until(async () => (await late.left()) === 0);
  });
});
