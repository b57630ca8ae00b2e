import { beforeEach, describe, expect, test } from '@jest/globals';
import { Insight } from '../../../lib/insight/insight.js';
import type { ReleaseOutcome } from '../../../lib/contract/lock-store.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { at, JOB, ticks } from './support/facts.js';

const DAY = 86_400_000;
const kept = { count: 100, age: 30 * DAY };

let clock: ManualClock;
let store: MemoryLockStore;
let insight: Insight;

beforeEach(() => {
  clock = new ManualClock(at('02:59'));
  store = new MemoryLockStore({ clock });
  insight = new Insight(store, { ticks });
});

const beat = (instance: string, left = false): Promise<unknown> =>
  store.history.beat({
    instance,
    startedAt: at('12:00', 21),
    every: 30_000,
    leads: [],
    catalogue: 'one',
    jobs: [JOB],
    left,
  });

/** Takes the lock for the tick of three o'clock. */
async function begin(
  instance: string,
  ttl = 60_000,
): Promise<(outcome: ReleaseOutcome, error?: string) => Promise<unknown>> {
  const start = {
    job: JOB.job,
    tick: at('03:00'),
    schedule: '0 3 * * * (UTC)',
    rerun: 1,
    maxClockSkew: 5_000,
  };
  const lease = { name: 'invoices', token: `${instance}-token`, ttl, holder: instance };
  const began = clock.now();
  const result = await store.acquire({ ...lease, ...start, history: true });
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  if (result.interrupted) await store.history.interrupted({ name: 'invoices', ...result.interrupted, kept });
  const { fencingToken, attempt } = result;
  const ref = {
    ...lease,
    fencingToken,
    job: JOB.job,
    tick: start.tick,
    ...(attempt !== undefined && { attempt }),
  };
  return (outcome, error) =>
    store.release(ref, {
      outcome,
      record: { kept, duration: clock.now() - began, ...(error !== undefined && { error }) },
    });
}

const move = (time: number): Promise<void> => clock.advance(time - clock.now());

describe('on a real store', () => {
  test('a run goes on, and has completed', async () => {
    await move(at('03:00'));
    await beat('api-1');
    const end = await begin('api-1');
    await clock.advance(12_000);
    expect(await insight.job(JOB.job)).toMatchObject({
      status: 'running',
      last: { outcome: 'running', tick: at('03:00') },
    });
    await end('completed');
    await beat('api-1');
    expect(await insight.job(JOB.job)).toMatchObject({
      status: 'ok',
      attention: false,
      last: { attempt: 1 },
    });
    expect((await insight.why(JOB.job, '2026-11-22 03:00')).sentence).toBe(
      'The tick of 2026-11-22 03:00:00Z ran on api-1: started at 03:00:00Z, completed after 12 s.',
    );
  });

  test('a run was interrupted, before and after the next one begins', async () => {
    await move(at('03:00'));
    await beat('api-1');
    await begin('api-1', 10_000);
    await clock.advance(20_000);
    await beat('api-2');
    expect(await insight.job(JOB.job)).toMatchObject({ status: 'interrupted', attention: true });
    const end = await begin('api-2');
    await end('failed', 'no paper');
    const runs = await insight.runs({ job: JOB.job });
    expect(runs.map(({ instance, outcome, attempt }) => [instance, outcome, attempt])).toEqual([
      ['api-2', 'failed', 2],
      ['api-1', 'interrupted', 1],
    ]);
    expect((await insight.why(JOB.job)).sentence).toBe(
      'The tick of 2026-11-22 03:00:00Z ran on api-2, for the second time: started at 03:00:20Z, failed after 0 ms (no paper).',
    );
  });

  test('a tick is overdue that nobody has started, as nobody was up', async () => {
    await beat('api-1');
    await move(at('03:10'));
    expect(await insight.jobs()).toMatchObject([{ status: 'overdue', overdue: at('03:00'), instances: [] }]);
    expect((await insight.why(JOB.job)).sentence).toBe(
      'No instance that may run it was up at 2026-11-22 03:00:00Z: api-1 was the last one, and was last seen at 02:59:00Z; none has come since.',
    );
  });
});
