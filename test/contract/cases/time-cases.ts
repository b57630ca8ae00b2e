import type { LeaseRef } from '../../../lib/contract/lock-store.js';
import { answers, check } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, type Kit, MONTH, SHORT } from './kit.js';
import { JOB, TICK } from './tick-moves.js';

function checkGrowth(before: LeaseRef, after: LeaseRef | undefined, what: string): void {
  const [old, next] = [before.fencingToken, after?.fencingToken ?? 0];
  check(next > old, () => `the fencing token should grow ${what}, but went from ${old} to ${next}`);
}

/** Takes the lock, lets `end` end the lease, takes it again and compares. */
function growsAfter(
  what: string,
  end: (kit: Kit, lease: LeaseRef) => Promise<unknown>,
): CaseDefinition['run'] {
  return async (kit) => {
    const before = await kit.take(kit.name());
    await end(kit, before);
    // No store, however fast, ends a lease and begins the next one within the same microsecond.
    await kit.wait(1);
    checkGrowth(before, await kit.take(before.name, {}, `the acquire ${what}`), what);
  };
}

/** Rules 5 and 6: time, and the order of leases. */
export const timeCases: readonly CaseDefinition[] = [
  {
    rule: '5.2',
    sentence: 'a lease that is not renewed is over when its ttl has passed, and not before',
    async run(kit) {
      const [short, long] = [kit.name('short'), kit.name('long')];
      await kit.take(short, { ttl: SHORT });
      const lease = await kit.take(long);
      await kit.takeExpired(short, `after a lease of ${SHORT} ms`);
      await kit.stillHeld(lease, 'within a lease of an hour');
    },
  },
  {
    rule: '5.2',
    sentence: 'a renewed lease lasts beyond its first ttl, and ends after the last one',
    async run(kit) {
      const lease = await kit.take(kit.name(), { ttl: HOUR });
      answers(await kit.extend({ ...lease, ttl: SHORT }), { held: true }, 'extend');
      await kit.takeExpired(lease.name, `after a renewal for ${SHORT} ms`);
    },
  },
  {
    rule: '5.2',
    sentence: "expiry does not depend on the instances' clocks",
    needs: ['skewInstanceClock'],
    async run(kit) {
      const names = [kit.name('ahead'), kit.name('behind')];
      for (const [i, skew] of [MONTH, -MONTH].entries()) {
        const name = names[i] ?? '';
        await kit.skewInstanceClock(skew);
        try {
          const lease = await kit.take(name);
          await kit.stillHeld(lease, 'taken by an instance whose clock is wrong');
          await kit.skewInstanceClock(-skew);
          await kit.stillHeld(lease, 'looked at by an instance whose clock is wrong');
          answers(await kit.extend(lease), { held: true, restored: undefined }, 'extend by that instance');
          await kit.stillHeld(lease, 'renewed by an instance whose clock is wrong');
        } finally {
          await kit.skewInstanceClock(0);
        }
      }
    },
  },
  {
    rule: '6.2',
    sentence: 'a fencing token is a safe integer above 0',
    async run(kit) {
      const { fencingToken } = await kit.take(kit.name());
      check(Number.isSafeInteger(fencingToken) && fencingToken > 0, () => {
        return `the fencing token should be a safe integer above 0, but is ${String(fencingToken)}`;
      });
    },
  },
  {
    rule: '6.2',
    sentence: 'fencing tokens grow over leases that follow each other at once',
    async run(kit) {
      let before = await kit.take(kit.name());
      for (let i = 0; i < 20; i++) {
        await kit.store.release(before);
        const next = await kit.take(before.name);
        checkGrowth(before, next, 'with every lease');
        before = next;
      }
    },
  },
  {
    rule: '6.1',
    sentence: 'fencing tokens grow after expiry',
    async run(kit) {
      const before = await kit.take(kit.name(), { ttl: SHORT });
      const [next] = await kit.takeExpired(before.name, `after a lease of ${SHORT} ms`);
      checkGrowth(before, next, 'after expiry');
    },
  },
  {
    rule: '6.1',
    sentence: 'fencing tokens grow after a lease was abandoned',
    run: growsAfter('after an abandoned lease', (kit, lease) =>
      kit.store.release(lease, { outcome: 'abandoned' }),
    ),
  },
  {
    rule: '6.1',
    sentence: 'fencing tokens grow after the lock was forgotten',
    needs: ['forget'],
    run: growsAfter('after the lock was forgotten', (kit, { name }) => kit.forget(name)),
  },
  {
    rule: '6.1',
    sentence: 'fencing tokens grow after the side data was evicted',
    needs: ['forgetState'],
    run: growsAfter('after an eviction', async (kit, lease) => {
      await kit.store.release(lease);
      await kit.forgetState(lease.name);
    }),
  },
  {
    rule: '6.1',
    sentence: 'fencing tokens grow after the store lost all data',
    needs: ['forgetAll'],
    run: growsAfter('after the loss of all data', (kit) => kit.forgetAll()),
  },
  {
    rule: '5.1',
    sentence: "a released lock stays free when the store's clock is set back afterwards",
    needs: ['setClockBack'],
    async run(kit) {
      const name = kit.name();
      await kit.store.release(await kit.take(name));
      await kit.setClockBack(name, 3 * HOUR);
      await kit.free(name, 'after a release and three hours back');
      const late = kit.name('late');
      const start = { job: JOB, tick: TICK };
      const lease = await kit.take(late, { ...start, ttl: SHORT });
      await kit.until('the lease should have run out', async () => {
        const result = await kit.store.acquire(kit.request(late, start));
        return !result.acquired && result.reason === 'already-ran';
      });
      answers(await kit.store.release(lease), { reason: 'expired' }, 'release of a lease that has run out');
      await kit.setClockBack(late, 3 * HOUR);
      await kit.free(late, 'after a late release and three hours back');
    },
  },
];
