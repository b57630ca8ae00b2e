import { beforeEach, expect, test } from '@jest/globals';
import type { JobStart } from '../../../lib/base/job-start.js';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import type { LockSettings } from '../../../lib/lock/lock-call.js';
import { Harness } from './harness.js';
import { notConnected } from './scripted-store.js';
import { type EventKind } from '../../support/events.js';

/** Every outcome of a call of the scheduler says whose it is: job, tick, attempt, and who has the lock. */

let here: Harness;
let there: Harness;
let tick: number;
beforeEach(() => {
  here = new Harness();
  there = new Harness(here, 'there');
  tick = here.clock.now();
});

const gates: (() => void)[] = [];

/** A call of the scheduler whose job lasts until `end()`; rejections are for whoever called. */
function fire(on: Harness, start: JobStart = { tick }, settings: Partial<LockSettings> = {}): void {
  const call = { ...on.call('nightly', settings, true), job: 'Jobs.nightly', start };
  const ended = new Promise<void>((resolve) => gates.push(resolve));
  on.runner.run(call, () => ended).catch(() => undefined);
}

/** The event of this type, without the time and what is only said of errors. */
function event(on: Harness, type: EventKind): Partial<SchedulerLockEvent> | undefined {
  const found = on.of(type).at(-1);
  if (found === undefined) throw new Error(`no ${type} event`);
  return found;
}

const ours = { lock: 'nightly', job: 'Jobs.nightly', instance: 'here' };
const lease = () => ({ ...ours, tick, attempt: 1 });

test('a run that begins, is renewed, and ends', async () => {
  fire(here);
  await here.clock.advance(3_000);
  gates.at(-1)?.();
  await here.clock.advance(0);
  for (const type of ['acquired', 'renewed', 'released'] as const)
    expect(event(here, type)).toMatchObject(lease());
});

test('a rerun, with its attempt', async () => {
  fire(there);
  await here.clock.advance(0);
  there.store.breakDown();
  await here.clock.advance(10_000);
  fire(here, { tick, rerun: 1 });
  await here.clock.advance(0);
  expect(event(here, 'acquired')).toMatchObject({ ...ours, tick, attempt: 2 });
});

test('a run that passes its timeout, cannot be renewed, and is lost', async () => {
  fire(here, { tick }, { timeout: 1_000 });
  await here.clock.advance(1_000);
  here.store.breakDown();
  await here.clock.advance(10_000);
  for (const type of ['timeout', 'renewal-failed', 'lost'] as const)
    expect(event(here, type)).toMatchObject(lease());
});

test('a run that is lost to another instance, with its holder', async () => {
  fire(here, { tick }, { heartbeat: 3_000 });
  await here.clock.advance(0);
  here.store.forget();
  fire(there);
  await here.clock.advance(3_000);
  expect(event(here, 'lost')).toMatchObject({ ...lease(), reason: 'taken', holder: 'there' });
});

test('a run without its lock', async () => {
  here.store.always('acquire', notConnected);
  fire(here, { tick }, { onStoreError: 'run' });
  await here.clock.advance(0);
  expect(event(here, 'unlocked')).toMatchObject({ ...lease(), fencingToken: 0 });
});

test('a schedule that differs', async () => {
  fire(there, { tick: tick - 1, schedule: 'old' });
  await here.clock.advance(0);
  gates.at(-1)?.();
  await here.clock.advance(0);
  fire(here, { tick, schedule: 'new' });
  await here.clock.advance(0);
  expect(event(here, 'acquired')).toMatchObject({
    ...lease(),
    mismatch: { schedule: 'new', previousSchedule: 'old' },
  });
});

test('a call that is skipped, whatever the reason', async () => {
  const skipped = async (start?: JobStart, settings?: Partial<LockSettings>) => {
    fire(here, start, settings);
    await here.clock.advance(0);
    return event(here, 'skipped');
  };
  const of = (reason: string, more: object = {}) => ({ ...ours, callTick: tick, reason, ...more });
  expect(await skipped({ tick }, { enabled: false })).toMatchObject(of('disabled'));
  here.store.next('acquire', notConnected);
  expect(await skipped()).toMatchObject(of('store-unavailable'));
  fire(there, { tick }, { atLeast: 5_000 });
  await here.clock.advance(0);
  const last = { holder: 'there', tick };
  expect(await skipped()).toMatchObject(of('held', { ...last, finished: false }));
  gates.at(-2)?.();
  await here.clock.advance(0);
  expect(await skipped()).toMatchObject(of('cooling-down', { ...last, finished: true }));
  await here.clock.advance(5_000);
  expect(await skipped()).toMatchObject(of('already-ran', { tick, finished: true }));
  const future = tick + 3_600_000;
  expect(await skipped({ tick: future })).toMatchObject({
    ...of('clock-skew', { tick: future }),
    callTick: future,
  });
  const by = { actor: 'Ada', reason: 'migration' };
  const { id: _id, ...paused } = await there.store.pause('nightly', { ...by, id: 1, length: 60_000 });
  expect(paused).toMatchObject(by);
  expect(await skipped({ tick: tick + 1 })).toMatchObject({
    ...of('paused', { paused }),
    callTick: tick + 1,
  });
  const shutdown = here.runner.shutdown(1_000);
  expect(await skipped()).toMatchObject(of('shutting-down'));
  await here.clock.advance(5_000);
  await shutdown;
});
