import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { checkExpiry, HOUR, MONTH, SHORT } from './kit.js';

/** Rules 3 and 4: how a lease ends, and that it stays ended. */
export const endCases: readonly CaseDefinition[] = [
  {
    rule: '3.6',
    sentence: 'a lease that was released stays ended: neither extend nor release brings it back',
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.store.release(lease);
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after release');
      const again = await kit.store.release(lease);
      answers(again, { released: false, reason: 'ended' }, 'the second release');
      await kit.free(lease.name, 'after all that');
    },
  },
  {
    rule: '3.6',
    sentence: 'of concurrent extends and a release the release wins in the end',
    async run(kit) {
      const lease = await kit.take(kit.name());
      const [, released] = await Promise.all([
        kit.extend(lease),
        kit.store.release(lease),
        kit.extend(lease),
        kit.extend(lease),
      ]);
      answers(released, { released: true }, 'release');
      await kit.free(lease.name, 'after a release in flight with extends');
    },
  },
  {
    rule: '3.9',
    sentence: 'release with keepFor keeps the lock taken that long, and says who had it',
    async run(kit) {
      const lease = await kit.take(kit.name(), { ttl: 4 * HOUR });
      answers(await kit.store.release(lease, { keepFor: HOUR }), { released: true }, 'release with keepFor');
      const refusal = await kit.refusal(lease.name, 'while it is kept');
      answers(refusal, { reason: 'cooling-down', holder: lease.holder }, 'an attempt while it is kept');
      checkExpiry(refusal, HOUR, 'while it is kept');
    },
  },
  {
    rule: '3.9',
    sentence: 'a lock that was kept is free when keepFor has passed',
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.store.release(lease, { keepFor: SHORT });
      const [next] = await kit.takeExpired(lease.name, `after it was kept for ${SHORT} ms`);
      if (next !== undefined) await kit.stillHeld(next, 'after the next acquire');
    },
  },
  {
    rule: '3.9',
    sentence: 'a kept lock can be neither extended nor freed by the lease that ended',
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.store.release(lease, { keepFor: HOUR });
      const extended = await kit.extend({ ...lease, ttl: MONTH });
      answers(extended, { held: false, reason: 'expired' }, 'extend of a kept lock');
      const released = await kit.store.release(lease);
      answers(released, { released: false, reason: 'ended' }, 'the second release of a kept lock');
      const refusal = await kit.refusal(lease.name, 'after that');
      answers(refusal, { reason: 'cooling-down', holder: lease.holder }, 'an attempt after that');
      checkExpiry(refusal, HOUR, 'after that');
    },
  },
  {
    rule: '3.6',
    sentence: 'release of a lease that the store never knew is recorded as its end',
    async run(kit) {
      const unknown = kit.stranger(kit.name());
      const released = await kit.store.release(unknown);
      answers(released, { released: false, reason: 'expired' }, 'release of an unknown lease');
      answers(await kit.extend(unknown), { held: false, reason: 'expired' }, 'extend after it');
      await kit.free(unknown.name, 'after that');
    },
  },
  {
    rule: '4.4',
    sentence: 'an abandoned lease stays ended',
    async run(kit) {
      const lease = await kit.take(kit.name(), { job: 'Contract.job', tick: 1_760_000_000_000, attempt: 1 });
      const released = await kit.store.release(lease, { outcome: 'abandoned' });
      answers(released, { released: true }, 'release as abandoned');
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after it');
      await kit.free(lease.name, 'after that');
    },
  },
  {
    rule: '4.4',
    sentence: 'the tick and attempt of an abandoned lease can be taken again',
    async run(kit) {
      const run = { job: 'Contract.job', tick: 1_760_000_000_000, attempt: 1 };
      const lease = await kit.take(kit.name(), run);
      await kit.store.release(lease, { outcome: 'abandoned' });
      const result = await kit.store.acquire(kit.request(lease.name, run));
      check(result.acquired, () => `the tick should be as if never run, but an attempt got ${show(result)}`);
      check(result.attempt === undefined || result.attempt === 1, () => {
        return `this should be attempt 1 of the tick, but the store counts ${String(result.attempt)}`;
      });
    },
  },
  {
    rule: '4.4',
    sentence: 'an abandon that arrives before its acquire blocks nobody, and one that follows undoes it',
    async run(kit) {
      const lost = kit.stranger(kit.name(), { fencingToken: 0 });
      const { fencingToken: _, ...request } = lost;
      const early = await kit.store.release(lost, { outcome: 'abandoned' });
      answers(early, { released: false, reason: 'expired' }, 'an abandon that found nothing');
      const late = await kit.store.acquire(request);
      const again = await kit.store.release(lost, { outcome: 'abandoned' });
      if (late.acquired) answers(again, { released: true }, 'the abandon after the late acquire');
      await kit.free(lost.name, 'after the second abandon');
    },
  },
];
