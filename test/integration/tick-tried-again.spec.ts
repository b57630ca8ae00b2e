import 'reflect-metadata';
import { expect, jest, test } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { Cron, Interval } from '@nestjs/schedule';
import {
  currentLock,
  type Duration,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockControl,
  type SchedulerLockEvent,
  type SchedulerLockOptions,
  SchedulerLockService,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { gate, startApp, type TestApp } from './app.js';
import { acquired, daily, fireAndWait, fleetsOnRedis, plainStore, request, skipped } from './tick-support.js';

/* What becomes of the tick of a run that throws (`retry`). */

type RetryOptions = NonNullable<SchedulerLockOptions['retry']>;

const shared = fleetsOnRedis();
const quiet = (): void => void jest.spyOn(Logger.prototype, 'error').mockReturnValue();

/** A job of one tick that was due half a minute ago. Its first runs fail, so many. */
function nightly(
  failures: number,
  retry: RetryOptions | undefined,
  more: { timeout?: Duration; work?: () => Promise<void> } = {},
) {
  const { expression, tick } = daily();
  const runs: { attempt: number; holder: string; tick: number | undefined }[] = [];
  const { work, ...options } = more;
  @Injectable()
  class Nightly {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ name: 'nightly', job: 'nightly', ttl: '2s', retry, ...options })
    async run(): Promise<void> {
      const { attempt, holder, tick: own } = currentLock();
      runs.push({ attempt, holder, tick: own });
      await work?.();
      if (runs.length <= failures) throw new Error(`failure ${runs.length}`);
    }
  }
  return { Nightly, tick, runs };
}

/** An application that has asked for the newest tick, as each does when it starts: what is fired meanwhile comes a moment later. */
async function started(...given: Parameters<typeof startApp>): Promise<TestApp> {
  const app = await startApp(...given);
  const [, { clock } = {}] = given;
  await until(async () => {
    if (clock instanceof ManualClock) await clock.advance(1);
    return skipped(app).length === 1;
  });
  return app;
}

/** A store for instances, and time that passes only if a test says so: so however long a machine takes, nothing comes too late. */
function onManualClock(): { clock: ManualClock; store: MemoryLockStore } {
  const clock = new ManualClock(Date.now());
  return { clock, store: new MemoryLockStore({ clock }) };
}

type Released = Extract<SchedulerLockEvent, { type: 'released' }>;
const released = (...apps: TestApp[]): Released[] =>
  apps.flatMap(({ events }) => events.filter((event): event is Released => event.type === 'released'));

test('a run that throws is tried again on its instance, later each time, until it completes', async () => {
  quiet();
  const { Nightly, tick, runs } = nightly(2, { attempts: 3, delay: '300ms', factor: 2 });
  const options = shared();
  const apps = await Promise.all([started([Nightly], options), started([Nightly], options)]);
  await Promise.all(apps.map((app) => app.fire('nightly')));
  await until(() => released(...apps).length === 3);
  const { holder } = runs[0]!;
  expect(runs).toEqual([1, 2, 3].map((attempt) => ({ attempt, holder, tick })));
  expect(released(...apps)).toMatchObject([
    { outcome: 'failed', attempt: 1, retryIn: 300 },
    { outcome: 'failed', attempt: 2, retryIn: 600 },
    { outcome: 'completed', attempt: 3 },
  ]);
  const [first, second, third] = acquired(...apps).map(({ at }) => at);
  expect(second! - first!).toBeGreaterThanOrEqual(299);
  expect(third! - second!).toBeGreaterThanOrEqual(599);
  // And it stays so, whoever asks.
  for (const app of apps) await fireAndWait(app, 'nightly');
  expect(runs).toHaveLength(3);
});

