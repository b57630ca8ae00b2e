import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { LockStore } from '../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { provideMysql, testMysqlPool } from '../support/mysql-server.js';
import { providePostgres, testPool } from '../support/postgres-server.js';

interface Pool {
  query(text: string, values: unknown[]): Promise<unknown>;
  end(): Promise<void>;
}

interface Counted {
  readonly name: string;
  provide(): Promise<DatabaseServer>;
  connect(url: string): Pool;
  store(client: Pick<Pool, 'query'>, table: string): LockStore & { init(): Promise<void> };
}

const COUNTED: readonly Counted[] = [
  {
    name: 'PostgreSQL',
    provide: providePostgres,
    connect: (url) => testPool(url),
    store: (client, table) => new PostgresLockStore(client, { table }),
  },
  {
    name: 'MySQL',
    provide: provideMysql,
    connect: (url) => testMysqlPool(url),
    store: (client, table) => new MysqlLockStore(client, { table }),
  },
];

const TICK = 1_760_000_000_000;

/** The calls of one instance, and how many statements each took. */
class Instance {
  #statements = 0;
  readonly store: LockStore & { init(): Promise<void> };

  constructor(database: Counted, pool: Pool, table: string, answer: (result: unknown) => unknown) {
    const query = async (text: string, values: unknown[]): Promise<unknown> => {
      this.#statements += 1;
      return answer(await pool.query(text, values));
    };
    this.store = database.store({ query }, table);
  }

