import 'reflect-metadata';
import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import { currentLock, SchedulerLock } from '../../lib/index.js';
import { until } from '../support/until.js';
import { startApp, type TestApp } from './app.js';
import {
  acquired,
  daily,
  dieIn,
  fireAndWait,
  fleetsOnRedis,
  plainStore,
  request,
  skipped,
} from './tick-support.js';

const shared = fleetsOnRedis();

/** A job of one tick that was due half a minute ago; it notes its attempts. */
function nightly(rerun: number | undefined) {
  const { expression, tick } = daily();
  const runs: { tick: number | undefined; attempt: number | undefined }[] = [];
  @Injectable()
  class Nightly {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ name: 'nightly', job: 'nightly', ttl: '1s', rerun })
    async run(): Promise<void> {
      const lock = currentLock();
      runs.push({ tick: lock.tick, attempt: lock.attempt });
    }
  }
  return { Nightly, tick, runs };
}

/** Whether the instance knows by now that the tick's run has ended. */
const sawItFinished = (app: TestApp): boolean =>
  skipped(app).some(({ reason, finished }) => reason === 'already-ran' && finished === true);

test.each([
  ['of the lock', 1, undefined],
  ['of the module', undefined, 1],
])('the tick of a holder that died is run again by one instance, with rerun %s', async (_, own, ofModule) => {
  const { Nightly, tick, runs } = nightly(own);
  const options = { ...shared(), rerun: ofModule };
  const store = await plainStore(options);
  // At the start nothing is known of the job, so nothing is repeated.
  const apps = await Promise.all([startApp([Nightly], options), startApp([Nightly], options)]);
  await until(() => apps.every((app) => skipped(app).length === 1));
  await dieIn(store, request('nightly', tick));
  await Promise.all(apps.map((app) => app.fire('nightly')));
  await until(() => acquired(...apps).length === 1 && apps.some(sawItFinished));
  expect(runs).toEqual([{ tick, attempt: 2 }]);
  // And it stays so, whoever asks.
  for (const app of apps) await fireAndWait(app, 'nightly');
  expect(runs).toHaveLength(1);
});

test('without rerun the tick of a holder that died is run by nobody', async () => {
  const { Nightly, tick, runs } = nightly(undefined);
  const options = shared();
  await dieIn(await plainStore(options), request('nightly', tick));
  const apps = await Promise.all([startApp([Nightly], options), startApp([Nightly], options)]);
  const refused = (app: TestApp): boolean => skipped(app).at(-1)?.reason === 'already-ran';
  await until(async () => {
    await Promise.all(apps.map((app) => fireAndWait(app, 'nightly')));
    return apps.every(refused);
  });
  expect(runs).toEqual([]);
  expect(skipped(apps[0]).at(-1)).toMatchObject({ tick, finished: false });
});

test('an orphan of a time when no instance was up is run by the next one to start', async () => {
  const { Nightly, tick, runs } = nightly(1);
  const options = shared();
  await dieIn(await plainStore(options), request('nightly', tick, { ttl: 1 }));
  const app = await startApp([Nightly], options);
  await until(() => app.events.some(({ type }) => type === 'released'));
  expect(runs).toEqual([{ tick, attempt: 2 }]);
});

test('a job that ends each of its holders is repeated rerun times over the fleet, not by each instance', async () => {
  const { Nightly, tick, runs } = nightly(2);
  const options = shared();
  const store = await plainStore(options);
  for (let attempt = 1; attempt <= 3; attempt++) {
    const again = request('nightly', tick, { ttl: 100, rerun: 2 });
    // The one before has not ended its lease: it has to expire.
    const answer = await until(async () => {
      const result = await store.acquire(again);
      return result.acquired && result;
    });
    expect(answer.attempt ?? 1).toBe(attempt);
  }
  const app = await startApp([Nightly], options);
  await until(() => skipped(app).some(({ reason }) => reason === 'already-ran'));
  await fireAndWait(app, 'nightly');
  expect(runs).toEqual([]);
  expect(skipped(app).at(-1)).toMatchObject({ reason: 'already-ran', tick, finished: false });
});

test.each<[string, (registry: SchedulerRegistry) => unknown]>([
  ['stopped', (registry) => registry.getCronJob('nightly').stop()],
  ['deleted', (registry) => registry.deleteCronJob('nightly')],
])('an instance does not repeat a job that was %s on it meanwhile', async (_, act) => {
  const { Nightly, tick, runs } = nightly(1);
  const { expression, tick: laterTick } = daily();
  let later = 0;
  @Injectable()
  class Later {
    @Cron(expression, { name: 'later', timeZone: 'UTC' })
    @SchedulerLock({ name: 'later', job: 'later', ttl: '1s', rerun: 1 })
    async run(): Promise<void> {
      later += 1;
    }
  }
  const options = shared();
  const store = await plainStore(options);
  const app = await startApp([Nightly, Later], options);
  await until(() => skipped(app).length === 2);
  await dieIn(store, request('nightly', tick));
  await dieIn(store, request('later', laterTick, { ttl: 1_200 }));
  for (const job of ['nightly', 'later']) await fireAndWait(app, job);
  await act(app.get(SchedulerRegistry));
  await until(() => later > 0, { message: 'the job that was not stopped to be repeated' });
  expect(runs).toEqual([]);
});
