import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, SHORT } from './kit.js';
import { CALLED, granted, leave, refused, stand, standAtRunOut, waits } from './line-moves.js';

/** Rules 10 and 11: who stands in line for a lock, and where. */
export const lineCases: readonly CaseDefinition[] = [
  {
    rule: '10.2',
    sentence: 'an acquire that waits learns how many calls stand before it in line',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      await kit.take(name);
      for (const [ahead, process] of ['one', 'two', 'three'].entries()) {
        const result = await kit.store.acquire(waits(kit, name, { process }));
        const found = result.acquired ? undefined : result.waiting?.ahead;
        check(found === ahead, () => `${ahead} should stand before it, but the answer is ${show(result)}`);
      }
    },
  },
  {
    rule: '10.2',
    sentence: 'a free lock for which nobody waits is granted to an acquire that waits',
    needs: ['lines'],
    async run(kit) {
      const lease = await granted(kit, waits(kit, kit.name()), 'an attempt that waits, at a free lock,');
      await kit.stillHeld(lease, 'after it');
      await kit.store.release(lease);
      await kit.free(lease.name, 'after its release');
    },
  },
  {
    rule: '10.2',
    sentence:
      'the line is by priority, then in the order in which they came, with greater fencing tokens each time',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const priorities = [0, 5, -5, 5, 0];
      const requests = priorities.map((priority) => waits(kit, name, { priority }));
      let lease = await stand(kit, requests);
      const order: number[] = [];
      while (order.length < requests.length) {
        await kit.store.release(lease);
        const before = lease;
        for (const [i, request] of requests.entries()) {
          const result = order.includes(i) ? undefined : await kit.store.acquire(request);
          if (result?.acquired !== true) continue;
          order.push(i);
          const { wait: _wait, ...rest } = request;
          lease = { ...rest, fencingToken: result.fencingToken };
        }
        check(
          lease !== before,
          () => `after a release the next one should be granted, but ${order.length} were in all`,
        );
        check(
          lease.fencingToken > before.fencingToken,
          () => 'the fencing token should grow with each lease in line',
        );
      }
      check(order.join() === '1,3,0,4,2', () => `the order should be 1,3,0,4,2, but is ${order.join()}`);
    },
  },
  {
    rule: '10.1',
    sentence: 'after a release nobody overtakes the first in line, whether it waits or not',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const [first, second] = [waits(kit, name), waits(kit, name, { process: 'two' })];
      const lease = await stand(kit, [first, second]);
      await kit.store.release(lease);
      await refused(kit, kit.request(name), 'an attempt that does not wait');
      await refused(kit, second, 'the second in line');
      await refused(kit, waits(kit, name, { priority: 100, process: 'three' }), 'one that comes only now');
      await granted(kit, first, 'the first in line');
    },
  },
  {
    rule: '12.1',
    sentence: 'nobody overtakes the first in line after a lease has run out',
    needs: ['lines'],
    async run(kit) {
      const { name } = await kit.take(kit.name(), { ttl: SHORT });
      const first = waits(kit, name);
      let result = await kit.store.acquire(first);
      await kit.wait(2 * SHORT);
      // On a busy machine the lease may have run out before the first ask.
      if (!result.acquired) {
        await refused(kit, kit.request(name), 'an attempt that does not wait');
        result = await kit.store.acquire(first);
      }
      check(result.acquired, () => `the first in line should be granted, but got ${show(result)}`);
    },
  },
  {
    rule: '12.1',
    sentence: 'a call that has not come back, and whose wait is over, keeps nobody from a free lock',
    needs: ['lines'],
    async run(kit) {
      const released = await kit.take(kit.name());
      await refused(kit, waits(kit, released.name, { limit: SHORT }), 'one that waits for a taken lock');
      const runOut = await kit.take(kit.name('that runs out'), { ttl: 10 * SHORT });
      const dead = waits(kit, runOut.name, { limit: SHORT });
      const answer = await kit.store.acquire(dead);
      // On a busy machine the lease may have run out before that.
      if (answer.acquired) await kit.store.release({ ...dead, fencingToken: answer.fencingToken });
      await kit.wait(10 * SHORT + CALLED);
      await kit.store.release(released);
      for (const { name } of [released, runOut])
        await granted(kit, kit.request(name), 'an attempt, when the only call in line is dead,');
    },
  },
  {
    rule: '10.1',
    sentence: 'nobody overtakes the first in line after the late release of a lease that has run out',
    needs: ['lines'],
    async run(kit) {
      const first = await standAtRunOut(kit);
      await refused(kit, kit.request(first.name), 'an attempt that does not wait');
      await granted(kit, first, 'the first in line');
    },
  },
  {
    rule: '11.3',
    sentence: 'a call that asks again keeps its place',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const [first, second] = [waits(kit, name), waits(kit, name)];
      const lease = await stand(kit, [first, second, first, second, first]);
      await kit.store.release(lease);
      await refused(kit, second, 'the second in line');
      await granted(kit, first, 'the first in line');
    },
  },
  {
    rule: '11.1',
    sentence: 'a call that the store no longer knows enters at the place that it had',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const lease = await kit.take(name);
      const first = waits(kit, name);
      const told = await kit.store.acquire(first);
      const second = waits(kit, name, { process: 'two' });
      await kit.store.acquire(second);
      await leave(kit, first);
      const place = told.acquired ? undefined : told.waiting?.place;
      check(place !== undefined, () => `an attempt that waits should get its place, but got ${show(told)}`);
      const back = waits(kit, name, { place });
      await refused(kit, back, 'an attempt that waits, while the lock is taken');
      await kit.store.release(lease);
      await refused(kit, second, 'the second in line');
      await granted(kit, back, 'the one that is back at its place');
    },
  },
  {
    rule: '11.2',
    sentence: 'a grant that is asked for again lives for its whole ttl from then on',
    needs: ['lines'],
    async run(kit) {
      const request = waits(kit, kit.name());
      await granted(kit, { ...request, ttl: HOUR / 10 }, 'an attempt that waits, at a free lock,');
      const lease = await granted(kit, request, 'the same attempt again');
      await kit.stillHeld(lease, 'after it asked again');
    },
  },
  {
    rule: '11.2',
    sentence: 'to ask again for a grant that lives for longer does not shorten it',
    needs: ['lines'],
    async run(kit) {
      const request = waits(kit, kit.name());
      const lease = await granted(kit, request, 'an attempt that waits, at a free lock,');
      await granted(kit, { ...request, ttl: 1 }, 'the same attempt again, for 1 ms');
      await kit.wait(SHORT);
      await kit.stillHeld(lease, 'after it asked again');
    },
  },
  {
    rule: '4.1',
    sentence: 'a call that waits with a tick is refused at once if the tick was started',
    needs: ['lines'],
    async run(kit) {
      const [name, job, tick] = [kit.name(), 'Jobs.tick', 1_000];
      await kit.take(name, { job, tick });
      const late = { ...waits(kit, name), job, tick };
      answers(
        await kit.store.acquire(late),
        { acquired: false, reason: 'already-ran' },
        'an attempt with the same tick',
      );
      const newer = { ...waits(kit, name), job, tick: tick + 1 };
      answers(
        await kit.store.acquire(newer),
        { acquired: false, reason: 'held' },
        'an attempt with a newer tick',
      );
    },
  },
  {
    rule: '3.11',
    sentence:
      'a store that has lost everything grants the lock to nobody in line before its holder can have restored it',
    needs: ['forgetAll', 'lines'],
    restore: true,
    async run(kit) {
      const name = kit.name();
      const lease = await kit.take(name);
      await kit.forgetAll();
      await refused(kit, waits(kit, name, { notBefore: HOUR }), 'one that knows of a lease');
      answers(await kit.extend(lease), { held: true, restored: true }, 'extend of the holder');
      await kit.stillHeld(lease, 'after that');
    },
  },
];
