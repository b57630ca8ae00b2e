import { beforeEach, describe, expect, test } from '@jest/globals';
import type { LockCall } from '../../../../lib/lock/lock-call.js';
import type { Drainer, QueueJob } from '../../../../lib/lock/drain.js';
import { Queues } from '../../../../lib/lock/queue/queues.js';
import { STEP_OF_PRIORITY } from '../../../../lib/contract/allowances.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { EVERYTHING } from '../../../../lib/contract/lock-store.js';

/* Which locks a process drains, and when. The store and the runner are told what to answer. */

type Deps = ConstructorParameters<typeof Queues>;

interface Drain {
  readonly call: LockCall;
  readonly drainer: Drainer;
  end(result: object): void;
}

let clock: ManualClock;
let left: { name: string; place: number }[];
let asked: string[][];
let drains: Drain[];
let available: (() => void) | undefined;
let queues: Queues;
let answer: object;
let hint: () => void;
let opened: number;
let events: object[];
let queuedCalls: {
  left(jobs: string[]): Promise<{ name: string; place: number }[]>;
  redeliver(name: string): Promise<number>;
};

const job = (name: string, isGone = () => false): QueueJob =>
  ({ job: name, lock: undefined, settings: { ttl: 1_000 }, isGone }) as unknown as QueueJob;

const drained = () => drains.map(({ call: { name, place } }) => ({ name, place }));

/** Lets what was begun go on until it waits. */
const settled = () => clock.advance(0);

beforeEach(() => {
  clock = new ManualClock();
  [left, asked, drains, available, events, opened] = [[], [], [], undefined, [], 0];
  queuedCalls = {
    left: async (jobs) => (asked.push(jobs), left),
    redeliver: async (name) => (name === 'empty' ? 0 : 1),
  };
  const onAvailable = (told: () => void) => ((available = told), () => (available = undefined));
  const runner = {
    enqueue: async () => answer,
    onQueued: (listener: () => void) => (hint = listener),
    openHints: () => (opened += 1),
    drain: (call: LockCall, drainer: Drainer) =>
      new Promise<object>((end) => drains.push({ call, drainer, end })),
  };
  const store = {
    keeps: EVERYTHING,
    queuedCalls,
    onAvailable,
    hints: () => ({ open: true, close: () => undefined }),
  };
  queues = new Queues(
    store as unknown as Deps[0],
    runner as unknown as Deps[1],
    'api-1',
    clock,
    (event) => void events.push(event),
  );
});

