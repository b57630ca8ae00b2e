import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { AcquireRequest, AcquireResult, ReleaseOptions } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { parameters } from './support/parameters.js';

const HOUR = 3_600_000;
const TICK = 1_760_000_000_000;
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

/** One turn: attempts at all locks, then releases of some of them. */
interface Turn {
  readonly attempts: readonly Partial<AcquireRequest>[];
  readonly releases: readonly (ReleaseOptions | undefined)[];
}

const job = fc.constantFrom('Jobs.one', 'Jobs.two');
const ofTick = fc.record(
  {
    job,
    // The last one is too far in the future.
    tick: fc.constantFrom(TICK, TICK + 1, TICK + 1, TICK + 2, Date.now() + 10 * HOUR),
    schedule: fc.constantFrom('0 4 * * *', '0 5 * * *'),
    maxClockSkew: fc.constant(60_000),
    rerun: fc.nat(1),
    only: fc.constantFrom('known' as const, 'interrupted' as const),
  },
  { requiredKeys: ['job', 'tick'] },
);
const start = fc.oneof(
  { weight: 4, arbitrary: ofTick },
  { weight: 1, arbitrary: fc.record({ job, interval: fc.constant(HOUR) }) },
  { weight: 1, arbitrary: fc.record({ job }, { requiredKeys: [] }) },
);
const release = fc.constantFrom<ReleaseOptions>(
  {},
  { outcome: 'failed' },
  { outcome: 'abandoned' },
  { outcome: 'aborted' },
  { outcome: 'aborted', keepFor: HOUR },
);
const each = <T>(what: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(what, { minLength: NAMES.length, maxLength: NAMES.length });
const turns = fc.array(
  fc.record<Turn>({ attempts: each(start), releases: each(fc.option(release, { nil: undefined })) }),
  { minLength: 2, maxLength: 5 },
);

/** One of two sets of locks that see the same turns. */
class Side {
  readonly #leases = new Map<string, LeaseRef>();

  constructor(
    private readonly store: SqlStore,
    private readonly prefix: string,
    private readonly together: boolean,
  ) {}

  /** What each call answers, with what is different each time left out. */
  async turn({ attempts, releases }: Turn, number: number): Promise<unknown[]> {
    const answers: unknown[] = [];
    const asked = attempts.map((fields, i) => this.#request(i, number, fields));
    if (this.together) {
      const results = await Promise.all(asked.map((request) => this.store.acquire(request)));
      for (const [i, result] of results.entries())
        answers.push(this.#note(asked[i] as AcquireRequest, result));
    } else {
      for (const request of asked) answers.push(this.#note(request, await this.store.acquire(request)));
    }
    for (const [i, options] of releases.entries()) {
      const lease = this.#leases.get(NAMES[i] ?? '');
      if (options !== undefined && lease !== undefined)
        answers.push(await this.store.release(lease, options));
    }
    return answers;
  }

  #request(i: number, number: number, fields: Partial<AcquireRequest>): AcquireRequest {
    const token = `00000000-0000-4000-8000-00000000000${number}`;
    return { name: `${this.prefix}-${NAMES[i]}`, token, ttl: 5 * HOUR, holder: 'host:1:abc', ...fields };
  }

  #note(request: AcquireRequest, result: AcquireResult): unknown {
    if (!result.acquired) {
      const { expiresIn, storeTime, ...rest } = result;
      const hours = [expiresIn, storeTime].map((time) => time && Math.round(time / HOUR));
      return { ...rest, hours };
    }
    const { fencingToken, ...rest } = result;
    this.#leases.set(request.name.slice(this.prefix.length + 1), { ...request, fencingToken });
    return rest;
  }
}

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  const table = uniqueTable('batches');
  let server: DatabaseServer;
  let pool: TestPool;
  let store: SqlStore;

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
    store = pool.store({ table });
    await store.init();
  }, 60_000);

  afterAll(async () => {
    await pool.write(`DROP TABLE IF EXISTS ${table}`);
    await pool.end();
    await server.stop();
  });

  test('attempts of one turn answer what they answer one by one', async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(turns, async (script) => {
        runs += 1;
        const alone = new Side(store, `alone${runs}`, false);
        const together = new Side(store, `together${runs}`, true);
        for (const [number, turn] of script.entries())
          expect(await together.turn(turn, number)).toEqual(await alone.turn(turn, number));
      }),
      parameters(60),
    );
  });
});
