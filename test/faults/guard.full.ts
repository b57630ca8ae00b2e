import { expect, test } from '@jest/globals';
import { type GuardedFleet, invoicesOf, onEachGuarded } from './support/guarded.js';
import type { Instance } from './support/instance.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** Of the leases that are to end, ms. */
const TTL = 1_000;
/** Kept however busy the machine is. */
const LONG = '1m';

/** A tick half a minute ago. */
const tick = Math.trunc(Date.now() / 1_000) * 1_000 - 30_000;
const date = new Date(tick);
const expression = `${date.getUTCSeconds()} ${date.getUTCMinutes()} ${date.getUTCHours()} * * *`;

/** With the guard, and without it: so each of these tests is known to be able to fail. */
const BOTH = [
  ['with the guard', true],
  ['without it', false],
] as const;

/** Two instances, of which the first runs the tick as far as that stage. */
async function runTo(
  fleet: GuardedFleet,
  stage: 'begin' | 'guard' | 'commit' | 'committed',
  guarded: boolean,
): Promise<[Instance, Instance]> {
  const [first, second] = await Promise.all([
    fleet.startIdle({ ttl: TTL }, guarded),
    fleet.startIdle({ ttl: LONG }, guarded),
  ]);
  expect(await first.fire()).toBe(true);
  first.decide({ stops: stage });
  await first.next('stopped');
  // Refused, it watches the run of the tick, to repeat it.
  expect(await second.fire()).toBe(false);
  return [first, second];
}

/** The second instance repeats the tick of the first one; answers how that ended. */
async function repeats(second: Instance): Promise<object> {
  await second.next('job-started');
  second.decide({});
  return second.next('event:released');
}

onEachGuarded(
  () => ({ expression, locks: 'redis' }),
  (fleet) => {
    test.each(BOTH)(
      'a process that freezes before it asks, and wakes up after another has committed, commits nothing: %s',
      async (_, guarded) => {
        const [first, second] = await runTo(fleet(), 'guard', guarded);
        first.pause();
        expect(await repeats(second)).toMatchObject({ outcome: 'completed', tick, attempt: 2 });
        first.resume();
        first.goOn();
        expect(await first.next('event:released')).toMatchObject({
          outcome: 'aborted',
          ...(guarded && { code: 'LOCK_SUPERSEDED' }),
        });
        expect(await fleet().invoices()).toEqual(invoicesOf(tick, guarded ? 1 : 2));
      },
    );

    test.each(BOTH)(
      'one that freezes before that finds its lease lost, and does not even ask: %s',
      async (_, guarded) => {
        const [first, second] = await runTo(fleet(), 'begin', guarded);
        first.pause();
        await repeats(second);
        first.resume();
        first.goOn();
        expect(await first.next('event:released')).toMatchObject({
          outcome: 'aborted',
          ...(guarded && { code: 'LOCK_LOST' }),
        });
        expect(await fleet().invoices()).toEqual(invoicesOf(tick, guarded ? 1 : 2));
      },
    );

    test.each(BOTH)(
      'one that freezes right before COMMIT lets the next run wait, which then has nothing to do: %s',
      async (_, guarded) => {
        const [first, second] = await runTo(fleet(), 'commit', guarded);
        first.pause();
        await second.next('job-started');
        second.decide({});
        // With the guard it waits for the transaction of the first one, and else it does not.
        if (!guarded) await second.next('event:released');
        first.resume();
        first.goOn();
        if (guarded)
          expect(await second.next('event:released')).toMatchObject({ outcome: 'completed', attempt: 2 });
        await first.next('event:released');
        expect(await fleet().invoices()).toEqual(invoicesOf(tick, guarded ? 1 : 2));
      },
    );

    test.each(BOTH)(
      'a run that is killed between its commit and its release is known as done: %s',
      async (_, guarded) => {
        const [first, second] = await runTo(fleet(), 'committed', guarded);
        await first.kill();
        expect(await repeats(second)).toMatchObject({ outcome: 'completed', tick, attempt: 2 });
        expect(second.heard('event:released')[0]).not.toHaveProperty('error');
        expect(await fleet().invoices()).toEqual(invoicesOf(tick, guarded ? 1 : 2));
      },
    );

    test('a run that is killed before its commit has done nothing, and is repeated', async () => {
      const [first, second] = await runTo(fleet(), 'commit', true);
      await first.kill();
      expect(await repeats(second)).toMatchObject({ outcome: 'completed', tick, attempt: 2 });
      expect(await fleet().invoices()).toEqual(invoicesOf(tick, 1));
    });

    test.each(BOTH)(
      'on two clocks, 40 s apart, a tick that the store has forgotten is not done again: %s',
      async (_, guarded) => {
        const [first, second] = await Promise.all([
          fleet().startIdle({ ttl: LONG }, guarded, 20_000),
          fleet().startIdle({ ttl: LONG }, guarded, -20_000),
        ]);
        for (const instance of [first, second]) {
          expect(await instance.fire()).toBe(true);
          instance.decide({});
          expect(await instance.next('event:released')).toMatchObject({ outcome: 'completed', tick });
          await fleet().forget();
        }
        expect(await fleet().invoices()).toEqual(invoicesOf(tick, guarded ? 1 : 2));
      },
    );
  },
);
