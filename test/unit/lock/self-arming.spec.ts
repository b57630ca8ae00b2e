import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { LeasedLock } from '../../../lib/lock/current-lock.js';
import { gate, Harness } from './harness.js';

const TURNS = 50;

/** How many scopes each call had to look through for its own lock. */
let looked: number[];
let spy: jest.SpiedGetter<string>;

beforeEach(() => {
  looked = [];
  spy = jest.spyOn(LeasedLock.prototype, 'name', 'get');
});
afterEach(() => {
  jest.restoreAllMocks();
});

function counted<T>(call: () => T): T {
  spy.mockClear();
  const result = call();
  looked.push(spy.mock.calls.length);
  return result;
}

it('a job that arms its own next run looks through no run that has ended', async () => {
  const app = new Harness();
  const done = gate();
  const poll = (turn: number): void => {
    void counted(() =>
      app.runner.run(app.call('poll'), () => {
        if (turn === TURNS) done.open();
        // It has ended by then: the store of this test answers in the same turn.
        else setImmediate(poll, turn + 1);
      }),
    );
  };
  poll(0);
  await done.opened;
  expect(app.store.of('acquire')).toHaveLength(TURNS + 1);
  expect(Math.max(...looked)).toBe(1);
});

it('jobs that start each other, and end when the next one has begun, look through no run that has ended', async () => {
  const app = new Harness();
  const done = gate();
  const start = (turn: number, previous: () => void): void => {
    void counted(() =>
      app.runner.run(app.call(`job-${turn % 3}`), async () => {
        previous();
        if (turn === TURNS) return done.open();
        const next = gate();
        setImmediate(start, turn + 1, next.open);
        await next.opened;
      }),
    );
  };
  start(0, () => undefined);
  await done.opened;
  expect(app.store.of('acquire')).toHaveLength(TURNS + 1);
  expect(Math.max(...looked)).toBeLessThanOrEqual(2);
});

it('calls inside of long jobs that arm each other look through none that has ended', async () => {
  const app = new Harness();
  const done = gate();
  const call = (turn: number): void => {
    void counted(() =>
      app.runner.run(app.call(turn % 2 === 0 ? 'outer' : 'inner'), () => {
        if (turn === TURNS) done.open();
        else setImmediate(call, turn + 1);
      }),
    );
  };
  await app.runner.run(app.call('outer'), () =>
    app.runner.run(app.call('inner'), async () => {
      call(0);
      await done.opened;
    }),
  );
  expect(app.store.of('acquire')).toHaveLength(2);
  // At most the call that has armed this one, and the two jobs around.
  expect(Math.max(...looked)).toBeLessThanOrEqual(3);
});

it('nested calls that arm each other while their job goes on look through no call that has ended', async () => {
  const app = new Harness();
  const done = gate();
  const poll = (turn: number): void => {
    void app.runner.run(app.call('outer'), () => {
      void counted(() => app.runner.run(app.call('inner'), () => undefined));
      if (turn === TURNS) done.open();
      else setImmediate(poll, turn + 1);
    });
  };
  await app.runner.run(app.call('outer'), () => {
    poll(0);
    return done.opened;
  });
  // The scope of the job, and that of the nested call.
  expect(looked).toEqual(Array.from({ length: TURNS + 1 }, () => 2));
});
