import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Looked } from '../../../../lib/show/board/data/looked.js';
import { type Snapshot, Snapshots } from '../../../../lib/show/board/data/snapshots.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/** A store whose answers come when the test says so. */
class SlowStore {
  readonly #waiting: ((looked: Looked | Error) => void)[] = [];
  asked = 0;

  readonly read = (): Promise<Looked> => {
    this.asked++;
    return new Promise((resolve, reject) =>
      this.#waiting.push((looked) => (looked instanceof Error ? reject(looked) : resolve(looked))),
    );
  };

  answer(looked: Looked | Error): void {
    this.#waiting.shift()?.(looked);
  }
}

const answerOf = (now: number): Looked => ({ now }) as Looked;

let clock: ManualClock;
let store: SlowStore;
let snapshots: Snapshots;

beforeEach(async () => {
  clock = new ManualClock();
  store = new SlowStore();
  snapshots = new Snapshots(store.read, clock);
});

/** What a viewer gets, and after how many ms; `undefined` if it is nothing within a minute. */
async function viewed(): Promise<{ snapshot: Snapshot; after: number } | undefined> {
  const started = clock.monotonic();
  let got: { snapshot: Snapshot; after: number } | undefined;
  void snapshots.newest().then((snapshot) => (got = { snapshot, after: clock.monotonic() - started }));
  for (let n = 0; n < 600 && got === undefined; n++) await clock.advance(100);
  return got;
}

/** The store has answered, and some time has passed since. */
async function answered(looked: Looked, since: number): Promise<void> {
  const first = snapshots.newest();
  store.answer(looked);
  await first;
  await clock.advance(since);
}

describe('a store that takes its time', () => {
  test('an answer of some seconds ago serves at once, says its age, and is not called old', async () => {
    await answered(answerOf(1), 5_000);
    expect(await viewed()).toEqual({ snapshot: { looked: answerOf(1), age: 5_100 }, after: 100 });
    expect(store.asked).toBe(2);
  });

  test('who asks next gets the answer that the one before has asked for', async () => {
    await answered(answerOf(1), 5_000);
    await viewed();
    store.answer(answerOf(2));
    await clock.advance(1_000);
    expect(await viewed()).toEqual({ snapshot: { looked: answerOf(2), age: 1_100 }, after: 0 });
  });

  test('for an answer that is older the newer one is waited for, and then it is called old', async () => {
    await answered(answerOf(1), 60_000);
    expect(await viewed()).toEqual({
      snapshot: { looked: answerOf(1), age: 61_500, failure: 'no answer yet.' },
      after: 1_500,
    });
  });

  test('before its first answer nothing is known', async () => {
    expect(await viewed()).toEqual({ snapshot: { age: 0, failure: 'no answer yet.' }, after: 10_000 });
  });

  test('it is asked once, however many look', async () => {
    await answered(answerOf(1), 5_000);
    await Promise.all([viewed(), ...Array.from({ length: 50 }, () => snapshots.newest())]);
    expect(store.asked).toBe(2);
  });
});

describe('after somebody has changed something', () => {
  test('the next one who asks is told of it, though the answer before is new', async () => {
    await answered(answerOf(1), 500);
    snapshots.expire();
    await clock.advance(1);
    const next = snapshots.newest();
    await clock.advance(500);
    store.answer(answerOf(2));
    expect(await next).toEqual({ looked: answerOf(2), age: 500 });
  });

  test('an answer that was asked for before is not taken for that', async () => {
    await answered(answerOf(1), 5_000);
    await viewed();
    snapshots.expire();
    await clock.advance(1);
    const next = snapshots.newest();
    store.answer(answerOf(2));
    await clock.advance(100);
    store.answer(answerOf(3));
    expect(await next).toMatchObject({ looked: answerOf(3) });
  });
});

test('a store that fails greys the answer at once, however new it is', async () => {
  await answered(answerOf(1), 2_000);
  const next = snapshots.newest();
  store.answer(new Error('away'));
  expect(await next).toEqual({ looked: answerOf(1), age: 2_000, failure: 'away.' });
});
