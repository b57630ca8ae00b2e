import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, MONTH, SHORT } from './kit.js';

const CROWD = 40;

/** Rules 1 and 2: which attempt gets a lock. */
export const exclusionCases: readonly CaseDefinition[] = [
  {
    rule: '1.1',
    sentence: 'of many concurrent acquires of a free lock exactly one wins',
    async run(kit) {
      const name = kit.name();
      const results = await kit.storm(Array.from({ length: CROWD }, () => kit.request(name)));
      const winners = results.filter(({ acquired }) => acquired);
      check(winners.length === 1, () => `one of ${CROWD} attempts should win, but ${winners.length} did`);
    },
  },
  {
    rule: '1.1',
    sentence: 'of many concurrent acquires of an expired lock exactly one wins',
    async run(kit) {
      const { name } = await kit.take(kit.name(), { ttl: SHORT });
      const winners = await kit.takeExpired(name, `after a lease of ${SHORT} ms`, CROWD);
      check(winners.length === 1, () => `one of ${CROWD} attempts should win, but ${winners.length} did`);
    },
  },
  {
    rule: '1.2',
    sentence: 'a refusal says that the lock is held, by whom, and for how long at most',
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.stillHeld(lease, 'during a lease');
    },
  },
  {
    rule: '1.3',
    sentence: 'holders with the same name are distinguished by their tokens',
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.refusal(lease.name, 'an attempt of the same instance', { holder: lease.holder });
      const result = await kit.extend(kit.stranger(lease.name, { holder: lease.holder }));
      answers(result, { held: false, reason: 'taken' }, 'extend of the same instance with another token');
    },
  },
  {
    rule: '2.1',
    sentence: 'an acquire repeated by the holder is answered with the grant that was recorded',
    async run(kit) {
      const { fencingToken, ...request } = await kit.take(kit.name());
      answers(await kit.store.acquire(request), { acquired: true, fencingToken }, 'the repeated acquire');
      answers(
        await kit.store.acquire(request),
        { acquired: true, fencingToken },
        'the acquire repeated again',
      );
    },
  },
  {
    rule: '2.1',
    sentence: 'a repeated acquire is answered the same after the lease was renewed',
    async run(kit) {
      const lease = await kit.take(kit.name());
      const { fencingToken, ...request } = lease;
      answers(await kit.extend(lease), { held: true }, 'extend');
      answers(await kit.store.acquire(request), { acquired: true, fencingToken }, 'the acquire after it');
    },
  },
  {
    rule: '2.1',
    sentence: 'concurrent acquires with one token are one lease',
    async run(kit) {
      const request = kit.request(kit.name());
      const results = await kit.storm(Array.from({ length: CROWD }, () => request));
      const tokens = new Set(results.map((result) => (result.acquired ? result.fencingToken : 'refused')));
      check(tokens.size === 1 && !tokens.has('refused'), () => {
        const answer = tokens.has('refused') ? 'some were refused' : `there were ${tokens.size} of them`;
        return `all should be answered with one fencing token, but ${answer}`;
      });
    },
  },
  {
    rule: '2.2',
    sentence: 'the token of an ended lease does not pass while its lock is kept',
    async run(kit) {
      const { fencingToken, ...request } = await kit.take(kit.name());
      await kit.store.release({ ...request, fencingToken }, { keepFor: HOUR });
      const result = await kit.store.acquire(request);
      answers(
        result,
        { acquired: false, reason: 'cooling-down' },
        'acquire with the token of an ended lease',
      );
    },
  },
  {
    rule: '2.2',
    sentence: 'the token of an ended lease is not answered with the old grant once the lock is free',
    async run(kit) {
      const { fencingToken, ...request } = await kit.take(kit.name());
      await kit.store.release({ ...request, fencingToken });
      const result = await kit.store.acquire(request);
      check(!result.acquired || result.fencingToken > fencingToken, () => {
        return `a new grant should have a fencing token above ${fencingToken}, but the answer was ${show(result)}`;
      });
    },
  },
  {
    rule: '2.2',
    sentence: 'the token of an expired lease does not pass once somebody else has the lock',
    async run(kit) {
      const stale = await kit.take(kit.name(), { ttl: SHORT });
      const [next] = await kit.takeExpired(stale.name, `after a lease of ${SHORT} ms`);
      const { fencingToken: _, ...request } = stale;
      const expected = { acquired: false, reason: 'held', holder: next?.holder };
      answers(await kit.store.acquire(request), expected, 'acquire with the token of an expired lease');
    },
  },
  {
    rule: '8.3',
    sentence: 'a refused attempt changes nothing',
    async run(kit) {
      const lease = await kit.take(kit.name());
      const { fencingToken, ...request } = lease;
      await kit.refusal(lease.name, 'during a lease', { ttl: MONTH, job: 'Other.job', tick: 1, attempt: 7 });
      await kit.refusal(lease.name, 'during a lease', { ttl: 1 });
      await kit.wait(SHORT);
      await kit.stillHeld(lease, 'after refused attempts with other ttls');
      answers(await kit.store.acquire(request), { acquired: true, fencingToken }, 'the repeated acquire');
      answers(await kit.extend(lease), { held: true, restored: undefined }, 'extend after refused attempts');
    },
  },
];
