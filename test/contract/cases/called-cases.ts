import { answers, check } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR } from './kit.js';
import { CALLED, granted, leave, refused, stand, standAtRunOut, waits } from './line-moves.js';

/** Rules 12 to 14: who in line is called, and who is passed over. */
export const calledCases: readonly CaseDefinition[] = [
  {
    rule: '12.2',
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
    rule: '12.2',
    sentence: 'a lock that stays taken after its release is granted to no call in line',
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
    rule: '12.2',
    sentence: 'the late release of a lease that has run out calls nobody',
    needs: ['lines'],
    async run(kit) {
      const first = await standAtRunOut(kit);
      const urgent = waits(kit, first.name, { priority: 1, process: 'two' });
      await granted(kit, urgent, 'one of greater priority that comes before anybody was called');
    },
  },
  {
    rule: '13.2',
    sentence: 'a call that is abandoned is not in line any more',
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
    rule: '13.1',
    sentence: 'if the call that is called is abandoned, the next one is called',
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
    rule: '13.1',
    sentence: 'if the lease that was granted is abandoned, the next call is called',
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
    rule: '14.1',
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
    rule: '14.1',
    sentence: 'a call that did not come in time has its place again when it asks',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const lease = await kit.take(name);
      const slow = waits(kit, name, { process: 'slow' });
      const [living, third] = [
        waits(kit, name, { process: 'living' }),
        waits(kit, name, { process: 'third' }),
      ];
      const told = await kit.store.acquire(slow);
      const place = told.acquired ? undefined : told.waiting?.place;
      for (const request of [living, third])
        await refused(kit, request, 'an attempt that waits, while the lock is taken');
      await kit.store.release(lease);
      await kit.wait(CALLED);
      const next = await granted(kit, living, 'the first in line of a process that asks');
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
    rule: '14.2',
    sentence: 'calls whose limit has passed are passed over, and the lock is free for all if no call is left',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const lease = await stand(kit, [
        waits(kit, name, { limit: 1 }),
        waits(kit, name, { limit: 1, process: 'two' }),
      ]);
      await kit.wait(20);
      await kit.store.release(lease);
      // A call that the store knows by its place alone may be called once more, and after it all the others.
      await kit.until(
        'the lock should be free',
        async () => (await kit.store.acquire(kit.request(name))).acquired,
      );
    },
  },
];
