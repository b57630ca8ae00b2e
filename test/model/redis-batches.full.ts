import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { AcquireRequest, ReleaseOptions } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { ownRedis } from '../unit/stores/redis/support/own-redis.js';
import { parameters } from './support/parameters.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const TICK = 1_760_000_000_000;
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

let client: Redis;

ownRedis((own) => (client = own));

/** One turn: the same kind of call for some of the locks, each in its own way. */
type Turn =
  | { readonly kind: 'acquire'; readonly calls: readonly [name: string, fields: Partial<AcquireRequest>][] }
  | { readonly kind: 'release'; readonly calls: readonly [name: string, options: ReleaseOptions][] }
  | { readonly kind: 'extend'; readonly calls: readonly [name: string, forgotten: boolean][] };

/** For some of the locks, to each its own, or to all the same. */
const some = <T>(what: fc.Arbitrary<T>): fc.Arbitrary<[string, T][]> => {
  const names = fc.shuffledSubarray(NAMES, { minLength: 1 });
  const each = fc.tuple(names, fc.array(what, { minLength: NAMES.length, maxLength: NAMES.length }));
  const same = fc.tuple(
    names,
    what.map((one) => NAMES.map(() => one)),
  );
  return fc.oneof(each, same).map(([chosen, given]) => chosen.map((name, i) => [name, given[i] as T]));
};

const ticks = fc.record({
  job: fc.constantFrom('Jobs.one', 'Jobs.two'),
  tick: fc.nat(2).map((n) => TICK + n),
  schedule: fc.constantFrom('0 4 * * *', '0 5 * * *'),
  rerun: fc.nat(1),
});
const starts: fc.Arbitrary<Partial<AcquireRequest>> = fc.oneof(
  fc.constant({}),
  fc.constant({ job: 'Jobs.one' }),
  fc.constant({ job: 'Jobs.one', interval: HOUR }),
  ticks,
);
const fields = fc
  .tuple(starts, fc.boolean())
  .map(([start, brief]): Partial<AcquireRequest> => (brief ? { ...start, brief } : start));
const options: fc.Arbitrary<ReleaseOptions> = fc.constantFrom(
  {},
  { outcome: 'failed' },
  { outcome: 'abandoned' },
  { keepFor: HOUR },
  { outcome: 'aborted', keepFor: HOUR },
);
const turns = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('acquire' as const), calls: some(fields) }),
    fc.record({ kind: fc.constant('release' as const), calls: some(options) }),
    fc.record({ kind: fc.constant('extend' as const), calls: some(fc.boolean()) }),
  ),
  { minLength: 2, maxLength: 5 },
);

/** One of two sets of locks that see the same turns. */
class Side {
  readonly #store: RedisLockStore;
  readonly #leases = new Map<string, LeaseRef>();

  constructor(readonly label: string) {
    this.#store = new RedisLockStore(client, { key: (name) => `${label}:${name}:lock` });
  }

  /** What each call of a turn answers, with what is different each time left out. */
  async turn(turn: Turn, number: number, atOnce: boolean): Promise<unknown[]> {
    const calls: (() => Promise<object>)[] = [];
    if (turn.kind === 'acquire') {
      for (const [name, given] of turn.calls)
        calls.push(() => this.#acquire(name, `token-${number}-${name}`, given));
    } else if (turn.kind === 'release') {
      for (const [name, given] of turn.calls) calls.push(() => this.#store.release(this.#lease(name), given));
    } else {
      for (const [name, forgotten] of turn.calls) {
        if (forgotten) await client.del(`${this.label}:${name}:lock`, `{${this.label}:${name}:lock}:state`);
      }
      const leases = turn.calls.map(([name]) => this.#lease(name));
      if (atOnce) return (await this.#store.extend(leases)).map(comparable);
      for (const lease of leases) calls.push(async () => (await this.#store.extend([lease]))[0] as object);
    }
    if (atOnce) return (await Promise.all(calls.map((call) => call()))).map(comparable);
    const answers: unknown[] = [];
    for (const call of calls) answers.push(comparable(await call()));
    return answers;
  }

  /** What Redis holds for a lock. */
  async look(name: string): Promise<unknown> {
    const [lock, state] = [`${this.label}:${name}:lock`, `{${this.label}:${name}:lock}:state`];
    const { fence: _, since: __, kept: ___, ...hash } = await client.hgetall(state);
    // Fencing tokens and times are those of the moment.
    const text = Object.entries(hash).map(([field, value]) => [
      field,
      value.replace(field === 'of' ? /^\d+/ : /^next \d+/, 'then'),
    ]);
    const hours = async (key: string): Promise<number> => Math.round((await client.pttl(key)) / HOUR);
    const token = (await client.get(lock))?.replace(/ \d+$/, '');
    return [token, Object.fromEntries(text), await hours(lock), await hours(state)];
  }

  async #acquire(name: string, token: string, given: Partial<AcquireRequest>): Promise<object> {
    const request = { name, token, ttl: 5 * HOUR, holder: 'host:1:abc', ...given };
    const result = await this.#store.acquire(request);
    if (result.acquired) {
      const { job, tick } = request;
      const run = tick === undefined ? {} : { tick, attempt: result.attempt ?? 1 };
      const { ttl, holder } = request;
      const { fencingToken } = result;
      this.#leases.set(name, { name, token, ttl, holder, fencingToken, ...(job && { job }), ...run });
    }
    return result;
  }

  #lease(name: string): LeaseRef {
    const stranger = { name, token: 'of nobody', ttl: 5 * HOUR, holder: 'host:2:abc', fencingToken: 3 };
    return this.#leases.get(name) ?? stranger;
  }
}

function comparable(answer: object): unknown {
  const { fencingToken: _, expiresIn, ...rest } = answer as { fencingToken?: number; expiresIn?: number };
  return { ...rest, expiresIn: expiresIn === undefined ? undefined : Math.round(expiresIn / HOUR) };
}

test('calls that go to Redis together do what they do one by one', async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(turns, async (script) => {
      runs += 1;
      const [alone, together] = [new Side(`alone-${runs}`), new Side(`together-${runs}`)];
      for (const [number, turn] of script.entries()) {
        const expected = await alone.turn(turn, number, false);
        expect(await together.turn(turn, number, true)).toEqual(expected);
        for (const name of NAMES) expect(await together.look(name)).toEqual(await alone.look(name));
      }
    }),
    parameters(60),
  );
});

test('leases without ticks that are restored together are kept for a day, as one alone is', async () => {
  const store = new RedisLockStore(client, { key: (name) => `${name}:lock` });
  const leases = NAMES.map((name, i) => ({
    name,
    token: name,
    ttl: HOUR,
    holder: 'host:1:abc',
    fencingToken: i + 1,
  }));
  expect(await store.extend(leases)).toEqual(NAMES.map(() => ({ held: true, restored: true })));
  for (const name of NAMES) expect(await client.pttl(`{${name}:lock}:state`)).toBeLessThan(DAY + 4 * HOUR);
});
