import type { AcquireRequest, LeaseRef } from '../../../lib/contract/lock-store.js';
import { answers, check } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, type Kit, SHORT } from './kit.js';
import { attempt, JOB, OTHER, start, TICK } from './tick-moves.js';

/** Lets time pass until the present lease is over, then takes the lock. */
async function overtaken(kit: Kit, name: string, fields: Partial<AcquireRequest>): Promise<LeaseRef> {
  let taken: LeaseRef | undefined;
  await kit.until(`the lease before should have run out`, async () => {
    const [result, lease] = await attempt(kit, name, fields);
    if (result.acquired) taken = lease;
    return result.acquired;
  });
  check(taken !== undefined, () => 'nothing was taken');
  return taken;
}

/** Rule 4: what an abandoned lease takes back. */
export const abandonCases: readonly CaseDefinition[] = [
  {
    rule: '4.4',
    sentence: 'an abandoned start gives back the tick, or the interval, that was there before',
    async run(kit) {
      const name = kit.name();
      await start(kit, name);
      await start(kit, name, { tick: TICK + 1 }, { outcome: 'abandoned' });
      answers((await attempt(kit, name, {}))[0], { reason: 'already-ran' }, 'an attempt for the tick before');
      await start(kit, name, { tick: TICK + 1 });
      const other = kit.name('interval');
      const interval = { job: JOB, interval: HOUR };
      await kit.store.release(await kit.take(other, interval), { outcome: 'abandoned' });
      await kit.take(other, interval, 'an attempt after an abandoned interval');
    },
  },
  {
    rule: '4.4',
    sentence: 'a start is also given back when it is abandoned after its lease has run out',
    async run(kit) {
      const name = kit.name();
      const [, lease] = await attempt(kit, name, { ttl: SHORT });
      // A refusal as `already-ran`, not `held`, shows that the lease has run out, and does not take the lock.
      await kit.until('the lease of a tick should have run out', async () => {
        const [result] = await attempt(kit, name, {});
        return !result.acquired && result.reason === 'already-ran';
      });
      const abandoned = await kit.store.release({ ...lease, fencingToken: 0 }, { outcome: 'abandoned' });
      answers(abandoned, { released: false, reason: 'expired' }, 'an abandon of a lease that has run out');
      const [again] = await attempt(kit, name, {});
      answers(again, { acquired: true }, 'an attempt for a tick that was abandoned late');
    },
  },
  {
    rule: '4.4',
    sentence:
      'a start is given back also when it is abandoned after a later lease of its lock, of another job',
    async run(kit) {
      for (const [since, fields] of [
        ['later lease', { job: JOB, tick: TICK }],
        ['later interval', { job: JOB, interval: HOUR }],
      ] as const) {
        for (const over of [false, true]) {
          const name = kit.name(`${since} ${over ? 'over' : 'live'}`);
          const abandoned = await kit.take(name, { ...fields, ttl: SHORT });
          const later = await overtaken(kit, name, { job: OTHER, tick: TICK });
          if (over) await kit.store.release(later);
          const answer = await kit.store.release({ ...abandoned, fencingToken: 0 }, { outcome: 'abandoned' });
          const reason = over ? 'expired' : 'taken';
          answers(answer, { released: false, reason }, `an abandon after a later lease`);
          if (!over) {
            await kit.stillHeld(later, 'after an abandon by the lease before');
            answers(await kit.store.release(later), { released: true }, 'release of the later lease');
          }
          const [other] = await attempt(kit, name, { job: OTHER });
          answers(other, { reason: 'already-ran', finished: true }, "an attempt for the other job's tick");
          const again = await kit.store.acquire(kit.request(name, fields));
          answers(again, { acquired: true }, 'an attempt for what was abandoned after a later lease');
        }
      }
    },
  },
  {
    rule: '4.4',
    sentence: 'an abandoned lease gives back no later start of its job, and none that ended',
    async run(kit) {
      const name = kit.name();
      const [, stale] = await attempt(kit, name, { ttl: SHORT });
      const later = await overtaken(kit, name, { job: JOB, tick: TICK + 1 });
      await kit.store.release(stale, { outcome: 'abandoned' });
      const running = { reason: 'held', tick: TICK + 1, finished: false };
      answers((await attempt(kit, name, {}))[0], running, 'an attempt while a later tick is running');
      await kit.store.release(later);
      await kit.store.release(await kit.take(name, { job: OTHER, tick: TICK }));
      await kit.store.release(later, { outcome: 'abandoned' });
      const ended = { reason: 'already-ran', tick: TICK + 1, finished: true };
      answers(
        (await attempt(kit, name, { tick: TICK + 1 }))[0],
        ended,
        'an attempt for a tick that has ended',
      );
    },
  },
];
