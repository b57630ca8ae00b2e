import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JobStart } from '../../../../lib/base/job-start.js';
import type { JobState } from '../../../../lib/schedule/cron-job-state.js';
import { LockRunner } from '../../../../lib/lock/lock-runner.js';
import { MissedTicks, type TickedJob, type TickResult } from '../../../../lib/schedule/ticks/missed-ticks.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { SETTINGS } from '../../lock/harness.js';
import { ScriptedStore } from '../../lock/scripted-store.js';

const HOUR = 3_600_000;
/** The longest by which watchers of one lease are spread, ms. */
const SPREAD = 50;

let clock: ManualClock;
let missedTicks: MissedTicks;
let tick: number;
let fired: JobStart[];
let errors: unknown[];

beforeEach(() => {
  clock = new ManualClock();
  errors = [];
  missedTicks = new MissedTicks(clock, (error) => errors.push(error));
  tick = clock.now() - 60_000;
  fired = [];
});

/** A job whose newest tick was a minute ago; `fired` has what it is fired for. */
function job(settings: Partial<TickedJob['settings']> = {}, more: Partial<TickedJob> = {}): TickedJob {
  return {
    schedule: {
      startAt: () => ({ tick, schedule: 'nightly' }),
      next: () => Infinity,
      isCron: true,
      initialDelay: 0,
    },
    settings: { ttl: 10_000, oncePerTick: true, rerun: 0, catchUp: false, ...settings },
    fire: (start) => void fired.push(start),
    state: () => 'started',
    ...more,
  };
}

const unavailable: TickResult = { ran: false, reason: 'store-unavailable' };
const local: TickResult = { ran: false, reason: 'held' };
const running = (expiresIn?: number): TickResult => ({
  ran: false,
  reason: 'held',
  tick,
  finished: false,
  ...(expiresIn === undefined ? undefined : { expiresIn }),
});

/** Begins the newest tick, and lets the store answer so. */
function end(of: TickedJob, result: TickResult): void {
  missedTicks.ended(of, missedTicks.begin(of, undefined) ?? {}, result);
}

describe('a call by the scheduler', () => {
  test('begins the newest tick, with what the store is to know about it', () => {
    expect(missedTicks.begin(job(), undefined)).toEqual({ tick, schedule: 'nightly' });
    expect(missedTicks.begin(job({ rerun: 2 }), undefined)).toMatchObject({ rerun: 2 });
  });

  test('begins the given tick if this library fires it', () => {
    expect(missedTicks.begin(job(), { tick: 7, only: 'known' })).toEqual({ tick: 7, only: 'known' });
  });

  test('begins none with oncePerTick: false, nor without a schedule', () => {
    expect(missedTicks.begin(job({ oncePerTick: false }), undefined)).toBeUndefined();
    expect(missedTicks.begin(job({}, { schedule: undefined }), undefined)).toBeUndefined();
  });

  test('begins an interval as it is', () => {
    const schedule = {
      startAt: () => ({ interval: 500 }),
      next: () => Infinity,
      isCron: false,
      initialDelay: 0,
    };
    const start = missedTicks.begin(job({ rerun: 1, catchUp: HOUR }, { schedule }), undefined);
    expect(start).toEqual({ interval: 500 });
  });

  test('ends the chance of an older tick', async () => {
    const nightly = job({ rerun: 1 });
    end(nightly, running(5_000));
    tick += 30_000;
    missedTicks.begin(nightly, undefined);
    expect(clock.pending).toBe(0);
    await clock.advance(HOUR);
    expect(fired).toEqual([]);
  });
});

