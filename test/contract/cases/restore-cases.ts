import { answers, check } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { checkRecorded, JOB, TICK, since } from './restore-moves.js';

/** Rule 3: leases that the store forgot, and that are restored. */
export const restoreCases: readonly CaseDefinition[] = [
  {
    rule: '3.4',
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
    rule: '3.4',
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
    rule: '3.4',
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
    rule: '3.5',
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
    rule: '3.4',
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
    rule: '3.4',
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
    rule: '3.5',
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
    rule: '3.4',
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
    rule: '3.4',
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
];