describe('a process looks for queued calls that nobody runs', () => {
  test('when it has started, and has a job', async () => {
    queues.start(false);
    await settled();
    expect(asked).toEqual([]);
    left = [{ name: 'calendar', place: 7 }];
    queues.add(job('sync'));
    await settled();
    expect(asked).toEqual([['sync']]);
    expect(drained()).toEqual([{ name: 'calendar', place: 7 }]);
  });

  test('not before it has started', async () => {
    queues.add(job('sync'));
    await settled();
    expect(asked).toEqual([]);
    queues.start(false);
    await settled();
    expect(asked).toEqual([['sync']]);
  });

  test('once for all jobs, then every 5 s', async () => {
    queues.start(false);
    queues.add(job('sync'));
    queues.add(job('import'));
    await settled();
    expect(asked).toHaveLength(1);
    await clock.advance(4_999);
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(asked[1]).toEqual(['sync', 'import']);
  });

  test('soon after a hint, once for many', async () => {
    queues.start(false);
    queues.add(job('sync'));
    await settled();
    for (let sent = 0; sent < 1_000; sent++) hint();
    await clock.advance(100);
    expect(asked).toHaveLength(2);
    await clock.advance(4_800);
    expect(asked).toHaveLength(2);
  });

  test('at most twice a second, however long hints keep coming, and once more after the last', async () => {
    queues.start(false);
    queues.add(job('sync'));
    await settled();
    for (let sent = 0; sent < 1_000; sent++) {
      hint();
      await clock.advance(2);
    }
    const looks = asked.length - 1;
    expect(looks).toBeGreaterThanOrEqual(3);
    expect(looks).toBeLessThanOrEqual(5);
    await clock.advance(1_200);
    const last = asked.length;
    hint();
    await clock.advance(100);
    expect(asked).toHaveLength(last + 1);
  });

  test('after a hint also if the store may sleep', async () => {
    queues.start(true);
    queues.add(job('sync'));
    await settled();
    hint();
    await clock.advance(100);
    expect(asked).toHaveLength(2);
  });

  test('not after a hint if it has no job, or has stopped', async () => {
    queues.start(false);
    hint();
    await clock.advance(100);
    expect(asked).toEqual([]);
    queues.add(job('sync'));
    await settled();
    queues.stop();
    hint();
    await clock.advance(100);
    expect(asked).toHaveLength(1);
  });

  test('and hears of them from then on if it has found one', async () => {
    queues.start(false);
    queues.add(job('sync'));
    await settled();
    expect(opened).toBe(0);
    left = [{ name: 'calendar', place: 7 }];
    await clock.advance(5_000);
    expect(opened).toBe(1);
  });

  test('when the store is known to be awake, if it may sleep', async () => {
    queues.start(true);
    queues.add(job('sync'));
    await settled();
    await clock.advance(60_000);
    expect(asked).toHaveLength(1);
    queues.answered();
    await settled();
    expect(asked).toHaveLength(2);
  });

  test('not with each beat, if the store never sleeps', async () => {
    queues.start(false);
    queues.add(job('sync'));
    await settled();
    queues.answered();
    await settled();
    expect(asked).toHaveLength(1);
  });

  test('when the store is back', async () => {
    queues.start(true);
    queues.add(job('sync'));
    await settled();
    available?.();
    await settled();
    expect(asked).toHaveLength(2);
  });

  test('when dead letters were put back, and only then', async () => {
    queues.start(true);
    queues.add(job('sync'));
    await settled();
    expect(await queues.redeliver('empty')).toBe(0);
    await settled();
    expect(asked).toHaveLength(1);
    expect(await queues.redeliver('calendar')).toBe(1);
    await settled();
    expect(asked).toHaveLength(2);
  });

  test('not for a job that is gone', async () => {
    let isGone = false;
    queues.start(false);
    queues.add(job('sync', () => isGone));
    await settled();
    isGone = true;
    await clock.advance(60_000);
    expect(asked).toHaveLength(1);
    queues.add(job('import'));
    await settled();
    expect(asked[1]).toEqual(['import']);
  });

  test.each([
    ['rejects', async () => Promise.reject(new Error('away'))],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['answers what is no list', async () => undefined],
  ])('again after 5 s if the store %s', async (_what, answers) => {
    queuedCalls.left = answers as unknown as typeof queuedCalls.left;
    queues.start(false);
    queues.add(job('sync'));
    await settled();
    queuedCalls.left = async (jobs) => (asked.push(jobs), left);
    left = [{ name: 'calendar', place: 7 }];
    await clock.advance(5_000);
    expect(drained()).toEqual([{ name: 'calendar', place: 7 }]);
  });

  describe('while a look is without an answer', () => {
    let answers: ((found: typeof left) => void)[];
    beforeEach(async () => {
      answers = [];
      queuedCalls.left = (jobs) => {
        asked.push(jobs);
        return new Promise((resolve) => answers.push(resolve));
      };
      queues.start(false);
      queues.add(job('sync'));
      await settled();
    });

    test('not again, whatever happens, as each look may keep a connection', async () => {
      for (let second = 0; second < 59; second++) {
        hint();
        await queues.redeliver('calendar');
        await clock.advance(1_000);
      }
      expect(asked).toHaveLength(1);
    });

    test('but as soon as that one is answered, for what has come meanwhile', async () => {
      hint();
      await clock.advance(100);
      answers[0]?.([]);
      await clock.advance(600);
      expect(asked).toHaveLength(2);
      answers[1]?.([{ name: 'calendar', place: 7 }]);
      await clock.advance(600);
      expect(drained()).toEqual([{ name: 'calendar', place: 7 }]);
      expect(asked).toHaveLength(2);
    });

    test('but once more when a lost connection is back', async () => {
      await clock.advance(5_000);
      available?.();
      await settled();
      expect(asked).toHaveLength(2);
      answers[0]?.([]);
      await clock.advance(5_000);
      expect(asked).toHaveLength(2);
      answers[1]?.([{ name: 'calendar', place: 7 }]);
      await settled();
      expect(drained()).toEqual([{ name: 'calendar', place: 7 }]);
    });

    test('but once more after a minute, as that one may have lost its connection', async () => {
      await clock.advance(59_999);
      expect(asked).toHaveLength(1);
      await clock.advance(5_001);
      expect(asked).toHaveLength(2);
      // The first one does not end the second one's turn.
      answers[0]?.([]);
      await clock.advance(20_000);
      expect(asked).toHaveLength(2);
      answers[1]?.([]);
      await clock.advance(5_000);
      expect(asked.length).toBeGreaterThan(2);
    });
  });

  test('no more when it has stopped', async () => {
    queues.start(false);
    queues.add(job('sync'));
    await settled();
    queues.stop();
    expect(available).toBeUndefined();
    await clock.advance(60_000);
    expect(asked).toHaveLength(1);
  });
});

