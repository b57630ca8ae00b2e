import type { LeaseRef } from '../../../lib/contract/lock-store.js';
import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { checkExpiry, HOUR, type Kit, MONTH } from './kit.js';
import { confusableNames } from '../../../lib/testing/port/names.js';

/** Names that this store takes. */
const namesFor = (kit: Kit): string[] =>
  confusableNames(kit.name('n')).filter((each) => kit.store.nameProblem?.(each) === undefined);

/** Rule 7: names and durations. */
export const nameCases: readonly CaseDefinition[] = [
  {
    rule: '7.1',
    sentence: 'every name is a lock of its own',
    async run(kit) {
      const leases: LeaseRef[] = [];
      for (const name of namesFor(kit)) {
        const request = kit.request(name);
        const result = await kit.store.acquire(request);
        check(
          result.acquired,
          () => `the name ${show(name)} should be free, but an attempt got ${show(result)}`,
        );
        leases.push({ ...request, fencingToken: result.fencingToken });
      }
      for (const lease of leases) await kit.stillHeld(lease, `the lock ${show(lease.name)}`);
      const results = await kit.store.extend(leases);
      for (const [i, { name }] of leases.entries())
        answers(results[i] ?? {}, { held: true, restored: undefined }, `extend of ${show(name)}`);
    },
  },
  {
    rule: '7.1',
    sentence: 'release of one name frees no other',
    async run(kit) {
      const leases: LeaseRef[] = [];
      for (const name of namesFor(kit)) leases.push(await kit.take(name));
      for (const [i, lease] of leases.entries()) {
        if (i % 2 === 0) continue;
        answers(await kit.store.release(lease), { released: true }, `release of ${show(lease.name)}`);
      }
      for (const [i, lease] of leases.entries()) {
        if (i % 2 === 0) await kit.stillHeld(lease, `the lock ${show(lease.name)}`);
        else await kit.free(lease.name, `the lock ${show(lease.name)}`);
      }
    },
  },
  {
    rule: '7.2',
    sentence: 'a name has a problem exactly if an attempt rejects, where the store knows of problems',
    async run(kit) {
      if (kit.store.nameProblem === undefined) return;
      for (const name of confusableNames(kit.name('n'))) {
        const problem = kit.store.nameProblem(name);
        const rejected = await kit.store.acquire(kit.request(name)).then(
          () => false,
          () => true,
        );
        check(
          rejected === (problem !== undefined),
          () =>
            `nameProblem(${show(name)}) answered ${show(problem)}, but an attempt ${rejected ? 'rejected' : 'was judged'}`,
        );
      }
    },
  },
  {
    rule: '7.3',
    sentence: 'a ttl may be as short as 1 ms',
    async run(kit) {
      const lease = await kit.take(kit.name(), { ttl: 1 });
      await kit.takeExpired(lease.name, 'after a lease of 1 ms');
    },
  },
  {
    rule: '7.3',
    sentence: 'a ttl may be as long as 30 days',
    async run(kit) {
      const lease = await kit.take(kit.name(), { ttl: MONTH });
      await kit.stillHeld(lease, 'within a lease of 30 days');
      const other = await kit.take(kit.name('renewed'));
      answers(await kit.extend({ ...other, ttl: MONTH }), { held: true }, 'extend for 30 days');
      await kit.stillHeld(other, 'within a renewal for 30 days', MONTH);
    },
  },
  {
    rule: '7.3',
    sentence: 'a lock may be kept for 1 ms to 30 days after its lease',
    async run(kit) {
      const short = await kit.take(kit.name('short'));
      await kit.store.release(short, { keepFor: 1 });
      await kit.takeExpired(short.name, 'after it was kept for 1 ms');
      const long = await kit.take(kit.name('long'), { ttl: HOUR });
      await kit.store.release(long, { keepFor: MONTH });
      const refusal = await kit.refusal(long.name, 'while it is kept for 30 days');
      answers(refusal, { reason: 'cooling-down', holder: long.holder }, 'an attempt while it is kept');
      checkExpiry(refusal, MONTH, 'while it is kept for 30 days');
    },
  },
];
