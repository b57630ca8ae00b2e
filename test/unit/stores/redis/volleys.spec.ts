import { expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { AcquireRequest, AcquireResult } from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { commandsDuring } from '../../../support/local-redis.js';
import { until } from '../../../support/until.js';
import { ownStore } from './support/own-redis.js';

/** As the page on Redis says. */
const MOST = 50;
const VOLLEY = 600;

let client: Redis;
let store: RedisLockStore;

ownStore((...own) => ([client, store] = own));

const requests = Array.from({ length: VOLLEY }, (_, index) => ({
  name: `job-${index}`,
  token: `token-${index}`,
  ttl: 3_600_000,
  holder: 'host:1:abc',
}));

/** Tries for all the locks at the same moment. */
const attempts = (): Promise<PromiseSettledResult<AcquireResult>[]> =>
  Promise.allSettled(requests.map((request) => store.acquire(request)));

const granted = (results: readonly PromiseSettledResult<AcquireResult>[]): LeaseRef[] =>
  results.flatMap((result, index) => {
    const request = requests[index];
    if (request === undefined || result.status === 'rejected' || !result.value.acquired) return [];
    return [{ ...request, fencingToken: result.value.fencingToken }];
  });

/** For how many leases each script was run that Redis was sent meanwhile; it was sent nothing else. */
async function scriptsDuring(work: () => Promise<unknown>): Promise<number[]> {
  const sent = await commandsDuring(client, work);
  expect(sent.filter(([command]) => command !== 'evalsha')).toEqual([]);
  // Two keys for each.
  return sent.map(([, _sha, keys]) => Number(keys) / 2);
}

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

test('what is asked for at one moment goes to Redis together, in scripts for 50 leases at most', async () => {
  let leases: LeaseRef[] = [];
  const round = [
    async () => (leases = granted(await attempts())),
    () => store.extend(leases),
    () => Promise.all(leases.map((lease) => store.release(lease))),
  ];
  // Redis comes to know the scripts, also those for locks that were given back before.
  for (const step of [...round, ...round]) await step();
  for (const step of round) {
    const sizes = await scriptsDuring(step);
    expect(leases).toHaveLength(VOLLEY);
    expect(sum(sizes)).toBe(VOLLEY);
    expect(Math.max(...sizes)).toBe(MOST);
    // The first call may go at once.
    expect(sizes.length).toBeLessThanOrEqual(1 + Math.ceil((VOLLEY - 1) / MOST));
  }
  expect(await client.keys('scheduler:*')).toEqual([]);
});

test.each([
  ['lock', (name: string) => `scheduler:${name}:lock`],
  ['state', (name: string) => `{scheduler:${name}:lock}:state`],
])('a %s of the wrong type among them fails alone', async (_, keyOf) => {
  const broken = [0, 1, 299, VOLLEY - 1];
  const names = broken.map((index) => `job-${index}`);
  for (const name of names) await client.rpush(keyOf(name), 'not ours');
  const results = await attempts();
  const failed = results.flatMap((result, index) => (result.status === 'rejected' ? [index] : []));
  expect(failed).toEqual(broken);
  for (const index of broken) {
    expect(results[index]).toMatchObject({ reason: { code: 'LOCK_STATE', lock: `job-${index}` } });
  }
  const leases = granted(results);
  expect(leases).toHaveLength(VOLLEY - broken.length);
  // The others are renewed and released with them, too.
  for (const name of names) leases.push({ ...(requests[0] as (typeof requests)[0]), name, fencingToken: 1 });
  const renewals = await store.extend(leases);
  expect(renewals.flatMap(({ held }, index) => (held ? [] : [leases[index]?.name]))).toEqual(names);
  const releases = await Promise.allSettled(leases.map((lease) => store.release(lease)));
  expect(
    releases.flatMap(({ status }, index) => (status === 'fulfilled' ? [] : [leases[index]?.name])),
  ).toEqual(names);
});

const tokenOf = (settled: PromiseSettledResult<AcquireResult> | undefined): number =>
  settled?.status === 'fulfilled' && settled.value.acquired ? settled.value.fencingToken : 1;

test('a name without a key among them fails alone', async () => {
  const key = (name: string): string => {
    if (name === 'job-1') throw new Error('no such tenant');
    return `{jobs}:${name}`;
  };
  const other = new RedisLockStore(client, { key });
  const names = ['job-0', 'job-1', 'job-2:state', 'job-3'];
  const asked = names.map((name, i) => ({ ...(requests[i] as (typeof requests)[0]), name }));
  const results = await Promise.allSettled(asked.map((request) => other.acquire(request)));
  const bad = { status: 'rejected', reason: { code: 'SCHEDULER_LOCK_CONFIG' } };
  const good = { status: 'fulfilled', value: { acquired: true } };
  expect(results).toMatchObject([good, bad, bad, good]);
  const leases = asked.map((request, i) => ({ ...request, fencingToken: tokenOf(results[i]) }));
  const unjudged = { held: null, error: { code: 'SCHEDULER_LOCK_CONFIG' } };
  expect(await other.extend(leases)).toMatchObject([{ held: true }, unjudged, unjudged, { held: true }]);
  expect(await other.extend(leases.slice(1, 3))).toMatchObject([unjudged, unjudged]);
});

test('names without a key alone send nothing', async () => {
  const other = new RedisLockStore(client, { key: () => '' });
  const asked = requests.slice(0, 3).map((request) => ({ ...request, fencingToken: 1 }));
  const sent = await commandsDuring(client, async () => {
    expect(await other.extend(asked)).toMatchObject(asked.map(() => ({ held: null })));
    const attempts = asked.map((request) => other.acquire({ ...request, brief: true }));
    const results = await Promise.allSettled(attempts);
    expect(results.map(({ status }) => status)).toEqual(asked.map(() => 'rejected'));
  });
  expect(sent).toEqual([]);
});

test('a call after a volley goes alone, at once, as one before it', async () => {
  const [request] = requests as [(typeof requests)[0]];
  const lone = (token: string): Promise<string[][]> =>
    commandsDuring(client, async () => {
      const answer = store.acquire({ ...request, token });
      expect((await answer).acquired).toBe(token === request.token);
    });
  await attempts();
  const before = await lone('another');
  await attempts();
  expect((await lone('a third')).map(([, sha]) => sha)).toEqual(before.map(([, sha]) => sha));
});

test('attempts of which nobody needs more than the reason look at the locks first, and ask for those that are free', async () => {
  const brief = requests.map((request) => ({ ...request, token: `brief-${request.name}`, brief: true }));
  const taken = new Set(
    granted(await attempts())
      .map(({ name }) => name)
      .slice(0, 500),
  );
  await client.del(
    requests.filter(({ name }) => !taken.has(name)).map(({ name }) => `scheduler:${name}:lock`),
  );
  let answers: AcquireResult[] = [];
  const sent = await commandsDuring(client, async () => {
    answers = await Promise.all(brief.map((request) => store.acquire(request)));
  });
  for (const [i, answer] of answers.entries()) {
    const isTaken = taken.has(`job-${i}`);
    if (isTaken) expect(answer).toEqual({ acquired: false, reason: 'held' });
    else expect(answer.acquired).toBe(true);
  }
  const looks = sent.filter(([command]) => command === 'mget');
  const scripts = sent.filter(([command]) => command === 'evalsha');
  // The first call may go at once.
  expect(looks.flat().filter((word) => word.startsWith('scheduler:')).length).toBeGreaterThanOrEqual(
    VOLLEY - 1,
  );
  expect(Math.max(...looks.map(({ length }) => length - 1))).toBe(500);
  expect(sum(scripts.map(([, , keys]) => Number(keys) / 2))).toBeLessThanOrEqual(1 + VOLLEY - taken.size);
});

test('one such attempt alone does not look first, and is refused without the details', async () => {
  const [request] = requests as [(typeof requests)[0]];
  await store.acquire(request);
  let answer: AcquireResult | undefined;
  const sent = await commandsDuring(client, async () => {
    answer = await store.acquire({ ...request, token: 'another', brief: true });
  });
  expect(answer).toEqual({ acquired: false, reason: 'held' });
  expect(sent.map(([command]) => command)).toEqual(['evalsha']);
});

test('an answer to a look that cannot be read fails each, and leaves none without an answer', async () => {
  const mget = jest.spyOn(client, 'mget').mockResolvedValue(null as never);
  const results = await Promise.allSettled(
    requests.slice(0, 3).map((request) => store.acquire({ ...request, brief: true })),
  );
  mget.mockRestore();
  // The first call goes alone, without a look.
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
});

test('an attempt that nobody waits for any more when the look is answered is not made', async () => {
  let answer!: (values: null[]) => void;
  const looked = new Promise<null[]>((resolve) => (answer = resolve));
  const mget = jest.spyOn(client, 'mget').mockReturnValue(looked);
  const errors: Error[] = [];
  const told = {
    givenUp: false,
    answered: () => undefined,
    failed: (error: Error) => void errors.push(error),
  };
  const [first, ...others] = requests.slice(0, 3).map((request) => ({ ...request, brief: true }));
  const going = store.acquire(first as AcquireRequest);
  for (const request of others) store.fastPort.acquire(request, told);
  await going;
  await until(() => mget.mock.calls.length > 0);
  told.givenUp = true;
  answer(others.map(() => null));
  await until(() => errors.length === others.length);
  mget.mockRestore();
  expect(errors).toMatchObject(others.map(() => ({ code: 'STORE_UNAVAILABLE', outcome: 'not-applied' })));
  expect(await client.exists(...others.map(({ name }) => `scheduler:${name}:lock`))).toBe(0);
});

test('a look that fails has taken nothing', async () => {
  const mget = jest.spyOn(client, 'mget').mockRejectedValue(new Error('Connection is closed.'));
  const results = await Promise.allSettled(
    requests.slice(0, 3).map((request) => store.acquire({ ...request, brief: true })),
  );
  mget.mockRestore();
  const failed = { status: 'rejected', reason: { code: 'STORE_UNAVAILABLE', outcome: 'not-applied' } };
  expect(results).toMatchObject([{ status: 'fulfilled' }, failed, failed]);
});

test('a look does not refuse the token that has the lock', async () => {
  const again = requests.slice(0, 3).map((request) => ({ ...request, brief: true }));
  const take = (): Promise<AcquireResult[]> => Promise.all(again.map((request) => store.acquire(request)));
  expect(await take()).toEqual(await take());
});