describe('a call that finds its lock taken', () => {
  const settings = { priority: 0, storeTimeout: 1_000, onStoreError: 'skip' };
  const enqueue = (more: object = {}) => {
    const call = { name: 'calendar', job: 'sync', settings: { ...settings, ...more } } as unknown as LockCall;
    return queues.enqueue(call, { key: 'a', args: '[]', max: 1, redeliver: 0 });
  };

  test('is queued, and this process runs it', async () => {
    answer = { result: { queued: true, place: 7, merged: 2 } };
    expect(await enqueue()).toEqual({ ran: false, reason: 'queued' });
    expect(events).toMatchObject([
      { type: 'skipped', reason: 'queued', lock: 'calendar', job: 'sync', key: 'a', merged: 2 },
    ]);
    await settled();
    expect(drained()).toEqual([{ name: 'calendar', place: 7 }]);
  });

  test('is skipped if the queue is full, or the store away', async () => {
    answer = { result: { queued: false } };
    expect(await enqueue()).toEqual({ ran: false, reason: 'queue-full' });
    const error = new Error('away');
    answer = { error };
    expect(await enqueue()).toEqual({ ran: false, reason: 'store-unavailable', error });
    expect(events).toMatchObject([
      { type: 'skipped', reason: 'queue-full' },
      { type: 'skipped', reason: 'store-unavailable' },
    ]);
    expect(drains).toEqual([]);
  });

  test('is run by a worker without the limits of the job, with the priority of its place', async () => {
    answer = { result: { queued: true, place: clock.now() * 1_000 - 5 * STEP_OF_PRIORITY, merged: 0 } };
    await enqueue({ timeout: 5, atLeast: 6, onStoreError: 'run' });
    await settled();
    const own = { timeout: undefined, atLeast: 0, onStoreError: 'skip' };
    expect(drains[0]?.call.settings).toMatchObject({ ...own, priority: 5 });
  });

  test('gets no worker from a process that has stopped', async () => {
    answer = { result: { queued: true, place: 7, merged: 0 } };
    queues.stop();
    await enqueue();
    await settled();
    expect(drains).toEqual([]);
  });
});

describe('the worker of a lock', () => {
  beforeEach(async () => {
    queues.start(false);
    left = [{ name: 'calendar', place: 7 }];
    queues.add(job('sync'));
    await settled();
  });

  test('waits in line for an hour at the place of the first call, and again if its wait is over', async () => {
    expect(drains[0]?.call).toMatchObject({ kind: 'drain', place: 7, settings: { wait: 3_600_000 } });
    drains[0]?.end({ ran: false, reason: 'held' });
    await settled();
    expect(drained()).toEqual([
      { name: 'calendar', place: 7 },
      { name: 'calendar', place: 7 },
    ]);
  });

  test('is the only one while it waits at that place, or before it', async () => {
    left = [{ name: 'calendar', place: 9 }];
    await clock.advance(5_000);
    expect(drains).toHaveLength(1);
  });

  test('is joined by another one if an earlier call is found', async () => {
    left = [{ name: 'calendar', place: 5 }];
    await clock.advance(5_000);
    expect(drained()[1]).toEqual({ name: 'calendar', place: 5 });
  });

  test('goes on with calls that were found after it asked last', async () => {
    drains[0]?.drainer.asks();
    left = [{ name: 'calendar', place: 9 }];
    await clock.advance(5_000);
    expect(drains).toHaveLength(1);
    drains[0]?.end({ ran: true });
    await settled();
    expect(drained()[1]).toEqual({ name: 'calendar', place: 9 });
  });

  test('ends with the queue, and the next call gets a new one', async () => {
    drains[0]?.end({ ran: true });
    await settled();
    expect(drains).toHaveLength(1);
    await clock.advance(5_000);
    expect(drains).toHaveLength(2);
  });

  test('enters the line at the place of the next call, if one that waits stands before it', async () => {
    drains[0]?.drainer.standsBehind(9);
    await settled();
    expect(drained()[1]).toEqual({ name: 'calendar', place: 9 });
  });
});
