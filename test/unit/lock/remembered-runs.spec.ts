import { beforeEach, describe, expect, test } from '@jest/globals';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import { LeasedLock } from '../../../lib/lock/current-lock.js';
import type { LockCall, LockSettings } from '../../../lib/lock/lock-call.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { Recorder } from '../../../lib/lock/recorder.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { gate, SETTINGS } from './harness.js';

/** What the store remembers of runs, and what is known here of those that go on. */

const HOUR = 3_600_000;
const KEPT = { count: 10, age: HOUR };

let clock: ManualClock;
let store: MemoryLockStore;
let events: SchedulerLockEvent[];
let runner: LockRunner;

function instance(name: string): LockRunner {
  const made = new LockRunner(store, name, clock, (event) => events.push(event), SETTINGS.storeTimeout);
  made.remember(new Recorder(store.history, { kept: KEPT, error: 'message' }));
  return made;
}

beforeEach(() => {
  clock = new ManualClock();
  store = new MemoryLockStore({ clock });
  events = [];
  runner = instance('here');
});

const call = (settings: Partial<LockSettings> = {}, more: Partial<LockCall> = {}): LockCall => ({
  kind: 'by-hand',
  name: 'nightly',
  job: 'Jobs.nightly',
  settings: { ...SETTINGS, history: true, ...settings },
  ...more,
});

/** Runs a job, up to its end. */
async function run(given: LockCall, job: () => unknown): Promise<void> {
  const over = runner.run(given, job).then(
    () => undefined,
    () => undefined,
  );
  await clock.advance(0);
  await over;
}

const entries = () => store.history.entries({ name: 'nightly', limit: 10 });

const fails = (message: string) => () => {
  throw new Error(message);
};

test('a store whose history throws at once costs no run its lock, and no lock its release', async () => {
  await run(call(), () => 'before');
  store.history.interrupted = fails('not today');
  // The lease before has ended by itself, so the grant notes an interruption; a person has asked for the second run.
  expect(await store.acquire({ name: 'nightly', token: 'lost', holder: 'there', ttl: 1_000 })).toMatchObject({
    acquired: true,
  });
  await clock.advance(1_001);
  const by = { action: 'run', actor: 'anna' } as const;
  for (const more of [{}, { started: { by } }]) {
    const result = runner.run(call({}, more), () => 'done');
    await clock.advance(0);
    expect(await result).toEqual({ ran: true, value: 'done' });
    expect(await store.inspect(['nightly'])).toMatchObject([{ state: 'free' }]);
  }
});

describe('a store remembers', () => {
  test('a run that failed, with its error, and the trace that it belongs to', async () => {
    runner.around(async (lock, proceed) => {
      if (lock instanceof LeasedLock) lock.traceId = '0af7651916cd43dd8448eb211c80319c';
      return proceed();
    });
    await run(call(), fails('no paper'));
    expect(await entries()).toMatchObject([
      { outcome: 'failed', error: 'Error: no paper', traceId: '0af7651916cd43dd8448eb211c80319c' },
    ]);
  });

  test.each([
    ['as it is', 'x'.repeat(193), `Error: ${'x'.repeat(193)}`],
    ['cut', 'x'.repeat(194), `Error: ${'x'.repeat(192)}…`],
    ['cut before a character of two halves', `${'x'.repeat(191)}💥x`, `Error: ${'x'.repeat(191)}…`],
  ])('200 characters of an error: %s', async (_, message, kept) => {
    await run(call(), fails(message));
    expect(await entries()).toMatchObject([{ error: kept }]);
  });

  test('that a run was interrupted, when its lock is taken again, and an event tells of it', async () => {
    const settings = { heartbeat: false, ttl: 5_000 } as const;
    void instance('there').run(call(settings), () => gate().opened);
    await clock.advance(5_000);
    expect(await entries()).toEqual([]);
    await run(call(), () => 'done');
    expect(await entries()).toMatchObject([
      { outcome: 'completed', instance: 'here' },
      { outcome: 'interrupted', instance: 'there' },
    ]);
    expect(events.filter(({ type }) => type === 'interrupted')).toEqual([
      {
        type: 'interrupted',
        lock: 'nightly',
        job: 'Jobs.nightly',
        instance: 'here',
        at: clock.now(),
        run: { instance: 'there', fencingToken: expect.any(Number) },
      },
    ]);
  });

  test('that a run has begun which a person asked for, and who that was', async () => {
    const by = { action: 'run', actor: 'Ada', reason: 'late file' } as const;
    const job = gate();
    void runner.run(call({}, { started: { trigger: 'control', by } }), () => job.opened);
    await clock.advance(0);
    expect(await entries()).toMatchObject([{ outcome: 'interrupted', trigger: 'control', by }]);
    expect(events).toMatchObject([{ type: 'acquired' }, { type: 'controlled', ...by }]);
    job.open();
    await clock.advance(0);
    expect(await entries()).toMatchObject([{ outcome: 'completed', trigger: 'control', by }]);
  });
});

test('a run that goes on is known here, and for how long its signal has aborted', async () => {
  const job = gate();
  const tick = clock.now();
  const fired = call({ timeout: 4_000 }, { kind: 'fired', start: { tick } });
  void runner.run(fired, () => job.opened);
  expect(runner.runs).toEqual([]);
  await clock.advance(3_000);
  const facts = { lock: 'nightly', job: 'Jobs.nightly', instance: 'here', tick, attempt: 1 };
  const fencingToken = expect.any(Number);
  expect(runner.runs).toEqual([{ ...facts, fencingToken, overFor: -Infinity }]);
  await clock.advance(3_000);
  expect(runner.runs).toEqual([{ ...facts, fencingToken, overFor: 2_000 }]);
  job.open();
  await clock.advance(0);
  expect(runner.runs).toEqual([]);
});

test('a job is failing after a run that failed or passed its timeout, not after one that was aborted', async () => {
  const failing = () => [...runner.condition.wrong.keys()];
  const slow = (settings: Partial<LockSettings>) => async () => {
    const job = gate();
    void runner.run(call(settings), () => job.opened);
    await clock.advance(HOUR);
    job.open();
    await clock.advance(0);
  };
  const ends: [string, () => Promise<void>, boolean][] = [
    ['completed', () => run(call(), () => 'done'), false],
    ['failed', () => run(call(), fails('no paper')), true],
    ['aborted', slow({ heartbeat: false }), false],
    ['timed-out', slow({ timeout: 1_000 }), true],
    ['completed', () => run(call(), () => 'done'), false],
  ];
  for (const [outcome, end, isFailing] of ends) {
    await end();
    expect(events.findLast(({ type }) => type === 'released')).toMatchObject({ outcome });
    expect(failing()).toEqual(isFailing ? ['Jobs.nightly'] : []);
  }
});

test('a thousand failing jobs are known at most, as a caller can make up a name per call', async () => {
  for (let index = 0; index < 1_001; index++)
    await run(call({}, { name: `lock-${index}`, job: `Jobs.job${index}` }), fails('no paper'));
  expect(runner.condition.wrong.size).toBe(1_000);
});
