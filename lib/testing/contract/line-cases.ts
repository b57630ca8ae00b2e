import type { AcquireRequest, AcquireResult, LeaseRef, WaitRequest } from '../../stores/lock-store.js';
import { answers, check, show } from './assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, type Kit, SHORT } from './kit.js';

/** How long a lock is reserved for the one that is called, and a little longer, ms. */
const CALLED = 2_100;

/** An attempt that may stand in line. */
function waits(kit: Kit, name: string, fields: Partial<WaitRequest> = {}): AcquireRequest {
  return kit.request(name, { wait: { limit: HOUR, priority: 0, process: 'one', ...fields } });
}

/** Attempts that stand in line, in this order, while another holder has the lock. */
async function stand(kit: Kit, requests: readonly AcquireRequest[]): Promise<LeaseRef> {
  const [{ name } = { name: '' }] = requests;
  const lease = await kit.take(name);
  for (const request of requests)
    await refused(kit, request, 'an attempt that waits, while the lock is taken');
  return lease;
}

async function refused(kit: Kit, request: AcquireRequest, what: string): Promise<void> {
  const result = await kit.store.acquire(request);
  check(
    !result.acquired && result.reason === 'held',
    () => `${what} should be refused as held, but got ${show(result)}`,
  );
}

async function granted(kit: Kit, request: AcquireRequest, what: string): Promise<LeaseRef> {
  const result: AcquireResult = await kit.store.acquire(request);
  check(result.acquired, () => `${what} should be granted, but got ${show(result)}`);
  const { wait: _wait, ...rest } = request;
  return { ...rest, fencingToken: result.fencingToken };
}

const leave = (kit: Kit, request: AcquireRequest): Promise<unknown> =>
  kit.store.release({ ...request, fencingToken: 0 }, { outcome: 'abandoned' });