describe('a tick that another instance is running', () => {
  test('is asked for again when that lease can have ended, not before', async () => {
    end(job({ rerun: 1 }), running(5_000));
    await clock.advance(4_999);
    expect(fired).toEqual([]);
    await clock.advance(1 + SPREAD);
    expect(fired).toEqual([expect.objectContaining({ tick, rerun: 1, only: 'known' })]);
  });

  test.each<[string, Partial<TickedJob['settings']>, () => TickResult]>([
    ['without rerun and catchUp', {}, () => running(5_000)],
    ['if it has run here', { rerun: 1 }, () => ({ ran: true })],
    ['if it has ended', { rerun: 1 }, () => ({ ...running(5_000), finished: true })],
    ['if another tick is running', { rerun: 1 }, () => ({ ...running(5_000), tick: tick - 1 })],
    ['if nobody knows when its lease ends', { rerun: 1 }, () => running()],
    [
      'if it was repeated as often as it may be',
      { rerun: 1 },
      () => ({ ...running(), reason: 'already-ran' }),
    ],
    ['if this process has the lock for something else', { rerun: 1 }, () => local],
  ])('is not asked for again %s', async (_, settings, result) => {
    end(job(settings), result());
    expect(clock.pending).toBe(0);
    await clock.advance(HOUR);
    expect(fired).toEqual([]);
  });

  test('is still watched where this process has the lock for something else meanwhile', async () => {
    const nightly = job({ rerun: 1 });
    end(nightly, running(5_000));
    await clock.advance(5_000 + SPREAD);
    for (const wait of [1_000, 2_000, 4_000]) {
      missedTicks.ended(nightly, fired.at(-1) ?? {}, local);
      const before = fired.length;
      await clock.advance(wait - 1);
      expect(fired).toHaveLength(before);
      await clock.advance(1);
      expect(fired).toHaveLength(before + 1);
      expect(fired.at(-1)).toMatchObject({ tick, only: 'interrupted' });
    }
    // Then the next lease is found in the way, and is waited for as the first one.
    missedTicks.ended(nightly, fired.at(-1) ?? {}, running(8_000));
    await clock.advance(7_999);
    expect(fired).toHaveLength(4);
    await clock.advance(1 + SPREAD);
    expect(fired.at(-1)).toMatchObject({ failures: 0 });
  });

  test('is asked for once more with catchUp alone: its holder may give the start back', async () => {
    const nightly = job({ catchUp: HOUR });
    end(nightly, running(5_000));
    await clock.advance(4_999);
    expect(fired).toEqual([]);
    await clock.advance(1 + SPREAD);
    // A store that has lost its data knows nothing of the run.
    expect(fired).toMatchObject([{ tick, only: 'known' }]);
    missedTicks.ended(nightly, fired[0] ?? {}, running(5_000));
    await clock.advance(HOUR);
    expect(fired).toHaveLength(1);
    end(job({ catchUp: 62_000 }), running(5_000));
    await clock.advance(HOUR);
    expect(fired).toHaveLength(1);
  });

  test('is still watched while the store is away, but is not begun by it', async () => {
    const nightly = job({ rerun: 1 });
    end(nightly, running(5_000));
    await clock.advance(5_000 + SPREAD);
    missedTicks.ended(nightly, fired.at(-1) ?? {}, unavailable);
    await clock.advance(1_000);
    expect(fired.at(-1)).toMatchObject({ tick, only: 'interrupted', rerun: 1 });
  });
});

