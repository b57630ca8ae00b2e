import { expect, test } from '@jest/globals';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { SETTINGS } from './harness.js';

const INTERVAL = 1_000;
const INTERVALS = 2_000;

/** Reproducible numbers in [0, 1): mulberry32. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Fleet {
  readonly instances: number;
  /** How late a timer may fire, ms: each fires at its own beat of `setInterval`, and late by a random amount. */
  readonly jitter: number;
  readonly seed: number;
}

/** The starts of a job by `@Interval(1000)` on a fleet of random phases, on the store's clock. */
async function simulate({ instances, jitter, seed }: Fleet): Promise<number[]> {
  const random = randomNumbers(seed);
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const starts: number[] = [];
  const fires: { at: number; fire: () => Promise<unknown> }[] = [];
  for (let instance = 0; instance < instances; instance++) {
    const runner = new LockRunner(store, `instance-${instance}`, clock, () => undefined, 2_000);
    const call = {
      name: 'regular',
      job: 'regular',
      settings: SETTINGS,
      kind: 'fired' as const,
      start: { interval: INTERVAL },
    };
    const fire = () => runner.run(call, () => void starts.push(clock.monotonic()));
    const phase = instances === 1 ? 0 : random() * INTERVAL;
    for (let beat = 0; beat < INTERVALS; beat++)
      fires.push({ at: phase + beat * INTERVAL + random() * jitter, fire });
  }
  fires.sort((a, b) => a.at - b.at);
  for (const { at, fire } of fires) {
    clock.block(at - clock.monotonic());
    await fire();
  }
  return starts;
}

const shortestGap = (starts: readonly number[]): number =>
  starts.slice(1).reduce((least, start, i) => Math.min(least, start - (starts[i] ?? 0)), Infinity);

test.each([
  { jitter: 0, seed: 1 },
  { jitter: 10, seed: 2 },
  { jitter: 90, seed: 3 },
])(
  'one instance whose timers are up to $jitter ms late runs each of 2,000 intervals (seed $seed)',
  async (fleet) => {
    const starts = await simulate({ instances: 1, ...fleet });
    expect(Math.abs(starts.length - INTERVALS)).toBeLessThanOrEqual(2);
    expect(shortestGap(starts)).toBeGreaterThanOrEqual(0.9 * INTERVAL);
  },
);

test.each([
  { jitter: 0, seed: 4 },
  { jitter: 10, seed: 5 },
  { jitter: 90, seed: 6 },
  { jitter: 10, seed: 7 },
])(
  '20 instances of random phase, timers up to $jitter ms late, run each interval once (seed $seed)',
  async (fleet) => {
    const starts = await simulate({ instances: 20, ...fleet });
    expect(Math.abs(starts.length - INTERVALS)).toBeLessThanOrEqual(10);
    expect(shortestGap(starts)).toBeGreaterThanOrEqual(0.9 * INTERVAL);
  },
);
