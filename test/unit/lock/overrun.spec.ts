import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JobStart } from '../../../lib/base/job-start.js';
import { Harness } from './harness.js';
import { silence } from './scripted-store.js';

/** A run that is still going on when the next tick of its job comes: one event, on the instance that runs it. */

const MINUTE = 60_000;

let here: Harness;
let there: Harness;
let tick: number;
let end: () => void;
beforeEach(async () => {
  here = new Harness();
  there = new Harness(here, 'there');
  await here.clock.advance(5_000);
  tick = here.clock.now();
});

/** The scheduler fires the job, which lasts until `end()`. */
async function fire(on: Harness, start?: JobStart, job = 'Jobs.hourly', scheduled = true): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    if (on.of('acquired').length === 0) end = resolve;
  });
  void on.runner.run({ ...on.call('hourly', {}, scheduled), job, start }, () => ended);
  await on.clock.advance(0);
}

const overruns = (on: Harness) => on.of('overrun');
const nth = (n: number): JobStart => ({ tick: tick + n * MINUTE });

test('is told of once, with its begin, and has its ticks counted until it ends', async () => {
  await fire(here, nth(0));
  const since = here.clock.now();
  for (let n = 1; n <= 3; n++) {
    await here.clock.advance(MINUTE);
    await fire(here, nth(n));
  }
  expect(overruns(here)).toEqual([
    {
      type: 'overrun',
      lock: 'hourly',
      job: 'Jobs.hourly',
      instance: 'here',
      at: since + MINUTE,
      fencingToken: here.of('acquired')[0]?.fencingToken,
      tick,
      attempt: 1,
      since,
      skippedTicks: 1,
    },
  ]);
  end();
  await here.clock.advance(0);
  expect(here.of('released')).toMatchObject([{ tick, skippedTicks: 3 }]);
});

test('is told of again for the next run', async () => {
  for (const n of [0, 2]) {
    here.events.splice(0);
    await fire(here, nth(n));
    await fire(here, nth(n + 1));
    expect(overruns(here)).toMatchObject([{ tick: tick + n * MINUTE }]);
    end();
    await here.clock.advance(2 * MINUTE);
  }
});

test('counts a tick once that is fired several times', async () => {
  await fire(here, nth(0));
  for (let i = 0; i < 3; i++) await fire(here, nth(1));
  await fire(here, nth(2));
  end();
  await here.clock.advance(0);
  expect(here.of('released')).toMatchObject([{ skippedTicks: 2 }]);
});

test('of an interval is one that is fired an interval later, not by another scheduler at once', async () => {
  await fire(here, { interval: 1_000 });
  await fire(here, { interval: 1_000 });
  expect(overruns(here)).toEqual([]);
  await here.clock.advance(1_000);
  await fire(here, { interval: 1_000 });
  await fire(here, { interval: 1_000 });
  await here.clock.advance(1_000);
  await fire(here, { interval: 1_000 });
  expect(overruns(here)).toMatchObject([{ since: tick, at: tick + 1_000 }]);
  end();
  await here.clock.advance(0);
  expect(here.of('released')).toMatchObject([{ skippedTicks: 2 }]);
});

test('is told of where jobs have no ticks as well', async () => {
  await fire(here);
  await fire(here);
  expect(overruns(here)).toHaveLength(1);
});

test('was begun by hand, and costs ticks all the same', async () => {
  await fire(here, undefined, 'Jobs.hourly', false);
  await fire(here, nth(1));
  expect(overruns(here)).toMatchObject([{ skippedTicks: 1 }]);
});

describe('is not', () => {
  test('one that another instance runs', async () => {
    await fire(there, nth(0));
    await fire(here, nth(1));
    expect(here.of('skipped')).toMatchObject([{ reason: 'held', holder: 'there' }]);
    expect([...overruns(here), ...overruns(there)]).toEqual([]);
  });

  test('one whose own tick is fired once more', async () => {
    await fire(here, nth(0));
    await fire(here, nth(0));
    expect(overruns(here)).toEqual([]);
  });

  test('one of another job that has the lock', async () => {
    await fire(here, nth(0), 'Jobs.other');
    await fire(here, nth(1));
    expect(overruns(here)).toEqual([]);
  });

  test('one that is called by hand meanwhile', async () => {
    await fire(here, nth(0));
    await fire(here, undefined, 'Jobs.hourly', false);
    expect(here.of('skipped')).toHaveLength(1);
    expect(overruns(here)).toEqual([]);
  });

  test('one that has not begun, as the store has not answered yet', async () => {
    void here.runner.run(
      { ...here.call('hourly', {}, true), job: 'Jobs.hourly', start: nth(0) },
      () => undefined,
    );
    void here.runner.run(
      { ...here.call('hourly', {}, true), job: 'Jobs.hourly', start: nth(1) },
      () => undefined,
    );
    expect(here.of('skipped')).toMatchObject([{ reason: 'held' }]);
    await here.clock.advance(0);
    expect(overruns(here)).toEqual([]);
  });

  test('one that has ended, but is not released yet', async () => {
    await fire(here, nth(0));
    here.store.next('release', silence);
    end();
    await here.clock.advance(0);
    await fire(here, nth(1));
    expect(here.of('skipped')).toMatchObject([{ reason: 'held' }]);
    expect(here.of('released')).toEqual([]);
    expect(overruns(here)).toEqual([]);
  });
});