/** Rules 10 to 14: who waits for a lock, and who gets it next. */
export const lineCases: readonly CaseDefinition[] = [
  {
    rule: 10,
    sentence: 'an acquire that waits is told how many stand before it in line',
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
    rule: 10,
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
    rule: 10,
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
    rule: 10,
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
    rule: 10,
    sentence: 'nor after a lease has run out',
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
    rule: 11,
    sentence: 'who asks again keeps its place',
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
    rule: 11,
    sentence: 'who is not known any more enters at the place that it had',
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
      check(
        place !== undefined,
        () => `an attempt that waits should be told its place, but got ${show(told)}`,
      );
      const back = waits(kit, name, { place });
      await refused(kit, back, 'an attempt that waits, while the lock is taken');
      await kit.store.release(lease);
      await refused(kit, second, 'the second in line');
      await granted(kit, back, 'the one that is back at its place');
    },
  },
  {
    rule: 11,
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
    rule: 11,
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
    rule: 12,
    sentence: 'a release gives the process of the first in line a hint',
    needs: ['lines', 'hints'],
    async run(kit) {
      const heard: string[] = [];
      // No hint of another case may come late.
      const process = kit.name('process');
      const channel = kit.store.hints?.(process, (token) => heard.push(token));
      try {
        await kit.until('the channel for hints should be open', async () => channel?.open === true);
        const [first, second] = ['lock', 'other'].map((name) => waits(kit, kit.name(name), { process }));
        check(first !== undefined && second !== undefined, 'two attempts');
        const lease = await stand(kit, [first]);
        await stand(kit, [second]);
        await kit.store.release(lease);
        await kit.until('a hint should have come', async () => heard.length > 0);
        check(heard.join() === first.token, 'a hint should come for the first in line, and for nobody else');
      } finally {
        channel?.close();
      }
    },
  },
  {
    rule: 12,
    sentence: 'a lock that stays taken after its release is granted to nobody in line',
    needs: ['lines'],
    async run(kit) {
      const first = waits(kit, kit.name());
      const lease = await stand(kit, [first]);
      await kit.store.release(lease, { keepFor: HOUR });
      const result = await kit.store.acquire(first);
      answers(result, { acquired: false, reason: 'cooling-down' }, 'an attempt of the first in line');
    },
  },
  {
    rule: 13,
    sentence: 'who is abandoned is not in line any more',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const [first, second] = [waits(kit, name), waits(kit, name)];
      const lease = await stand(kit, [first, second]);
      await leave(kit, first);
      await kit.store.release(lease);
      await granted(kit, second, 'the second in line');
    },
  },
  {
    rule: 13,
    sentence: 'if who is called is abandoned, the next one is called',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const [first, second] = [waits(kit, name), waits(kit, name)];
      await kit.store.release(await stand(kit, [first, second]));
      await leave(kit, first);
      await refused(kit, kit.request(name), 'an attempt that does not wait');
      await granted(kit, second, 'the second in line');
    },
  },
  {
    rule: 13,
    sentence: 'if who was granted the lock is abandoned, the next one is called',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const [first, second] = [waits(kit, name), waits(kit, name)];
      await kit.store.release(await stand(kit, [first, second]));
      await granted(kit, first, 'the first in line');
      await leave(kit, first);
      await refused(kit, kit.request(name), 'an attempt that does not wait');
      await granted(kit, second, 'the second in line');
    },
  },
  {
    rule: 14,
    sentence: 'a dead process costs the others one turn, however many of its calls stand in line',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const dead = Array.from({ length: 5 }, () => waits(kit, name, { process: 'dead' }));
      const living = waits(kit, name, { process: 'living' });
      await kit.store.release(await stand(kit, [...dead, living]));
      await refused(kit, living, 'one behind the calls of a dead process');
      await kit.wait(CALLED);
      await granted(kit, living, 'the first in line of a process that asks');
    },
  },
  {
    rule: 14,
    sentence: 'who did not come in time has its place again when it asks',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const lease = await kit.take(name);
      const [slow, living] = [waits(kit, name, { process: 'slow' }), waits(kit, name, { process: 'living' })];
      const told = await kit.store.acquire(slow);
      const place = told.acquired ? undefined : told.waiting?.place;
      await refused(kit, living, 'an attempt that waits, while the lock is taken');
      await kit.store.release(lease);
      await kit.wait(CALLED);
      const next = await granted(kit, living, 'the first in line of a process that asks');
      const third = waits(kit, name, { process: 'third' });
      await refused(kit, third, 'an attempt that waits, while the lock is taken');
      const back = {
        ...slow,
        wait: { limit: HOUR, priority: 0, process: 'slow', ...(place === undefined ? {} : { place }) },
      };
      await refused(kit, back, 'an attempt that waits, while the lock is taken');
      await kit.store.release(next);
      await refused(kit, third, 'the second in line');
      await granted(kit, back, 'the one that is back at its place');
    },
  },
  {
    rule: 14,
    sentence: 'calls whose limit has passed are passed over, and the lock is free for all if nobody is left',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const lease = await stand(kit, [
        waits(kit, name, { limit: 1 }),
        waits(kit, name, { limit: 1, process: 'two' }),
      ]);
      await kit.wait(20);
      await kit.store.release(lease);
      // One that is known by its place alone may be called once more, and then everybody else.
      await kit.until(
        'the lock should be free',
        async () => (await kit.store.acquire(kit.request(name))).acquired,
      );
    },
  },
  {
    rule: 4,
    sentence: 'a tick that was started is refused to whoever waits with it, at once',
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
    rule: 3,
    sentence:
      'a store that has lost everything grants the lock to nobody in line before its holder can have restored it',
    needs: ['forgetAll', 'lines'],
    restore: true,
    async run(kit) {
      const name = kit.name();
      const lease = await kit.take(name);
      await kit.forgetAll();
      await refused(kit, waits(kit, name, { notBefore: HOUR }), 'one that was told of a lease');
      answers(await kit.extend(lease), { held: true, restored: true }, 'extend of the holder');
      await kit.stillHeld(lease, 'after that');
    },
  },
];