describe('a tick whose lock is taken for something else', () => {
  const taken = (more: object = {}): TickResult => ({
    ran: false,
    reason: 'held',
    expiresIn: 5_000,
    ...more,
  });

  test.each<[string, () => TickResult]>([
    ['by another job, or by hand', taken],
    ['by an older tick of its own', () => taken({ tick: tick - 1, finished: false })],
    ['by atLeast', () => taken({ reason: 'cooling-down', tick: tick - 1, finished: true })],
  ])('%s, is asked for again when that can have ended, with catchUp', async (_, result) => {
    const nightly = job({ catchUp: HOUR });
    end(nightly, result());
    for (const asked of [1, 2]) {
      await clock.advance(4_999);
      expect(fired).toHaveLength(asked - 1);
      await clock.advance(1 + SPREAD);
      expect(fired).toHaveLength(asked);
      // The scheduler has fired it here: it is run also if its job never ran before.
      expect(fired.at(-1)).toMatchObject({ tick, schedule: 'nightly' });
      expect(fired.at(-1)?.only).toBeUndefined();
      // The lease was renewed.
      missedTicks.ended(nightly, fired.at(-1) ?? {}, result());
    }
    await clock.advance(5_000 + SPREAD);
    missedTicks.ended(nightly, fired.at(-1) ?? {}, { ran: true });
    expect(clock.pending).toBe(0);
  });

  test('as the instance starts, is asked for again, if its job ran before', async () => {
    const nightly = job({ catchUp: HOUR });
    missedTicks.catchUp(nightly);
    await clock.advance(0);
    missedTicks.ended(nightly, fired.at(-1) ?? {}, taken());
    await clock.advance(5_000 + SPREAD);
    expect(fired).toHaveLength(2);
    expect(fired.at(-1)).toMatchObject({ tick, only: 'known' });
  });

  test('by this very process, which cannot say for how long, is asked for again after 1, 2, 4 … seconds', async () => {
    const nightly = job({ catchUp: HOUR });
    end(nightly, local);
    for (const wait of [1_000, 2_000, 4_000]) {
      const before = fired.length;
      await clock.advance(wait - 1);
      expect(fired).toHaveLength(before);
      await clock.advance(1);
      expect(fired).toHaveLength(before + 1);
      // The store was not asked, so nothing is known of its data.
      expect(fired.at(-1)?.only).toBeUndefined();
      missedTicks.ended(nightly, fired.at(-1) ?? {}, local);
    }
  });

  test('and that meets a store that is away then is asked for until the store answers', async () => {
    const nightly = job({ catchUp: HOUR });
    end(nightly, taken());
    await clock.advance(5_000 + SPREAD);
    for (const wait of [1_000, 2_000]) {
      missedTicks.ended(nightly, fired.at(-1) ?? {}, unavailable);
      const before = fired.length;
      await clock.advance(wait);
      expect(fired).toHaveLength(before + 1);
    }
    missedTicks.ended(nightly, fired.at(-1) ?? {}, taken());
    await clock.advance(4_999);
    expect(fired).toHaveLength(3);
    await clock.advance(1 + SPREAD);
    expect(fired).toHaveLength(4);
  });

  test.each<[string, Partial<TickedJob['settings']>, () => TickResult]>([
    ['without catchUp', { rerun: 1 }, taken],
    ['if it is older than that', { catchUp: 59_999 }, taken],
    ['if it was started', { catchUp: HOUR }, () => taken({ tick, finished: true })],
    ['if a newer one was started', { catchUp: HOUR }, () => taken({ tick: tick + 1, finished: false })],
    [
      'if it has run, and its lock is kept',
      { catchUp: HOUR },
      () => taken({ reason: 'cooling-down', tick, finished: true }),
    ],
  ])('is not asked for again %s', (_, settings, result) => {
    end(job(settings), result());
    expect(clock.pending).toBe(0);
  });

  test('is asked for again if it is exactly as old as catchUp', () => {
    end(job({ catchUp: 60_000 }), taken());
    expect(clock.pending).toBe(1);
  });

  test.each<[string, () => void]>([
    ['is older than catchUp', () => undefined],
    ['is not the newest any more', () => void (tick += 30_000)],
  ])('is given up when that ends if it %s', async (_, meanwhile) => {
    end(job({ catchUp: 64_999 }), taken());
    meanwhile();
    await clock.advance(5_000 + SPREAD);
    expect(fired).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe('a tick that met a pause', () => {
  test('is begun soon after a person has resumed its job, long before the pause was to end', async () => {
    const nightly = job({ catchUp: HOUR });
    const paused: TickResult = { ran: false, reason: 'paused', expiresIn: 24 * HOUR };
    end(nightly, paused);
    for (let asked = 1; asked <= 3; asked++) {
      await clock.advance(30_000 + SPREAD);
      expect(fired).toHaveLength(asked);
      missedTicks.ended(nightly, fired.at(-1) ?? {}, asked === 3 ? { ran: true } : paused);
    }
    expect(fired.at(-1)).toMatchObject({ tick });
    expect(clock.pending).toBe(0);
  });

  test('is not asked for any more in a pause that outlasts catchUp, nor without it', async () => {
    const paused: TickResult = { ran: false, reason: 'paused', expiresIn: 24 * HOUR };
    end(job(), paused);
    expect(clock.pending).toBe(0);
    const nightly = job({ catchUp: 120_000 });
    end(nightly, paused);
    // It is a minute old.
    for (let n = 0; n < 10; n++) {
      const asked = fired.length;
      await clock.advance(30_000 + SPREAD);
      if (fired.length > asked) missedTicks.ended(nightly, fired.at(-1) ?? {}, paused);
    }
    expect(fired).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });
});

describe('a tick that met a store that was away', () => {
  test('is asked for again until the store answers, with catchUp', async () => {
    const nightly = job({ catchUp: HOUR });
    end(nightly, unavailable);
    for (const wait of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      const before = fired.length;
      await clock.advance(wait);
      expect(fired).toHaveLength(before + 1);
      expect(fired.at(-1)).toMatchObject({ tick });
      // A store that knows no start of the job may have lost its data: another instance may have run the tick.
      expect(fired.at(-1)?.only).toBe('known');
      missedTicks.ended(nightly, fired.at(-1) ?? {}, unavailable);
    }
    await clock.advance(30_000);
    missedTicks.ended(nightly, fired.at(-1) ?? {}, { ran: true });
    expect(clock.pending).toBe(0);
  });

  test('is given up when it is older than catchUp', async () => {
    const nightly = job({ catchUp: 61_500 });
    end(nightly, unavailable);
    await clock.advance(1_000);
    expect(fired).toHaveLength(1);
    missedTicks.ended(nightly, fired.at(-1) ?? {}, unavailable);
    await clock.advance(2_000);
    expect(fired).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  test('is not asked for again without catchUp, nor is one that was refused for another reason', () => {
    end(job({ rerun: 1 }), unavailable);
    for (const reason of ['clock-skew', 'shutting-down', 'disabled', 'invalid-name'] as const)
      end(job({ rerun: 1, catchUp: HOUR }), { ran: false, reason });
    expect(clock.pending).toBe(0);
  });
});

describe('at the start of an instance', () => {
  test.each<[string, Partial<TickedJob['settings']>, Partial<JobStart> | undefined]>([
    ['the newest tick is caught up, if nobody started it', { catchUp: HOUR }, { only: 'known' }],
    ['an interrupted one is run again', { rerun: 1 }, { only: 'interrupted', rerun: 1 }],
    ['both', { catchUp: HOUR, rerun: 1 }, { only: 'known', rerun: 1 }],
    [
      'one too old to be caught up is run again all the same',
      { catchUp: 10, rerun: 1 },
      { only: 'interrupted' },
    ],
    ['one too old to be caught up is left alone', { catchUp: 10 }, undefined],
    ['none without catchUp and rerun', {}, undefined],
    ['none with oncePerTick: false', { oncePerTick: false, catchUp: HOUR, rerun: 1 }, undefined],
  ])('%s', async (_, settings, expected) => {
    missedTicks.catchUp(job(settings));
    await clock.advance(0);
    expect(fired).toEqual(expected === undefined ? [] : [expect.objectContaining({ tick, ...expected })]);
    expect(clock.pending).toBe(0);
  });

  test('an interrupted run is looked for until the store answers, also when it is too old to be caught up', async () => {
    const nightly = job({ rerun: 1, catchUp: 61_500 });
    missedTicks.catchUp(nightly);
    const asked: (string | undefined)[] = [];
    for (const wait of [0, 1_000, 2_000, 4_000]) {
      await clock.advance(wait);
      asked.push(fired.at(-1)?.only);
      expect(fired).toHaveLength(asked.length);
      missedTicks.ended(nightly, fired.at(-1) ?? {}, unavailable);
    }
    expect(asked).toEqual(['known', 'known', 'interrupted', 'interrupted']);
    await clock.advance(8_000);
    missedTicks.ended(nightly, fired.at(-1) ?? {}, { ran: false, reason: 'already-ran' });
    expect(clock.pending).toBe(0);
  });

  test('nothing is fired before the initialDelay of the job has passed', async () => {
    const startAt = () => ({ tick });
    missedTicks.catchUp(
      job(
        { catchUp: HOUR },
        { schedule: { startAt, next: () => Infinity, isCron: true, initialDelay: 90_000 } },
      ),
    );
    await clock.advance(89_999);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual([expect.objectContaining({ tick, only: 'known' })]);
  });

  test('an interval is not caught up', async () => {
    const schedule = {
      startAt: () => ({ interval: 500 }),
      next: () => Infinity,
      isCron: false,
      initialDelay: 0,
    };
    missedTicks.catchUp(job({ rerun: 1, catchUp: HOUR }, { schedule }));
    await clock.advance(HOUR);
    expect(fired).toEqual([]);
  });

  test('a job that the scheduler makes late is waited for, a minute at most', async () => {
    let made = false;
    const schedule = {
      startAt: () => (made ? { tick } : {}),
      next: () => Infinity,
      isCron: true,
      initialDelay: 0,
    };
    missedTicks.catchUp(job({ catchUp: HOUR }, { schedule }));
    await clock.advance(10_000);
    made = true;
    await clock.advance(1_000);
    expect(fired).toHaveLength(1);
    made = false;
    missedTicks.catchUp(job({ catchUp: HOUR }, { schedule }));
    await clock.advance(60_000);
    expect(clock.pending).toBe(0);
    expect(fired).toHaveLength(1);
  });

  test.each([
    ['started', (follow: MissedTicks, of: TickedJob) => follow.catchUp(of)],
    ['elected', (follow: MissedTicks, of: TickedJob) => follow.lead([of], HOUR)],
  ])(
    'an instance that was %s finds a job that is made in the last second of that minute',
    async (_, begin) => {
      let made = false;
      const schedule = {
        startAt: () => (made ? { tick } : {}),
        next: () => Infinity,
        isCron: true,
        initialDelay: 0,
      };
      begin(missedTicks, job({ catchUp: HOUR }, { schedule }));
      await clock.advance(59_500);
      made = true;
      await clock.advance(500);
      expect(fired).toHaveLength(1);
    },
  );

  test('a job that the scheduler is about to start, as its initialDelay has just passed, is looked at again, once', async () => {
    for (const [initialDelay, later, looks] of [
      [5_000, 'started', 1],
      [5_000, 'stopped', 0],
      [0, 'started', 0],
      [1, 'started', 1],
    ] as const) {
      fired = [];
      let state: JobState = 'stopped';
      const schedule = { startAt: () => ({ tick }), next: () => Infinity, isCron: true, initialDelay };
      missedTicks.catchUp(job({ catchUp: HOUR }, { schedule, state: () => state }));
      await clock.advance(initialDelay);
      expect(fired).toEqual([]);
      state = later;
      await clock.advance(1_000);
      expect(fired).toHaveLength(looks);
      expect(clock.pending).toBe(0);
    }
  });

  test('a job that was deleted is not looked at again', async () => {
    const schedule = { startAt: () => ({ tick }), next: () => Infinity, isCron: true, initialDelay: 5_000 };
    missedTicks.catchUp(job({ catchUp: HOUR }, { schedule, state: () => 'gone' }));
    await clock.advance(5_000);
    expect(clock.pending).toBe(0);
  });
});

test.each([
  () => Promise.reject(new Error('failed')),
  () => {
    throw new Error('failed');
  },
])('what a job throws that is fired again is told, however it throws', async (fire) => {
  missedTicks.catchUp(job({ catchUp: HOUR }, { fire }));
  await clock.advance(0);
  expect(errors).toEqual([new Error('failed')]);
});

test('nothing is fired after the stop', async () => {
  end(job({ rerun: 1 }), running(5_000));
  missedTicks.stop();
  await clock.advance(HOUR);
  expect(fired).toEqual([]);
});

describe('watchers of a long run', () => {
  const TTL = SETTINGS.ttl;
  const WATCHERS = 3;

  /** An instance: its calls of the store, and the attempts that it has run. */
  function instance(name: string, shared: ScriptedStore | undefined, work: () => Promise<void>) {
    const store = new ScriptedStore(clock, shared);
    const runner = new LockRunner(store, name, clock, () => undefined, SETTINGS.storeTimeout);
    const asked: number[] = [];
    const attempts: number[] = [];
    const follow = new MissedTicks(clock, (error) => errors.push(error));
    const nightly: TickedJob = job({ rerun: 1 }, { fire: (start) => call(start) });
    const call = async (given?: JobStart): Promise<void> => {
      const start = follow.begin(nightly, given);
      asked.push(clock.monotonic());
      const result = await runner.run(
        { name: 'nightly', job: 'nightly', settings: SETTINGS, kind: 'fired', start },
        (lock) => {
          attempts.push(lock.attempt);
          return work();
        },
      );
      follow.ended(nightly, start ?? {}, result);
    };
    return { store, runner, asked, attempts, call };
  }

  test('ask the store once for each lease that they are told of, and one of them takes over when it ends', async () => {
    const never = new Promise<void>(() => undefined);
    const holder = instance('holder', undefined, () => never);
    void holder.call();
    await clock.advance(0);
    const watchers = Array.from({ length: WATCHERS }, (_, i) =>
      instance(`watcher-${i}`, holder.store, async () => undefined),
    );
    for (const { call } of watchers) await call();
    await clock.advance(20 * TTL);
    for (const { asked, attempts } of watchers) {
      // A lease that was renewed just now has its ttl to live, and 0.7 of it just before its next renewal.
      const gaps = asked.slice(1).map((at, i) => at - (asked[i] ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0.7 * TTL);
      expect(asked.length).toBeGreaterThan(15);
      expect(attempts).toEqual([]);
    }
    // The holder falls silent.
    const died = clock.monotonic();
    holder.store.breakDown();
    await clock.advance(TTL + SPREAD);
    const runs = watchers.flatMap(({ attempts }) => attempts);
    expect(runs).toEqual([2]);
    await clock.advance(20 * TTL);
    expect(watchers.flatMap(({ attempts }) => attempts)).toEqual([2]);
    // One call tells the others that it has run; it costs nothing from then on.
    for (const { asked } of watchers)
      expect(asked.filter((at) => at > died + TTL + 2 * SPREAD).length).toBeLessThanOrEqual(1);
  });
});