  async count<T>(call: () => Promise<T>): Promise<{ result: T; statements: number }> {
    this.#statements = 0;
    const result = await call();
    return { result, statements: this.#statements };
  }

  request(fields: Partial<AcquireRequest> = {}): AcquireRequest {
    return { name: 'job', token: randomUUID(), ttl: 60_000, holder: 'host', ...fields };
  }

  acquire(fields?: Partial<AcquireRequest>): Promise<{ result: AcquireResult; statements: number }> {
    return this.count(() => this.store.acquire(this.request(fields)));
  }

  /** A lease, whatever it costs. */
  async lease(fields?: Partial<AcquireRequest>): Promise<LeaseRef> {
    const request = this.request(fields);
    const result = await this.store.acquire(request);
    if (!result.acquired) throw new Error(`refused: ${result.reason}`);
    return { ...request, fencingToken: result.fencingToken };
  }

  release(lease: LeaseRef, outcome: 'completed' | 'aborted' = 'completed') {
    return this.count(() => this.store.release(lease, { outcome }));
  }
}

const granted = (statements: number) => ({ statements, result: expect.objectContaining({ acquired: true }) });
const refused = (reason: string, statements: number) => ({
  statements,
  result: expect.objectContaining({ reason }),
});

describe.each(COUNTED.map((database) => [database.name, database] as const))('on %s', (name, database) => {
  const mysql = name === 'MySQL';
  let asks = false;
  let server: DatabaseServer;
  let pool: Pool;
  let one: Instance;
  let two: Instance;
  const tables: string[] = [];

  const instances = async (
    answer: (result: unknown) => unknown = (result) => result,
  ): Promise<Instance[]> => {
    const table = uniqueTable('statements');
    tables.push(table);
    const made = [1, 2].map(() => new Instance(database, pool, table, answer));
    for (const { store } of made) await store.init();
    return made;
  };

  beforeAll(async () => {
    server = await database.provide();
    pool = database.connect(server.url);
    asks = mysql && !/mariadb/i.test(JSON.stringify(await pool.query('SELECT VERSION()', [])));
  }, 60_000);

  beforeEach(async () => {
    const made = await instances();
    [one, two] = made as [Instance, Instance];
  });

  afterAll(async () => {
    for (const table of tables) await pool.query(`DROP TABLE IF EXISTS ${table}`, []);
    await pool.end();
    await server.stop();
  });

  test('a lease and its release are one statement each, the first lease of a name a look besides', async () => {
    // Without a row, MySQL is asked for the time; and one that is no MariaDB, whether somebody else is making the row.
    expect(await one.acquire({ name: 'another' })).toEqual(granted(2 + Number(mysql) + Number(asks)));
    await one.release(await one.lease());
    for (let i = 0; i < 3; i++) {
      const request = one.request();
      const { result, statements } = await one.count(() => one.store.acquire(request));
      expect({ result, statements }).toEqual(granted(1));
      const lease = { ...request, fencingToken: result.acquired ? result.fencingToken : 0 };
      expect(await one.release(lease)).toEqual({ statements: 1, result: { released: true } });
    }
  });

  test('a refusal is one statement, however often it is asked for, as a standby does', async () => {
    const lease = await one.lease();
    for (let i = 0; i < 4; i++) expect(await two.acquire()).toEqual(refused('held', 1));
    expect(await one.acquire()).toEqual(refused('held', 1));
    await one.release(lease);
    expect(await two.acquire()).toEqual(granted(2));
  });

  test('a tick is one statement where it is refused, and for who ran the last one', async () => {
    const job = { job: 'A.run', schedule: '* * * * *', rerun: 1 };
    await one.release(await one.lease({ ...job, tick: TICK }));
    expect(await two.acquire({ ...job, tick: TICK })).toEqual(refused('already-ran', 1));
    const request = one.request({ ...job, tick: TICK + 1 });
    const { result, statements } = await one.count(() => one.store.acquire(request));
    expect({ result, statements }).toEqual(granted(1));
    const lease = { ...request, fencingToken: result.acquired ? result.fencingToken : 0 };
    expect(await two.acquire({ ...job, tick: TICK + 1 })).toEqual(refused('held', 1));
    expect(await one.release(lease, 'aborted')).toEqual({ statements: 1, result: { released: true } });
    // A run that is repeated, and one from another schedule: what the row says goes into what is written.
    const again = two.request({ ...job, tick: TICK + 1 });
    const repeated = await two.count(() => two.store.acquire(again));
    expect(repeated).toEqual(granted(2));
    const { fencingToken = 0 } = repeated.result as { fencingToken?: number };
    await two.store.release({ ...again, fencingToken });
    expect(await two.acquire({ ...job, tick: TICK + 2, schedule: '0 * * * *' })).toEqual(granted(1));
  });

  const requests = (instance: Instance, jobs: number, fields: Partial<AcquireRequest> = {}) =>
    Array.from({ length: jobs }, (_, i) =>
      instance.request({ name: `job-${i}`, job: `A.run${i}`, tick: TICK, schedule: '0 * * * *', ...fields }),
    );
  const volley = (instance: Instance, asked: readonly AcquireRequest[]) =>
    instance.count(() => Promise.all(asked.map((request) => instance.store.acquire(request))));
  const leases = (asked: readonly AcquireRequest[], results: readonly AcquireResult[]): LeaseRef[] =>
    results.map((result, i) => {
      if (!result.acquired) throw new Error(`refused: ${result.reason}`);
      return { ...(asked[i] as AcquireRequest), fencingToken: result.fencingToken };
    });
  const started = { acquired: false, tick: TICK };

  test('refused attempts of one turn are one statement for up to 250 of them', async () => {
    const asked = requests(one, 251);
    leases(asked, (await volley(one, asked)).result);
    const held = {
      ...started,
      reason: 'held',
      holder: 'host',
      expiresIn: expect.any(Number),
      finished: false,
    };
    expect(await volley(two, requests(two, 250))).toEqual({
      statements: 1,
      result: Array.from({ length: 250 }, () => held),
    });
    expect(await volley(two, requests(two, 251, { tick: TICK - 1 }))).toMatchObject({ statements: 2 });
  });

  test('so are those of jobs that have run; whatever may run is one more for up to 25 of them', async () => {
    const asked = requests(one, 4);
    const [first, second, third] = leases(asked, (await volley(one, asked)).result) as [
      LeaseRef,
      LeaseRef,
      LeaseRef,
    ];
    await one.release(first);
    await one.release(second, 'aborted');
    await one.store.release(third, { outcome: 'abandoned' });
    const { result, statements } = await volley(two, requests(two, 4, { rerun: 1 }));
    expect(result).toEqual([
      { ...started, reason: 'already-ran', finished: true },
      { acquired: true, fencingToken: expect.any(Number), attempt: 2 },
      { acquired: true, fencingToken: expect.any(Number), attempt: 1 },
      { ...started, reason: 'held', holder: 'host', expiresIn: expect.any(Number), finished: false },
    ]);
    expect(statements).toBe(2);
  });

  test('attempts whose look gets no answer were certainly not carried out; a write may have been', async () => {
    let cut = false;
    const lost = Object.assign(new Error('connection lost'), mysql ? { errno: 2013 } : { code: '08006' });
    const [instance] = (await instances((result) => (cut ? Promise.reject(lost) : result))) as [Instance];
    await instance.release(await instance.lease());
    cut = true;
    const asked = requests(instance, 3).map((request) => instance.store.acquire(request));
    for (const result of await Promise.allSettled(asked)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { outcome: 'not-applied' } });
    }
    // Who had the lock last begins with the write.
    await expect(instance.acquire()).rejects.toMatchObject({ outcome: 'unknown' });
  });

