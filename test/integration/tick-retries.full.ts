import 'reflect-metadata';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  currentLock,
  MemoryLockStore,
  SchedulerLock,
  type SchedulerLockOptions,
  StoreUnavailableError,
} from '../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';
import { daily, request, runIn } from './tick-support.js';

/** A store that fails as often as it is told to, and notes the ticks that it is asked for. */
class UnsteadyStore extends MemoryLockStore {
  failures = 0;
  readonly asked: (number | undefined)[] = [];

  override acquire(lease: AcquireRequest): Promise<AcquireResult> {
    this.asked.push(lease.tick);
    if (this.failures === 0) return super.acquire(lease);
    this.failures -= 1;
    return Promise.reject(new StoreUnavailableError('away', { outcome: 'not-applied' }));
  }
}

type Job = (this: object) => Promise<unknown>;

/** Decorators that people put above ours: what they make of the guarded method. */
function Around(wrap: (guarded: () => Promise<unknown>) => Promise<unknown>) {
  return (_target: object, _key: string, descriptor: TypedPropertyDescriptor<Job>): void => {
    const guarded = descriptor.value as Job;
    descriptor.value = function (this: object): Promise<unknown> {
      return wrap(() => Reflect.apply(guarded, this, []));
    };
  };
}

/** Calls again what was skipped, once `again` resolves. */
const Retried = (again: () => Promise<unknown> = () => Promise.resolve()) =>
  Around(async (guarded) => {
    for (let tries = 1; ; tries++) {
      const result = await guarded();
      if (result !== undefined || tries === 3) return result;
      await again();
    }
  });

let store: UnsteadyStore;
let runs: (number | undefined)[];
beforeEach(() => {
  store = new UnsteadyStore();
  runs = [];
});
afterEach(closeApps);

/** A job, with a decorator above ours. */
function jobOf(
  expression: string,
  above: ReturnType<typeof Around>,
  options: SchedulerLockOptions = {},
): Type {
  @Injectable()
  class Jobs {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @above
    @SchedulerLock({ job: 'nightly', name: 'nightly', ...options })
    async nightly(): Promise<unknown> {
      runs.push(currentLock().tick);
      return 'done';
    }
  }
  return Jobs;
}

test('a call that a decorator above ours makes again belongs to its tick, which runs once over three instances', async () => {
  const { expression, tick } = daily();
  const Jobs = jobOf(expression, Retried());
  const apps = await Promise.all([0, 1, 2].map(() => startApp([Jobs], { store })));
  // One after the other, so that the lock alone does not keep them apart.
  for (const [index, app] of apps.entries()) {
    store.failures = 2;
    await app.fire('nightly');
    await until(() => store.asked.length === 3 * (index + 1));
  }
  await until(() => runs.length > 0);
  expect(store.asked).toEqual(Array.from({ length: 9 }, () => tick));
  expect(runs).toEqual([tick]);
});

test('it belongs to the very same tick, also if a newer one has come meanwhile', async () => {
  const secondOf = (time: number): number => Math.floor(time / 1_000);
  const started = (): boolean => runs.some((tick = 0) => tick > (store.asked[0] ?? Infinity));
  const Jobs = jobOf(
    '* * * * * *',
    Retried(() => until(started)),
  );
  store.failures = 1;
  await startApp([Jobs], { store });
  const [first = 0] = await until(() => store.asked.length > 0 && store.asked);
  await until(() => store.asked.filter((tick) => tick === first).length > 1);
  expect(store.asked).not.toContain(undefined);
  expect(runs).not.toContain(first);
  expect(secondOf(Date.now())).toBeGreaterThan(secondOf(first));
});

test('what is called again when the job has begun is called by hand', async () => {
  const { expression, tick } = daily();
  const twice = Around(async (guarded) => [await guarded(), await guarded()]);
  const app = await startApp([jobOf(expression, twice)], { store });
  await app.fire('nightly');
  await until(() => runs.length === 2);
  expect(store.asked).toStrictEqual([tick, undefined]);
  expect(runs).toStrictEqual([tick, undefined]);
});

test('a call that was skipped leaves nothing for a call that its async context is left to', async () => {
  const { expression, tick } = daily();
  let first: Promise<unknown> | undefined;
  let later: (() => Promise<unknown>) | undefined;
  const kept = Around((guarded) => {
    const inContext = AsyncLocalStorage.snapshot();
    later = () => inContext(guarded);
    return (first = guarded());
  });
  const app = await startApp([jobOf(expression, kept)], { store });
  await runIn(store, request('nightly', tick));
  await app.fire('nightly');
  await until(() => first !== undefined);
  expect(await first).toBeUndefined();
  expect(await later?.()).toBe('done');
  expect(runs).toStrictEqual([undefined]);
});

test('a call that was skipped and is made again at once belongs to its tick', async () => {
  const { expression, tick } = daily();
  const insistent = Around(async (guarded) => (await guarded()) ?? guarded());
  const app = await startApp([jobOf(expression, insistent)], { store });
  await runIn(store, request('nightly', tick));
  await app.fire('nightly');
  await until(() => app.events.filter(({ type }) => type === 'skipped').length === 2);
  expect(runs).toEqual([]);
});
