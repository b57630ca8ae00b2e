import { answers } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, MONTH, SHORT } from './kit.js';

/** Rule 3, first half: only the owner of a live lease changes something. */
export const ownershipCases: readonly CaseDefinition[] = [
  {
    rule: '3.1',
    sentence: 'extend by the owner renews the lease for its ttl from now on',
    async run(kit) {
      const lease = await kit.take(kit.name());
      const longer = { ...lease, ttl: 10 * HOUR };
      answers(await kit.extend(longer), { held: true, restored: undefined }, 'extend by the owner');
      await kit.stillHeld(longer, 'after a renewal for ten hours');
      const shorter = { ...lease, ttl: HOUR };
      answers(await kit.extend(shorter), { held: true }, 'the second extend by the owner');
      await kit.stillHeld(shorter, 'after a renewal for one hour');
    },
  },
  {
    rule: '3.1',
    sentence: 'extend of a lease whose token has a newer one answers who has the lock, and changes nothing',
    async run(kit) {
      const [older, newer] = await kit.twoOfOneToken(kit.name());
      const taken = { held: false, reason: 'taken', holder: newer.holder };
      for (const lease of [older, { ...older, ttl: MONTH }])
        answers(await kit.extend(lease), taken, 'extend of the older lease');
      const [first = {}, second = {}] = await kit.store.extend([older, newer]);
      answers(first, taken, 'extend of the older lease beside the newer one');
      answers(second, { held: true, restored: undefined }, 'extend of the newer lease');
      await kit.wait(SHORT);
      await kit.stillHeld(newer, 'after renewals of the older one');
    },
  },
  {
    rule: '3.1',
    sentence:
      'release of a lease whose token has a newer one answers that the lock is taken, and changes nothing',
    async run(kit) {
      const [older, newer] = await kit.twoOfOneToken(kit.name());
      for (const options of [{}, { keepFor: 1 }, { outcome: 'failed' } as const])
        answers(
          await kit.store.release(older, options),
          { released: false, reason: 'taken' },
          'release of the older lease',
        );
      await kit.wait(SHORT);
      await kit.stillHeld(newer, 'after releases of the older one');
      answers(await kit.extend(newer), { held: true, restored: undefined }, 'extend of the newer one');
    },
  },
  {
    rule: '3.3',
    sentence:
      'release of a grant that was never answered, with the fencing token 0, frees the lock of its token',
    async run(kit) {
      const lease = await kit.take(kit.name());
      const unknown = { ...lease, fencingToken: 0 };
      answers(
        await kit.store.release(unknown, { outcome: 'abandoned' }),
        { released: true },
        'release of a grant that was never answered',
      );
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after it');
      await kit.free(lease.name, 'after it');
    },
  },
  {
    rule: '3.2',
    sentence: 'acquire again with the token of a live lease does not shorten it',
    async run(kit) {
      const lease = await kit.take(kit.name());
      const { fencingToken, ...request } = lease;
      const again = await kit.store.acquire({ ...request, ttl: 1 });
      answers(again, { acquired: true, fencingToken }, 'acquire again');
      await kit.wait(SHORT);
      await kit.stillHeld(lease, 'after an acquire for 1 ms with its token');
    },
  },
  {
    rule: '3.1',
    sentence: 'extend by a stranger answers who has the lock, and changes nothing',
    async run(kit) {
      const lease = await kit.take(kit.name());
      for (const ttl of [MONTH, 1]) {
        const result = await kit.extend(kit.stranger(lease.name, { ttl, fencingToken: lease.fencingToken }));
        answers(result, { held: false, reason: 'taken', holder: lease.holder }, 'extend by a stranger');
      }
      await kit.wait(SHORT);
      await kit.stillHeld(lease, 'after renewals by a stranger');
    },
  },
  {
    rule: '3.1',
    sentence: 'release by a stranger answers that the lock is taken, and changes nothing',
    async run(kit) {
      const lease = await kit.take(kit.name());
      for (const options of [{}, { keepFor: 1 }, { outcome: 'abandoned' } as const]) {
        const result = await kit.store.release(kit.stranger(lease.name), options);
        answers(result, { released: false, reason: 'taken' }, 'release by a stranger');
      }
      await kit.wait(SHORT);
      await kit.stillHeld(lease, 'after releases by a stranger');
      answers(await kit.extend(lease), { held: true }, 'extend by the owner after that');
    },
  },
  {
    rule: '3.8',
    sentence: 'release by the owner frees the lock at once',
    async run(kit) {
      const lease = await kit.take(kit.name());
      answers(await kit.store.release(lease), { released: true }, 'release by the owner');
      await kit.free(lease.name, 'after the release');
    },
  },
  {
    rule: '3.8',
    sentence: 'every outcome of a run frees the lock alike',
    async run(kit) {
      for (const outcome of ['completed', 'failed', 'timed-out', 'aborted', 'abandoned'] as const) {
        const lease = await kit.take(kit.name());
        answers(await kit.store.release(lease, { outcome }), { released: true }, `release as ${outcome}`);
        await kit.free(lease.name, `after the release as ${outcome}`);
      }
    },
  },
  {
    rule: '3.1',
    sentence: 'extend by a holder whose lease somebody took over says so, and changes nothing',
    async run(kit) {
      const stale = await kit.take(kit.name(), { ttl: SHORT });
      const [next] = await kit.takeExpired(stale.name, `after a lease of ${SHORT} ms`);
      if (next === undefined) return;
      const result = await kit.extend({ ...stale, ttl: MONTH });
      answers(result, { held: false, reason: 'taken', holder: next.holder }, 'extend by the stale holder');
      await kit.stillHeld(next, 'after an extend by the stale holder');
    },
  },
  {
    rule: '3.1',
    sentence: 'release by a holder whose lease somebody took over frees nothing',
    async run(kit) {
      const stale = await kit.take(kit.name(), { ttl: SHORT });
      const [next] = await kit.takeExpired(stale.name, `after a lease of ${SHORT} ms`);
      if (next === undefined) return;
      const result = await kit.store.release(stale);
      answers(result, { released: false, reason: 'taken' }, 'release by the stale holder');
      await kit.stillHeld(next, 'after a release by the stale holder');
      answers(await kit.extend(next), { held: true, restored: undefined }, 'extend by the new holder');
    },
  },
];
