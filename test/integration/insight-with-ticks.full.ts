import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockControl,
  SchedulerLockHealth,
  SchedulerLockInsight,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';

/* Beats that come with the ticks of a nightly job, so that a database can sleep in between. */

const DAY = 86_400_000;
const MINUTE = 60_000;
const [EVENING, NIGHT] = [Date.UTC(2026, 0, 1, 20), Date.UTC(2026, 0, 2, 3)];

@Injectable()
class Nightly {
  @Cron('0 0 3 * * *', { name: 'send', timeZone: 'UTC' })
  @SchedulerLock()
  async send(): Promise<void> {}
}

@Injectable()
class Mails extends Nightly {
  @SchedulerLock({ name: 'mails', onHeld: 'queue' })
  async deliver(): Promise<void> {}
}

let clock: ManualClock;
let store: MemoryLockStore;
let calls: string[];

beforeEach(() => {
  clock = new ManualClock(EVENING);
  store = new MemoryLockStore({ clock });
  calls = [];
  for (const name of ['acquire', 'extend', 'release', 'inspect'] as const) count(store, name);
  for (const name of ['beat', 'instances', 'entries', 'miss', 'told'] as const) count(store.history, name);
  count(store.queuedCalls, 'left');
});
afterEach(closeApps);

function count<Name extends string>(of: { [K in Name]: (...args: never[]) => unknown }, name: Name): void {
  const call = of[name].bind(of);
  Object.assign(of, {
    [name]: (...args: never[]) => {
      calls.push(name);
      return call(...args);
    },
  });
}

async function start(instanceId = 'api-1', own = clock, jobs: Type = Nightly): Promise<TestApp> {
  const app = await startApp([jobs], { store, clock: own, instanceId, insight: { beat: 'with-ticks' } });
  await until(async () => (await seenAt(instanceId)) === clock.now(), { message: 'its first beat' });
  await clock.advance(MINUTE);
  calls = [];
  return app;
}

/** When the store was told of an instance. */
async function seenAt(instanceId = 'api-1'): Promise<number | undefined> {
  const instances = await store.history.instances();
  calls.pop();
  return instances.find(({ instance }) => instance === instanceId)?.seenAt;
}

/** Lets time pass as timers see it. */
async function passUntil(time: number): Promise<void> {
  while (clock.now() < time) await clock.advance(Math.min(MINUTE / 4, time - clock.now()));
}

const statesBy = async (app: TestApp): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await app.get(SchedulerLockInsight).instances()).map(({ instance, state }) => [instance, state]),
  );

test('an instance tells its next tick, and sends nothing until then', async () => {
  const app = await start();
  await passUntil(NIGHT);
  expect(calls).toEqual([]);
  await app.fire('send');
  await until(async () => (await seenAt()) === NIGHT, { message: 'the beat with the tick' });
  await passUntil(NIGHT + 5 * MINUTE);
  calls = [];
  await passUntil(NIGHT + DAY);
  expect(calls).toEqual([]);
});

test('queued calls that a dead instance has left are looked for with the ticks, too', async () => {
  const app = await start('api-1', clock, Mails);
  await passUntil(NIGHT);
  expect(calls).toEqual([]);
  await app.fire('send');
  await until(() => calls.includes('left'), { message: 'a look at what was left' });
});

test('they are looked for every few seconds if the store refuses the history, as no beat comes then', async () => {
  Object.assign(store.history, { init: () => Promise.reject(new Error('No rights.')) });
  await startApp([Mails], { store, clock, insight: { beat: 'with-ticks' } });
  await until(() => calls.includes('left'), { message: 'the first look' });
  calls = [];
  await passUntil(EVENING + MINUTE);
  expect(calls).toContain('left');
});

test('by default, an instance without queued calls of its own looks for such calls every 5 s, and beats every 30 s', async () => {
  await startApp([Nightly], { store, clock, instanceId: 'api-1' });
  await until(() => calls.includes('beat') && calls.includes('left'), { message: 'its start' });
  await passUntil(EVENING + 10 * MINUTE);
  calls = [];
  for (let look = 0; look < 120; look++) await clock.advance(5_000);
  const countOf = (name: string) => calls.filter((call) => call === name).length;
  expect(countOf('left')).toBe(120);
  // Each comes up to a tenth earlier, at random.
  expect(countOf('beat')).toBeGreaterThanOrEqual(20);
  expect(countOf('beat')).toBeLessThanOrEqual(23);
  expect(calls.filter((call) => call !== 'left' && call !== 'beat')).toEqual([]);
});

test('it is up until the tick that it has told, and gone if it is silent then', async () => {
  // Its own clock stands still: it was killed.
  await start('api-1', new ManualClock(EVENING));
  const other = await start('api-2');
  await passUntil(NIGHT - 1);
  expect(await statesBy(other)).toEqual({ 'api-1': 'up', 'api-2': 'up' });
  await passUntil(NIGHT + 2 * MINUTE);
  expect(await statesBy(other)).toEqual({ 'api-1': 'gone', 'api-2': 'up' });
});

test('a job that is not well is looked at with its ticks only', async () => {
  await start();
  // Nobody fires it.
  await passUntil(NIGHT + 10 * MINUTE);
  expect(calls).toContain('miss');
  calls = [];
  await passUntil(NIGHT + DAY);
  expect(calls).toEqual([]);
});

test('a job that is paused over a tick is looked at with its ticks only', async () => {
  const app = await start();
  await app
    .get(SchedulerLockControl)
    .pause({ job: 'Nightly.send', actor: 'anna', reason: 'a test', for: '3d' });
  await passUntil(NIGHT);
  await app.fire('send');
  await passUntil(NIGHT + 10 * MINUTE);
  expect((await app.get(SchedulerLockHealth).check()).schedulerLock.status).toBe('up');
  calls = [];
  await passUntil(NIGHT + DAY);
  expect(calls).toEqual([]);
});

test('a beat that fails is made up for before the next tick', async () => {
  const app = await start();
  const beat = store.history.beat.bind(store.history);
  await passUntil(NIGHT);
  Object.assign(store.history, { beat: () => Promise.reject(new Error('It is asleep.')) });
  await app.fire('send');
  await clock.advance(1);
  Object.assign(store.history, { beat });
  await passUntil(NIGHT + MINUTE);
  expect(await seenAt()).toBeGreaterThanOrEqual(NIGHT);
});
