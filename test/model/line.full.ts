import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, nat, oneof, record } from 'fast-check';
import { Redis } from 'ioredis';
import type { LockStore } from '../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock.store.js';
import { brokenStores } from '../contract/support/broken-stores.js';
import { ReferenceStore } from '../contract/support/reference-store.js';
import { DATABASES, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { LineModel } from './support/line-model.js';
import { parameters } from './support/parameters.js';

const HOUR = 3_600_000;
const PRIORITIES = [0, 5, -5];
/** After so long, ms, the time of one that is called may be over: then a machine stood still, and the model knows nothing. */
const LATE = 1_500;

/** A lock of a store, and what can happen to it. */
interface LineSubject {
  readonly stores: readonly LockStore[];
  /** Whether time passes by itself. */
  readonly isTimed: boolean;
  /** The lease ends by itself. */
  expire(name: string): Promise<void>;
  /** The time of the one that is called is over. */
  pass(name: string): Promise<void>;
}

/** What happens. `who` names a call, `store` the instance that it asks. */
interface Step {
  readonly what:
    'ask' | 'ask without waiting' | 'leave' | 'release' | 'release late' | 'expire' | 'pass, and ask';
  readonly who: number;
  readonly store: number;
}

const steps = array(
  record({
    what: oneof(
      { weight: 6, arbitrary: constantFrom<Step['what'][]>('ask') },
      { weight: 4, arbitrary: constantFrom<Step['what'][]>('release') },
      {
        weight: 5,
        arbitrary: constantFrom<Step['what'][]>(
          'ask without waiting',
          'leave',
          'expire',
          'release late',
          'pass, and ask',
        ),
      },
    ),
    who: nat(8),
    store: nat(2),
  }),
  { maxLength: 40 },
);

/** Plays the steps on a store and on the model. */
class Play {
  readonly #model = new LineModel();
  readonly #name = `line-${randomUUID()}`;
  readonly #tokens = new Map<number, string>();
  readonly #places = new Map<number, number>();
  #lease: LeaseRef | undefined;
  /** The last lease that has ended by itself, until it is released. */
  #over: LeaseRef | undefined;
  #newest = 0;
  readonly #began = Date.now();

  constructor(private readonly subject: LineSubject) {}

  async step({ what, who, store: index }: Step): Promise<void> {
    const store = this.subject.stores[index % this.subject.stores.length];
    if (store === undefined) throw new Error('no store');
    if (what === 'ask') await this.#ask(store, who);
    if (what === 'ask without waiting') await this.#askOnce(store);
    if (what === 'leave') await this.#leave(store, who);
    if (what === 'release') await this.#release(store);
    if (what === 'release late') await this.#releaseLate(store);
    if (what === 'expire' && this.#model.expire()) await this.#expire();
    if (what === 'pass, and ask' && this.#model.pass()) {
      await this.subject.pass(this.#name);
      await this.#ask(store, who);
    }
  }

  async #ask(store: LockStore, who: number): Promise<void> {
    const priority = PRIORITIES[who % 3] ?? 0;
    const place = this.#places.get(who);
    const expected = this.#model.ask({ id: who, priority });
    const wait = this.#wait(who, { priority, ...(place === undefined ? {} : { place }) });
    const request = { ...this.#request(this.#tokenOf(who)), wait };
    const answer = await store.acquire(request);
    this.#compare(`call ${who} asks`, answer, expected);
    if (answer.acquired) this.#granted(request, answer.fencingToken, who);
    else if (answer.waiting !== undefined) this.#places.set(who, answer.waiting.place);
  }

  async #askOnce(store: LockStore): Promise<void> {
    const expected = this.#model.askOnce();
    const request = this.#request(randomUUID());
    const answer = await store.acquire(request);
    this.#compare('a call that does not wait asks', answer, expected);
    if (answer.acquired) this.#granted(request, answer.fencingToken);
  }

  async #leave(store: LockStore, who: number): Promise<void> {
    if (!this.#tokens.has(who)) return;
    const wait = this.#wait(who);
    this.#model.leave(who);
    const token = this.#tokenOf(who);
    await store.release({ ...this.#request(token), wait, fencingToken: 0 }, { outcome: 'abandoned' });
    if (this.#lease?.token === token) this.#lease = undefined;
    this.#forget(who);
  }

  async #release(store: LockStore): Promise<void> {
    if (this.#lease === undefined) return;
    this.#model.release();
    const { token } = this.#lease;
    const answer = await store.release(this.#lease);
    if (!answer.released)
      throw new Error(`a release: expected it to work, but got ${JSON.stringify(answer)}`);
    this.#lease = undefined;
    for (const [who, its] of this.#tokens) if (its === token) this.#forget(who);
  }

  /** It changes nothing: nobody is called, and nobody is passed over. */
  async #releaseLate(store: LockStore): Promise<void> {
    if (this.#over === undefined) return;
    const answer = await store.release(this.#over);
    if (answer.released) throw new Error('the release of a lease that has run out: expected it to be late');
    this.#over = undefined;
  }

  async #expire(): Promise<void> {
    await this.subject.expire(this.#name);
    for (const [who, token] of this.#tokens) if (this.#lease?.token === token) this.#forget(who);
    this.#over = this.#lease;
    this.#lease = undefined;
  }

  #compare(what: string, answer: AcquireResult, expected: boolean | number | undefined): void {
    const got = answer.acquired ? true : (answer.waiting?.ahead ?? false);
    if (this.subject.isTimed && Date.now() - this.#began > LATE) return;
    if (got !== (expected ?? false)) {
      throw new Error(`${what}: expected ${String(expected)}, but got ${JSON.stringify(answer)}`);
    }
  }

  #granted(request: AcquireRequest, fencingToken: number, who?: number): void {
    const isAgain = this.#lease?.token === request.token;
    if (!isAgain && fencingToken <= this.#newest) throw new Error('the fencing token does not grow');
    this.#newest = fencingToken;
    const { wait: _wait, ...own } = request;
    this.#lease = { ...own, fencingToken };
    if (who !== undefined) this.#places.delete(who);
  }

  /** The next call of this number is another one: no token is used again. */
  #forget(who: number): void {
    this.#tokens.delete(who);
    this.#places.delete(who);
  }

  #wait(who: number, more: object = {}) {
    return { limit: 10_000 * HOUR, priority: 0, process: `process ${who}`, ...more };
  }

  #tokenOf(who: number): string {
    const token = this.#tokens.get(who) ?? randomUUID();
    this.#tokens.set(who, token);
    return token;
  }

  #request(token: string): AcquireRequest {
    return { name: this.#name, token, ttl: HOUR, holder: 'host' };
  }
}

function agreesWithModel(make: () => LineSubject | Promise<LineSubject>, numRuns: number): Promise<void> {
  return assert(
    asyncProperty(steps, async (all) => {
      const play = new Play(await make());
      for (const step of all) await play.step(step);
    }),
    parameters(numRuns),
  );
}

const manual = (make: (clock: ManualClock) => LockStore) => (): LineSubject => {
  const clock = new ManualClock();
  return {
    stores: [make(clock)],
    isTimed: false,
    expire: () => clock.advance(HOUR + 1),
    pass: () => clock.advance(2_001),
  };
};

test('the memory store answers as the model of the line', async () => {
  await agreesWithModel(
    manual((clock) => new MemoryLockStore({ clock })),
    2_000,
  );
});

test('a correct store answers as the model of the line', async () => {
  await agreesWithModel(
    manual((clock) => new ReferenceStore(clock)),
    2_000,
  );
});

describe('the model finds out about a store that breaks', () => {
  /** What it knows nothing of: durations, hints, processes with several calls, limits. */
  const beyond =
    /ttl|lives for longer|hint|stays taken|costs the others one turn|limit|whose wait is over|who did not come in time/;
  const within = brokenStores.filter(({ caught }) => /^rule 1[0-4]/.test(caught) && !beyond.test(caught));

  test.each(within.map((broken) => [broken.caught, broken] as const))('%s', async (_, { make }) => {
    await expect(agreesWithModel(manual(make), 20_000)).rejects.toThrow(/Property failed/);
  });
});

describe('the Redis store', () => {
  let server: RedisServer;
  let clients: Redis[] = [];
  let subject: LineSubject;

  beforeAll(async () => {
    server = await provideRedis();
    clients = [1, 2, 3].map(() => new Redis(server.url));
    const [client] = clients as [Redis];
    const prefix = uniquePrefix('line');
    const key = (name: string): string => `${prefix}${name}`;
    const stores = clients.map((each) => new RedisLockStore(each, { key }));
    await Promise.all(stores.map((store) => store.init()));
    // Time itself ends it, only sooner.
    const end = async (name: string): Promise<void> => {
      await client.pexpire(key(name), 1);
      await until(async () => (await client.exists(key(name))) === 0, { interval: 1 });
    };
    subject = { stores, isTimed: true, expire: end, pass: end };
  }, 60_000);

  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await server?.stop();
  });

  test('answers as the model of the line', async () => {
    await agreesWithModel(() => subject, 200);
  });
});

describe.each(DATABASES.map((database) => [database.name, database] as const))(
  'the %s store',
  (name, database) => {
    let server: DatabaseServer;
    let pools: TestPool[] = [];
    let subject: LineSubject;

    beforeAll(async () => {
      server = await database.provide();
      pools = [1, 2, 3].map(() => database.pool(server.url));
      const [pool] = pools as [TestPool];
      const table = uniqueTable('line');
      const stores = pools.map((each) => each.store({ table }));
      await Promise.all(stores.map((store) => store.init()));
      const ago = (ms: number): string =>
        name === 'MySQL'
          ? `TIMESTAMPADD(MICROSECOND, ${-ms * 1_000}, UTC_TIMESTAMP(6))`
          : `timezone('utc', clock_timestamp()) - interval '${ms} milliseconds'`;
      subject = {
        stores,
        isTimed: true,
        expire: async (lock) =>
          void (await pool.write(`UPDATE ${table} SET lock_until = ${ago(1)} WHERE name = ?`, [lock])),
        async pass(lock) {
          // Who is called is written when somebody looks.
          const look = { name: lock, token: randomUUID(), ttl: HOUR, holder: 'host' };
          expect(await stores[0]?.acquire(look)).toMatchObject({ acquired: false });
          const [row] = await pool.rows(`SELECT state FROM ${table} WHERE name = ?`, [lock]);
          const state = JSON.parse(String(row?.['state'])) as {
            line: { called?: { until: number } };
          };
          if (state.line.called === undefined) throw new Error('nobody is called');
          state.line.called.until = 0;
          const version = randomUUID();
          await pool.write(`UPDATE ${table} SET state = ?, version = ? WHERE name = ?`, [
            JSON.stringify(state),
            version,
            lock,
          ]);
        },
      };
    }, 60_000);

    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await server?.stop();
    });

    test('answers as the model of the line', async () => {
      await agreesWithModel(() => subject, 100);
    });
  },
);
