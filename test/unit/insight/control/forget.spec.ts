import { beforeEach, describe, expect, test } from '@jest/globals';
import type { KnownJob } from '../../../../lib/contract/history-store.js';
import { Control } from '../../../../lib/insight/control/control.js';
import { told } from '../../../../lib/insight/control/told.js';
import { Insight } from '../../../../lib/insight/insight.js';
import { timesIn } from '../../../../lib/insight/times.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const ANNA = { actor: 'anna', reason: 'the shop is closed' } as const;
const [LOST, OTHER] = ['Shop.close', 'Shop.open'];
const MINUTE = 60_000;

let clock: ManualClock;
let store: MemoryLockStore;
let control: Control;
let insight: Insight;

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2026, 10, 22, 11, 20));
  store = new MemoryLockStore({ clock });
  control = new Control(store, { clock, instance: 'shell' });
  insight = new Insight(store);
});

const jobOf = (job: string, lock: string | undefined): KnownJob => ({
  job,
  kind: 'interval',
  interval: MINUTE,
  enabled: true,
  overdue: MINUTE,
  ...(lock !== undefined && { lock }),
});

const beat = (instance: string, lock: string | undefined = 'shop'): Promise<unknown> =>
  store.history.beat({
    instance,
    startedAt: clock.now(),
    every: 20_000,
    catalogue: String(lock),
    jobs: [jobOf(LOST, lock), jobOf(OTHER, 'other')],
    leads: [],
    left: false,
  });

const jobs = async (): Promise<string[]> => (await insight.jobs()).map(({ job }) => job);

describe('a job of an application that is gone', () => {
  beforeEach(async () => {
    await beat('shop-1');
    await clock.advance(10 * MINUTE);
    expect(await insight.job(LOST)).toMatchObject({ status: 'overdue' });
  });

  test('is in no answer any more, and all others are', async () => {
    const result = await control.forget({ job: LOST, ...ANNA });
    expect(result).toEqual({ result: 'forgotten', job: LOST, lock: 'shop' });
    expect(told(result, timesIn())).toMatchObject({ status: 200, code: 0 });
    expect(await jobs()).toEqual([OTHER]);
    expect(await insight.job(LOST)).toBeUndefined();
    expect((await insight.why(LOST)).sentence).toBe(
      'It is forgotten, by anna at 2026-11-22 11:30:00Z (the shop is closed), and no instance has guarded it since.',
    );
  });

  test('the act is on record', async () => {
    await control.forget({ job: LOST, ...ANNA });
    expect(await insight.controls({ job: LOST })).toMatchObject([
      { action: 'forget', ...ANNA, at: clock.now(), lock: 'shop', job: LOST },
    ]);
    expect(await insight.runs({ job: LOST })).toEqual([]);
  });

  test('is back when an instance guards it again', async () => {
    await control.forget({ job: LOST, ...ANNA });
    await clock.advance(1);
    await beat('shop-2');
    expect((await jobs()).sort()).toEqual([LOST, OTHER].sort());
    expect(await insight.job(LOST)).toMatchObject({ instances: ['shop-2'] });
  });
});

test('a job that a live instance guards is not forgotten, and the answer names that instance', async () => {
  await beat('shop-1');
  const result = await control.forget({ job: LOST, ...ANNA });
  expect(result).toEqual({ result: 'guarded', job: LOST, instances: ['shop-1'] });
  expect(told(result, timesIn())).toMatchObject({ status: 409, code: 1 });
  expect(told(result, timesIn()).sentence).toContain('shop-1');
  expect(await jobs()).toContain(LOST);
  expect(await insight.controls()).toEqual([]);
});

test('a lock is no job: nothing is forgotten, and the answer names its job', async () => {
  await beat('shop-1');
  await clock.advance(10 * MINUTE);
  const result = await control.forget({ job: 'shop', ...ANNA });
  expect(result).toMatchObject({ result: 'nobody-has-it', job: 'shop', jobs: [LOST] });
  expect(told(result, timesIn()).sentence).toMatch(
    /it is the lock of Shop\.close, and no job\. Name the job\.$/,
  );
  expect(await insight.controls()).toEqual([]);
});

test('another job under the same lock is not forgotten with it', async () => {
  await beat('shop-1', 'other');
  await clock.advance(10 * MINUTE);
  await control.forget({ job: LOST, ...ANNA });
  expect(await jobs()).toEqual([OTHER]);
});

test.each([
  ['a job that nobody knows', { job: 'Shop.closed', ...ANNA }, /no instance knows|did you mean|There are/i],
  ['a job whose lock has no fixed name', { job: LOST, ...ANNA }, /arguments/],
])('%s cannot be forgotten', async (_, request, sentence) => {
  await store.history.beat({
    instance: 'shop-1',
    startedAt: clock.now(),
    every: 20_000,
    catalogue: 'one',
    jobs: [jobOf(LOST, undefined)],
    leads: [],
    left: false,
  });
  await clock.advance(10 * MINUTE);
  const result = await control.forget(request);
  expect(result).toMatchObject({ result: 'nobody-has-it' });
  expect(told(result, timesIn()).sentence).toMatch(sentence);
});

test('who and why are needed', async () => {
  await expect(control.forget({ job: LOST, actor: '', reason: '' })).rejects.toThrow(/actor: .*reason: /s);
});
