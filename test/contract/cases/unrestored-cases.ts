import { answers } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { SHORT } from './kit.js';
import { since } from './restore-moves.js';

/** Rule 3: leases that are not restored, as they have ended, or another one has come. */
export const unrestoredCases: readonly CaseDefinition[] = [
  {
    rule: '3.7',
    sentence: 'a forgotten lease is not restored where the side data names a newer one of its token',
    needs: ['forget'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forget(lease.name);
      const result = await kit.extend({ ...lease, fencingToken: lease.fencingToken - 1 });
      answers(result, { held: false, reason: 'expired' }, 'extend of the older lease');
      await kit.free(lease.name, 'after that');
    },
  },
  {
    rule: '3.6',
    sentence: 'a lease that was released where an older one still has the lock frees it, and is not restored',
    restore: true,
    async run(kit) {
      for (const end of ['live', 'kept'] as const) {
        const older = await kit.take(kit.name(end));
        if (end === 'kept') await kit.store.release(older, { keepFor: older.ttl });
        const lease = since(kit, older);
        const what = `where an older one is ${end}`;
        answers(await kit.store.release(lease), { released: false, reason: 'expired' }, `release ${what}`);
        answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after it');
        answers(await kit.extend(older), { held: false, reason: 'expired' }, 'extend of the older lease');
        await kit.free(lease.name, 'after that');
      }
    },
  },
  {
    rule: '3.6',
    sentence: 'a lease that was released where the side data names only an older one is not restored',
    async run(kit) {
      const older = await kit.take(kit.name());
      await kit.store.release(older);
      const lease = since(kit, older);
      answers(await kit.store.release(lease), { released: false, reason: 'expired' }, 'release');
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after it');
      await kit.free(lease.name, 'after that');
    },
  },
  {
    rule: '3.7',
    sentence: 'a forgotten lease is not restored while somebody else has the lock',
    needs: ['forget'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forget(lease.name);
      const next = await kit.take(lease.name);
      const result = await kit.extend(lease);
      answers(
        result,
        { held: false, reason: 'taken', holder: next.holder },
        'extend of a lease since taken over',
      );
      await kit.stillHeld(next, 'after that');
    },
  },
  {
    rule: '3.7',
    sentence: 'a forgotten lease is not restored once somebody else has had the lock',
    needs: ['forget'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forget(lease.name);
      const next = await kit.take(lease.name);
      await kit.store.release(next);
      const result = await kit.extend(lease);
      answers(result, { held: false, reason: 'expired' }, 'extend after somebody else had the lock');
      await kit.free(lease.name, 'after that');
    },
  },
  {
    rule: '3.7',
    sentence: 'a forgotten lease is not restored where the side data names a newer one',
    needs: ['forget'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forget(lease.name);
      const next = await kit.take(lease.name);
      await kit.forget(lease.name);
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend of the older lease');
      await kit.free(next.name, 'after that');
    },
  },
  {
    rule: '3.6',
    sentence: 'a lease that was released is not restored, whatever was forgotten of its lock',
    needs: ['forget'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.store.release(lease, { keepFor: lease.ttl });
      await kit.forget(lease.name);
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend of a released lease');
      await kit.free(lease.name, 'after that');
    },
  },
  {
    rule: '3.6',
    sentence: 'a lease that was released after its lock was forgotten is not restored',
    needs: ['forget'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forget(lease.name);
      const released = await kit.store.release(lease);
      answers(released, { released: false, reason: 'expired' }, 'release of a forgotten lease');
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after it');
      const again = await kit.store.release(lease);
      answers(again, { released: false, reason: 'ended' }, 'the second release');
      await kit.free(lease.name, 'after that');
    },
  },
  {
    rule: '3.6',
    sentence: 'a lease that was released after the store lost all data is not restored',
    needs: ['forgetAll'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forgetAll();
      const released = await kit.store.release(lease);
      answers(released, { released: false, reason: 'expired' }, 'release of a forgotten lease');
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after it');
      await kit.free(lease.name, 'after that');
    },
  },
  {
    rule: '3.6',
    sentence: 'a lease whose side data was evicted can be released, and stays ended',
    needs: ['forgetState'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forgetState(lease.name);
      answers(await kit.store.release(lease), { released: true }, 'release after the eviction');
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after it');
      await kit.free(lease.name, 'after that');
    },
  },
  {
    rule: '3.9',
    sentence:
      'a lease whose side data was evicted can be released with keepFor, and is still known as its holder',
    needs: ['forgetState'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forgetState(lease.name);
      answers(
        await kit.store.release(lease, { keepFor: lease.ttl }),
        { released: true },
        'release with keepFor',
      );
      const refusal = await kit.refusal(lease.name, 'while it is kept');
      answers(refusal, { reason: 'cooling-down', holder: lease.holder }, 'an attempt while it is kept');
    },
  },
  {
    rule: '3.10',
    sentence: 'a durable store does not extend a lease that ran out, though nobody took its lock',
    durable: true,
    async run(kit) {
      const lease = await kit.take(kit.name(), { ttl: SHORT });
      // When a later lease of the same ttl is over, so is this one.
      const later = await kit.take(kit.name('later'), { ttl: SHORT });
      await kit.takeExpired(later.name, `after a lease of ${SHORT} ms`);
      answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend of a lease that ran out');
      await kit.free(lease.name, 'after that');
    },
  },
];