test('the log says that a run has failed and is tried again; after the last attempt nothing runs any more', async () => {
  quiet();
  const { Nightly, runs } = nightly(9, { attempts: 2, delay: 1 });
  const app = await started([Nightly], shared());
  await app.fire('nightly');
  await until(() => released(app).length === 2);
  expect(app.logs.own).toContainEqual(
    expect.stringMatching(
      /^warn: nightly: failed after [^(]+ \(attempt 1\), tried again in 1 ?ms, released$/,
    ),
  );
  await fireAndWait(app, 'nightly');
  expect(skipped(app).at(-1)).toMatchObject({ reason: 'already-ran', finished: true });
  expect(runs).toHaveLength(2);
});

test('between two attempts the lock is free, and a call by hand that throws is not tried again', async () => {
  quiet();
  const { Nightly, runs } = nightly(9, { attempts: 2, delay: '4s' });
  const { clock, store } = onManualClock();
  const app = await started([Nightly], { clock, store });
  await app.fire('nightly');
  await until(() => released(app).length === 1);
  const locks = app.module.get(SchedulerLockService);
  expect(await locks.run('nightly', () => 'by hand')).toEqual({ ran: true, value: 'by hand' });
  await expect(app.module.get(Nightly).run()).rejects.toThrow('failure 2');
  expect(released(app).at(-1)).not.toHaveProperty('retryIn');
  await clock.advance(4_100);
  await until(() => runs.length === 3);
  expect(runs.map(({ attempt }) => attempt)).toEqual([1, 1, 2]);
});

test('if the instance of the failed run is gone, another one tries it again; so does one that starts later', async () => {
  const { Nightly, tick, runs } = nightly(0, { attempts: 3, delay: '1h' });
  const options = shared();
  const store = await plainStore(options);
  const app = await started([Nightly], options);
  const fail = async (retryIn: number): Promise<void> => {
    const given = request('nightly', tick, { ttl: 60_000 });
    const answer = await store.acquire(given);
    if (!answer.acquired) throw new Error(answer.reason);
    await store.release({ ...given, fencingToken: answer.fencingToken }, { outcome: 'failed', retryIn });
  };
  await fail(500);
  await fireAndWait(app, 'nightly');
  expect(skipped(app).at(-1)).toMatchObject({ reason: 'already-ran', finished: false });
  await until(() => runs.length === 1);
  expect(runs).toMatchObject([{ tick, attempt: 2 }]);

  const later = nightly(0, { attempts: 3, delay: '1h' });
  const others = shared();
  const store2 = await plainStore(others);
  const given = request('nightly', later.tick, { ttl: 60_000 });
  const answer = await store2.acquire(given);
  if (!answer.acquired) throw new Error(answer.reason);
  await store2.release({ ...given, fencingToken: answer.fencingToken }, { outcome: 'failed', retryIn: 100 });
  await startApp([later.Nightly], others);
  await until(() => later.runs.length === 1);
  expect(later.runs).toMatchObject([{ tick: later.tick, attempt: 2 }]);
});

test.each<[string, number, RetryOptions, object]>([
  ['past the next tick', 9, { delay: '2d' }, {}],
  [
    'after its timeout',
    0,
    { delay: 1 },
    {
      timeout: '50ms',
      work: async (): Promise<void> => {
        const { signal } = currentLock();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        signal.throwIfAborted();
      },
    },
  ],
])('a run is not tried again %s', async (_, failures, retry, more) => {
  quiet();
  const { Nightly, runs } = nightly(failures, retry, more);
  const app = await started([Nightly], shared());
  await app.fire('nightly');
  await until(() => released(app).length === 1);
  expect(released(app)[0]).not.toHaveProperty('retryIn');
  await fireAndWait(app, 'nightly');
  expect(skipped(app).at(-1)).toMatchObject({ reason: 'already-ran', finished: true });
  expect(runs).toHaveLength(1);
});

test('while its lock is paused, a failed run is not tried again; after that it is', async () => {
  quiet();
  const { Nightly, runs } = nightly(1, { attempts: 2, delay: '2s' });
  const { clock, store } = onManualClock();
  const app = await started([Nightly], { clock, store });
  const control = app.module.get(SchedulerLockControl);
  await app.fire('nightly');
  await until(() => released(app).length === 1);
  await control.pause({ job: 'nightly', actor: 'anna', reason: 'migration', for: '4s' });
  await clock.advance(2_100);
  await until(() => skipped(app).some(({ reason }) => reason === 'paused'));
  expect(runs).toHaveLength(1);
  await clock.advance(2_100);
  await until(() => runs.length === 2);
  expect(runs).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
});

test('an instance that is shut down before the next attempt leaves it to the others', async () => {
  quiet();
  const { Nightly, runs } = nightly(1, { attempts: 2, delay: '4s' });
  const options = onManualClock();
  const [one, other] = await Promise.all([started([Nightly], options), started([Nightly], options)]);
  await one.fire('nightly');
  await until(() => released(one).length === 1);
  await other.fire('nightly');
  await one.close();
  // The others come a second behind it.
  await options.clock.advance(5_100);
  await until(() => runs.length === 2);
  expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(runs[1]!.holder).not.toBe(runs[0]!.holder);
});

test('a tick that comes while its instance asks for the newest one, as it has just started, is not lost', async () => {
  const { Nightly, tick, runs } = nightly(0, { attempts: 2, delay: '1h' });
  const store = new MemoryLockStore();
  const acquire = store.acquire.bind(store);
  const asked = gate();
  const answers = gate();
  jest.spyOn(store, 'acquire').mockImplementationOnce(async (given) => {
    asked.open();
    await answers.opened;
    return acquire(given);
  });
  const app = await startApp([Nightly], { store });
  await asked.opened;
  await fireAndWait(app, 'nightly');
  expect(skipped(app)).toMatchObject([{ reason: 'held' }]);
  answers.open();
  await until(() => runs.length === 1);
  expect(runs).toMatchObject([{ tick, attempt: 1 }]);
});

test.each<[string, unknown, RegExp]>([
  ['no object', 3, /retry: 3 is no object\. Give \{ attempts, delay, factor \}/],
  ['one attempt', { attempts: 1 }, /retry\.attempts: 1 is no whole number from 2 to 100/],
  ['an unknown name', { times: 3 }, /retry\.times: there is no such option here/],
  ['no duration', { delay: 'soon' }, /retry\.delay: 'soon' is no duration/],
])('retry that is wrong stops the start: %s', async (_, retry, problem) => {
  const { Nightly } = nightly(0, retry as RetryOptions);
  await expect(startApp([Nightly], shared())).rejects.toThrow(problem);
});

test('retry is for @Cron() only, and not with oncePerTick: false', async () => {
  @Injectable()
  class Often {
    @Interval(60_000)
    @SchedulerLock({ name: 'often', retry: {} })
    async run(): Promise<void> {}
  }
  await expect(startApp([Often], shared())).rejects.toThrow(
    /Often\.run: retry: it is for methods with @Cron\(\), which have dates/,
  );
  @Injectable()
  class Unticked {
    @Cron('0 3 * * *', { timeZone: 'UTC' })
    @SchedulerLock({ name: 'unticked', retry: {}, oncePerTick: false })
    async run(): Promise<void> {}
  }
  await expect(startApp([Unticked], shared())).rejects.toThrow(
    /retry: it has no effect with oncePerTick: false/,
  );
});