  test('an interval is one statement where it is refused, and always a look before it starts', async () => {
    const job = { job: 'A.run', interval: 1 };
    await one.release(await one.lease(job));
    expect(await two.acquire({ ...job, interval: 3_600_000 })).toEqual(refused('already-ran', 1));
    // The interval passes on the clock of the database.
    await pool.query(mysql ? 'SELECT SLEEP(0.01)' : 'SELECT pg_sleep(0.01)', []);
    expect(await one.acquire(job)).toEqual(granted(2));
  });

  test('all renewals are one statement, and a look if some are lost; on MySQL another one tells which', async () => {
    const leases: LeaseRef[] = [];
    for (let i = 0; i < 20; i++) leases.push(await one.lease({ name: `job-${i}`, ttl: 60_000 + (i % 3) }));
    expect(await one.count(() => one.store.extend(leases))).toEqual({
      statements: 1,
      result: leases.map(() => ({ held: true })),
    });
    const lost = { ...leases[3], token: randomUUID() } as LeaseRef;
    const { result, statements } = await one.count(() => one.store.extend([...leases.slice(0, 3), lost]));
    expect(statements).toBe(mysql ? 3 : 2);
    expect(result.map(({ held }) => held)).toEqual([true, true, true, false]);
  });

  test('a release that finds nothing is told why by a look', async () => {
    const by = await one.lease();
    await one.release(by);
    const ended = { statements: 1, result: { released: false, reason: 'ended' } };
    expect(await one.release(by)).toEqual(ended);
    const ofJob = await one.lease({ job: 'A.run', tick: TICK });
    await one.release(ofJob);
    expect(await one.release(ofJob)).toEqual(ended);
    const elsewhere = await one.lease();
    await two.release(elsewhere);
    expect(await one.release(elsewhere)).toEqual({ ...ended, statements: 2 });
  });

  const CLIENTS: [what: string, answer: (result: { rows: unknown[]; rowCount: unknown }) => unknown][] = [
    ['tells what pg tells', (result) => result],
    ['tells no number of rows, as an object-relational mapper', ({ rows }) => rows],
    ['answers rows and their number, as another one does', ({ rows, rowCount }) => [rows, rowCount]],
    ['counts the rows that it answers', ({ rows }) => ({ rows, rowCount: rows.length })],
    [
      'counts no rows of a write',
      ({ rows, rowCount }) => ({ rows, rowCount: rows.length > 0 ? rowCount : null }),
    ],
  ];
  if (!mysql) {
    test.each(CLIENTS)('a client that %s is told the truth of each release', async (_what, answer) => {
      const [mapped, other] = await instances((result) =>
        answer(result as { rows: unknown[]; rowCount: unknown }),
      );
      if (mapped === undefined || other === undefined) throw new Error('no instance');
      // Also of the first one, which another instance has given back: nothing is known of the client then.
      const ended = await mapped.lease();
      await other.release(ended);
      const late = { statements: 2, result: { released: false, reason: 'ended' } };
      expect(await mapped.release(ended)).toEqual(late);
      for (let i = 0; i < 3; i++) {
        const lease = await mapped.lease();
        expect(await mapped.release(lease)).toEqual({ statements: 1, result: { released: true } });
        expect(await mapped.release(lease)).toEqual({ ...late, statements: 1 });
        const taken = await mapped.lease();
        expect(await mapped.release(lease)).toMatchObject({ result: { released: false, reason: 'taken' } });
        await mapped.release(taken);
      }
    });
  }
});
