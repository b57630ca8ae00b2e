import { expect, test } from '@jest/globals';
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  integer,
  nat,
  oneof,
  option,
  record,
  type Arbitrary,
} from 'fast-check';
import type { Fault } from './support/faulty-store.js';
import { Fleet, INSTANCES, LATEST, NAMES, TTL } from './support/fleet.js';
import { parameters } from './support/parameters.js';

interface Action {
  toString(): string;
  run(fleet: Fleet): void | Promise<void>;
}

const action = (text: string, run: Action['run']): Action => ({ toString: () => text, run });
const instance = nat(INSTANCES - 1);
const name = constantFrom(...NAMES);

const fault: Arbitrary<Fault> = oneof(
  record({
    kind: constantFrom('not-connected', 'request-lost', 'reply-lost', 'no-request', 'no-reply'),
  }),
  record({ kind: constantFrom('late-request', 'late-reply'), ms: integer({ min: 1, max: LATEST }) }),
);

const start = record({
  i: instance,
  n: name,
  heartbeat: constantFrom<(number | false)[]>(20_000, 20_000, false),
}).map(({ i, n, heartbeat }) =>
  action(`start ${n} on ${i}${heartbeat === false ? ' without heartbeat' : ''}`, (f) =>
    f.start(i, n, heartbeat),
  ),
);

const usual: Arbitrary<Action>[] = [
  start,
  start,
  record({ pick: nat(5), failed: boolean() }).map(({ pick, failed }) =>
    action(`${failed ? 'fail' : 'end'} job ${pick}`, (f) => f.end(pick, failed)),
  ),
  record({ i: instance, what: fault }).map(({ i, what }) =>
    action(`fault on ${i}: ${JSON.stringify(what)}`, (f) => f.fault(i, what)),
  ),
  record({ i: instance, what: fault, count: integer({ min: 2, max: 30 }) }).map(({ i, what, count }) =>
    action(`outage on ${i}: ${count} × ${JSON.stringify(what)}`, (f) => {
      for (let n = 0; n < count; n++) f.fault(i, what);
    }),
  ),
  instance.map((i) => action(`connection of ${i} is back`, (f) => f.announce(i))),
  integer({ min: 1, max: 1.5 * TTL }).map((ms) => action(`advance ${ms}`, (f) => f.advance(ms))),
  integer({ min: 1, max: 5_000 }).map((ms) => action(`advance ${ms}`, (f) => f.advance(ms))),
  integer({ min: 1, max: 1.5 * TTL }).map((ms) => action(`block ${ms}`, (f) => f.block(ms))),
];

const loss: Arbitrary<Action>[] = [
  option(name, { nil: undefined }).map((thief) =>
    action(`the store forgets all${thief === undefined ? '' : `, ${thief} is taken`}`, (f) =>
      f.forget(thief),
    ),
  ),
];

async function holds(actions: Arbitrary<Action>[]): Promise<number> {
  let started = 0;
  await assert(
    asyncProperty(array(oneof(...actions), { minLength: 5, maxLength: 40, size: 'max' }), async (plan) => {
      const fleet = new Fleet();
      for (const { run } of plan) {
        await run(fleet);
        fleet.check();
      }
      await fleet.settle();
      started += fleet.started;
    }),
    parameters(1_000),
  );
  return started;
}

test('a lease is live only while it was promised, on one instance, and leaves nothing behind', async () => {
  expect(await holds(usual)).toBeGreaterThan(100);
});

test('a lease is live only while it was promised, also when the store loses data or somebody takes the lock', async () => {
  expect(await holds([...usual, ...loss])).toBeGreaterThan(100);
});

test('a grant that came late is taken back although giving up on the first release came between', async () => {
  const fleet = new Fleet();
  // Found by the property above: the request waits out a blocked event loop, and both releases find no connection.
  fleet.fault(1, { kind: 'late-request', ms: 1 });
  fleet.start(1, 'refresh', 20_000);
  fleet.fault(1, { kind: 'not-connected' });
  fleet.fault(1, { kind: 'not-connected' });
  await fleet.block(TTL);
  await fleet.advance(1_000);
  await fleet.settle();
});
