import { answers, check, show } from './assert.js';
import type { CaseDefinition } from './case.js';
import type { LeaseRef } from '../../stores/lock-store.js';
import { type Kit, SHORT } from './kit.js';

/** The fencing token that the store has on record for a lease, read by a repeated acquire (rule 2). */
async function recorded(kit: Kit, lease: LeaseRef): Promise<number | undefined> {
  const { fencingToken: _, ...request } = lease;
  const result = await kit.store.acquire(request);
  return result.acquired ? result.fencingToken : undefined;
}

async function checkRecorded(kit: Kit, lease: LeaseRef, expected: number): Promise<void> {
  const token = await recorded(kit, lease);
  check(token === expected, () => {
    return `the fencing token should be the greater one, ${expected}, but the store has ${show(token)}`;
  });
}

const JOB = 'Contract.job';
const TICK = 1_760_000_000_000;

/** A lease that the store granted after this one, before it was set back: for the store, a lease that it never granted. */
function since(kit: Kit, older: LeaseRef, fields: Partial<LeaseRef> = {}): LeaseRef {
  return kit.stranger(older.name, { fencingToken: older.fencingToken + 1, ...fields });
}

/** Rule 3, second half: leases that the store forgot. */
export const restoreCases: readonly CaseDefinition[] = [
  {
    rule: 3,
    sentence: 'extend restores a lease whose lock was forgotten',
    needs: ['forget'],
    restore: true,
    async run(kit) {
      const lease = await kit.take(kit.name(), { job: JOB, tick: TICK, attempt: 1 });
      await kit.forget(lease.name);
      answers(await kit.extend(lease), { held: true, restored: true }, 'extend of a forgotten lease');
      await kit.stillHeld(lease, 'after it was restored');
      answers(await kit.extend(lease), { held: true, restored: undefined }, 'the next extend');
      answers(await kit.store.release(lease), { released: true }, 'release of the restored lease');
    },
  },
  {
    rule: 3,
    sentence: 'extend restores a lease after the store lost all data',
    needs: ['forgetAll'],
    restore: true,
    async run(kit) {
      const lease = await kit.take(kit.name(), { job: JOB, tick: TICK, attempt: 1 });
      await kit.forgetAll();
      answers(await kit.extend(lease), { held: true, restored: true }, 'extend of a forgotten lease');
      await kit.stillHeld(lease, 'after it was restored');
      await checkRecorded(kit, lease, lease.fencingToken);
    },
  },
  {
    rule: 3,
    sentence: 'extend writes side data back that was evicted while the lock was held',
    needs: ['forgetState'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forgetState(lease.name);
      answers(await kit.extend(lease), { held: true }, 'extend after the eviction');
      await kit.stillHeld(lease, 'after the renewal');
      await checkRecorded(kit, lease, lease.fencingToken);
    },
  },
  {
    rule: 3,
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
    rule: 3,
    sentence: 'extend restores a lease where an older one of its token still has the lock',
    restore: true,
    async run(kit) {
      const older = await kit.take(kit.name());
      const lease = { ...older, fencingToken: older.fencingToken + 1 };
      answers(
        await kit.extend(lease),
        { held: true, restored: true },
        'extend over an older one of its token',
      );
      await checkRecorded(kit, lease, lease.fencingToken);
      answers(await kit.extend(lease), { held: true, restored: undefined }, 'the next extend');
      const lost = { held: false, reason: 'taken', holder: lease.holder };
      answers(await kit.extend(older), lost, 'extend of the older lease');
      answers(await kit.store.release(lease), { released: true }, 'release of the restored lease');
    },
  },
  {
    rule: 3,
    sentence: "a restored lease brings the lease's own fencing token back where that is the greater one",
    needs: ['forgetAll'],
    restore: true,
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.forgetAll();
      const ahead = { ...lease, fencingToken: lease.fencingToken + 1_000_000_000_000 };
      answers(await kit.extend(ahead), { held: true, restored: true }, 'extend of a forgotten lease');
      await checkRecorded(kit, lease, ahead.fencingToken);
      await kit.store.release(ahead);
      const next = await kit.take(lease.name);
      check(next.fencingToken > ahead.fencingToken, () => {
        return `the next fencing token should be above ${ahead.fencingToken}, but is ${next.fencingToken}`;
      });
    },
  },
  {
    rule: 3,
    sentence:
      'extend restores a lease where the side data names only an older one, whether that has ended or not',
    needs: ['forget'],
    restore: true,
    async run(kit) {
      for (const end of ['released', 'forgotten'] as const) {
        const older = await kit.take(kit.name(end));
        if (end === 'released') await kit.store.release(older);
        else await kit.forget(older.name);
        const lease = since(kit, older);
        const what = `after an older one was ${end}`;
        answers(await kit.extend(lease), { held: true, restored: true }, `extend ${what}`);
        await kit.stillHeld(lease, `restored ${what}`);
        await checkRecorded(kit, lease, lease.fencingToken);
        answers(await kit.extend(older), { held: false, reason: 'taken' }, 'extend of the older lease');
        answers(await kit.extend(lease), { held: true, restored: undefined }, 'the next extend');
        answers(await kit.store.release(lease), { released: true }, 'release of the restored lease');
        answers(await kit.extend(lease), { held: false, reason: 'expired' }, 'extend after it');
      }
    },
  },
  {
    rule: 3,
    sentence: 'extend restores a lease, with its tick, where an older one still has the lock',
    restore: true,
    async run(kit) {
      for (const end of ['live', 'kept'] as const) {
        const older = await kit.take(kit.name(end), { job: JOB, tick: TICK });
        if (end === 'kept') await kit.store.release(older, { keepFor: older.ttl });
        const lease = since(kit, older, { job: JOB, tick: TICK + 1, attempt: 1 });
        const what = `over an older one that is ${end}`;
        answers(await kit.extend(lease), { held: true, restored: true }, `extend ${what}`);
        await kit.stillHeld(lease, `restored ${what}`);
        const lost = { held: false, reason: 'taken', holder: lease.holder };
        answers(await kit.extend(older), lost, 'extend of the older lease');
        answers(await kit.store.release(older), { released: false, reason: 'taken' }, 'its release');
        answers(await kit.extend(lease), { held: true, restored: undefined }, 'the next extend');
        answers(await kit.store.release(lease), { released: true }, 'release of the restored lease');
        const again = await kit.store.acquire(
          kit.request(lease.name, { job: JOB, tick: TICK + 1, rerun: 1 }),
        );
        const refused = { acquired: false, reason: 'already-ran', tick: TICK + 1, finished: true };
        answers(again, refused, 'an attempt for the tick of the restored lease');
      }
    },
  },
  {
    rule: 3,
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
    rule: 3,
    sentence: 'a lease that is restored over an older one brings its tick back, which is not run again',
    restore: true,
    async run(kit) {
      const older = await kit.take(kit.name(), { job: JOB, tick: TICK });
      await kit.store.release(older);
      const lease = since(kit, older, { job: JOB, tick: TICK + 1, attempt: 1 });
      answers(await kit.extend(lease), { held: true, restored: true }, 'extend over an older lease');
      await kit.store.release(lease);
      const again = await kit.store.acquire(kit.request(lease.name, { job: JOB, tick: TICK + 1, rerun: 1 }));
      const refused = { acquired: false, reason: 'already-ran', tick: TICK + 1, finished: true };
      answers(again, refused, 'an attempt for the tick of the restored lease');
    },
  },
  {
    rule: 3,
    sentence:
      'a lease that is restored over an older one does not bring its tick back where a newer one is known',
    restore: true,
    async run(kit) {
      const older = await kit.take(kit.name(), { job: JOB, tick: TICK + 1 });
      await kit.store.release(older);
      const lease = since(kit, older, { job: JOB, tick: TICK, attempt: 1 });
      answers(await kit.extend(lease), { held: true, restored: true }, 'extend over an older lease');
      await kit.store.release(lease, { outcome: 'aborted' });
      const again = await kit.store.acquire(kit.request(lease.name, { job: JOB, tick: TICK + 1, rerun: 1 }));
      const refused = { acquired: false, reason: 'already-ran', tick: TICK + 1, finished: true };
      answers(again, refused, 'an attempt for the newer tick');
    },
  },
  {
    rule: 3,
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
    rule: 3,
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
    rule: 3,
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
    rule: 3,
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
    rule: 3,
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
    rule: 3,
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
    rule: 3,
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
    rule: 3,
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
    rule: 3,
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
    rule: 3,
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
