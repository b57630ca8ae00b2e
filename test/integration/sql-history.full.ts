import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import type { Beat, HistoryEntry, KnownJob, Miss, RunRecord } from '../../lib/contract/history-store.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { DATABASES, type SqlStore, type TestPool, withoutGrants } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { until } from '../support/until.js';

const TICK = 1_760_000_000_000;
const kept = { count: 5, age: 86_400_000 };
const record: RunRecord = { kept, duration: 12 };
/** As the library keeps them by default: what is too much is looked for now and then. */
const usual: RunRecord = { ...record, kept: { ...kept, count: 100 } };
const JOB = 'Grüße 🔒 \' " \\';
/** What no column of PostgreSQL holds, nor UTF-8. */
const ODD = `${JOB} \u0000 \ud800`;

type Granted = AcquireResult & { acquired: true };

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (kind, database) => {
  const postgres = kind === 'PostgreSQL';
  let server: DatabaseServer;
  let pool: TestPool;
  let statements = 0;
  const tables = new Set<string>();

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url, { onStatement: () => (statements += 1) });
  }, 60_000);

  afterAll(async () => {
    for (const table of tables)
      for (const suffix of ['', '_entries']) await pool.write(`DROP TABLE IF EXISTS ${table}${suffix}`);
    await pool.end();
    await server?.stop();
  });

  const newTable = (): string => {
    const table = uniqueTable('history');
    tables.add(table);
    return table;
  };

  async function opened(options: { table?: string; migrate?: boolean } = {}) {
    const { table = newTable(), migrate } = options;
    const store = pool.store({ table, ...(migrate === undefined ? {} : { migrate }) });
    await store.init();
    return { table, store, problem: await store.history.init() };
  }

  async function take(store: SqlStore, fields: Partial<AcquireRequest> = {}): Promise<LeaseRef & Granted> {
    const request = {
      name: 'job',
      token: randomUUID(),
      ttl: 60_000,
      holder: 'host',
      history: true,
      ...fields,
    };
    // An interval has to pass.
    const result = await until(async () => {
      const answer = await store.acquire(request);
      return answer.acquired && answer;
    });
    return { ...request, ...result };
  }

  const expire = (table: string): Promise<number> =>
    pool.write(`UPDATE ${table} SET lock_until = '2000-01-01'`);
  const entries = (store: SqlStore, name = 'job', limit = 10): Promise<HistoryEntry[]> =>
    store.history.entries({ name, limit });

  test('a release keeps how its run went, once, whatever its texts hold', async () => {
    const { store } = await opened();
    const name = `${'x'.repeat(150)}ß🔒`;
    const lease = await take(store, { name, job: JOB, holder: 'hóst', tick: TICK });
    const full = { ...record, error: ODD, traceId: 'abc' };
    const end = { outcome: 'failed', record: full } as const;
    expect(await store.release(lease, end)).toEqual({ released: true });
    // Sent again, as its answer was lost.
    expect(await store.release(lease, end)).toEqual({ released: false, reason: 'ended' });
    const [entry, ...others] = await entries(store, name);
    expect(others).toEqual([]);
    expect(entry).toEqual({
      type: 'run',
      lock: name,
      job: JOB,
      instance: 'hóst',
      tick: TICK,
      attempt: 1,
      outcome: 'failed',
      duration: 12,
      error: ODD,
      traceId: 'abc',
      fencingToken: lease.fencingToken,
      at: expect.any(Number),
    });
    expect(Math.abs((entry?.at ?? 0) - lease.fencingToken / 1_000)).toBeLessThan(5_000);
  });

  test('a release is one statement, and its record another one', async () => {
    const { store } = await opened();
    await store.release(await take(store), { record: usual });
    await store.close();
    for (const [start, options] of [
      [{ job: 'job', tick: TICK }, { record: usual }],
      [{ job: 'job', tick: TICK + 1 }, {}],
      [{}, { record: usual }],
      [{}, {}],
    ] as const) {
      const lease = await take(store, start);
      const before = statements;
      expect(await store.release(lease, options)).toEqual({ released: true });
      await store.close();
      expect(statements - before).toBe('record' in options ? 2 : 1);
    }
    expect(await entries(store)).toHaveLength(3);
  });

  test('a grant with a history is as many statements as one without', async () => {
    const { store } = await opened();
    for (const fields of [{}, { job: 'a', tick: TICK }]) {
      const counts: number[] = [];
      for (const [i, history] of [false, true, false, true].entries()) {
        const before = statements;
        const start = 'tick' in fields ? { ...fields, tick: TICK + i } : fields;
        const lease = await take(store, { ...start, history });
        counts.push(statements - before);
        await store.release(lease);
      }
      // The first one of all makes the row.
      expect(counts[3]).toBe(counts[2]);
    }
  });

  test('nothing is kept of a lease under which nothing ran', async () => {
    const { store } = await opened();
    await store.release(await take(store), { outcome: 'abandoned', record });
    expect(await entries(store)).toEqual([]);
  });

  test('the end of a run whose lease was lost is kept, over its interruption, which takes no place of it', async () => {
    const { table, store } = await opened();
    const lost = await take(store, { job: 'j', tick: TICK, holder: 'a' });
    await expire(table);
    expect(await store.inspect(['job'])).toMatchObject([{ state: 'free', interrupted: true, job: 'j' }]);
    const next = await take(store, { job: 'j', tick: TICK, rerun: 1, holder: 'b' });
    const { fencingToken } = lost;
    const interrupted = { fencingToken, holder: 'a', job: 'j', tick: TICK, attempt: 1 };
    expect(next.interrupted).toEqual(interrupted);
    await store.history.interrupted({ name: 'job', ...interrupted, kept });
    expect(await entries(store)).toMatchObject([{ fencingToken, outcome: 'interrupted', instance: 'a' }]);
    expect(await store.release(lost, { outcome: 'completed', record })).toMatchObject({ reason: 'taken' });
    expect(await entries(store)).toMatchObject([{ fencingToken, outcome: 'completed', duration: 12 }]);
    await store.history.interrupted({ name: 'job', ...interrupted, kept });
    // Nor does another end.
    await store.release(lost, { outcome: 'failed', record });
    expect(await entries(store)).toMatchObject([{ fencingToken, outcome: 'completed' }]);
  });

  test('a lease that was released is no interruption, nor is one of ShedLock, nor one that is asked for again', async () => {
    const { table, store } = await opened();
    const lease = await take(store);
    expect(lease).not.toHaveProperty('interrupted');
    const again = await store.acquire({ ...lease, history: true });
    expect(again).not.toHaveProperty('interrupted');
    await store.release(lease, { outcome: 'aborted' });
    const next = await take(store);
    expect(next).not.toHaveProperty('interrupted');
    await pool.write(`UPDATE ${table} SET locked_by = 'shedlock', lock_until = '2000-01-01'`);
    expect(await take(store)).not.toHaveProperty('interrupted');
    await store.release(next);
    expect(await store.inspect()).not.toContainEqual(expect.objectContaining({ interrupted: true }));
  });

  test('a grant tells of the lease before also if this instance was granted the last one, and where another one was', async () => {
    const { table, store } = await opened();
    const other = pool.store({ table });
    for (const fields of [{}, { job: 'a', tick: TICK }, { job: 'b', interval: 1 }]) {
      await store.release(await take(store, fields));
      const at = 'tick' in fields ? [TICK + 1, TICK + 2, TICK + 3] : [];
      const start = (i: number) => ({ ...fields, ...(at[i] === undefined ? {} : { tick: at[i] }) });
      const mine = await take(store, start(0));
      expect(mine.interrupted).toBeUndefined();
      await expire(table);
      const second = await take(store, start(1));
      expect(second.interrupted).toMatchObject({ fencingToken: mine.fencingToken, holder: 'host' });
      await store.release(second);
      await until(async () => {
        const foreign = await other.acquire({ ...second, token: randomUUID(), holder: 'other', ...start(2) });
        return foreign.acquired;
      });
      await expire(table);
      const last = { ...start(2), ...(at[2] === undefined ? {} : { tick: at[2] + 1 }) };
      expect((await take(store, last)).interrupted).toMatchObject({ holder: 'other' });
      await expire(table);
      await store.release(await take(store, { name: 'job' }));
    }
  });

  test('a call without a history hears nothing of an interruption', async () => {
    const { table, store } = await opened();
    await take(store);
    await expire(table);
    expect(await take(store, { history: false })).not.toHaveProperty('interrupted');
  });

  test('entries tell the newest runs, as many as are asked for, however they ended', async () => {
    const { store } = await opened();
    const failed = await take(store);
    await store.release(failed, { outcome: 'failed', record });
    const completed: number[] = [];
    for (let i = 0; i < 4; i++) {
      const lease = await take(store);
      completed.unshift(lease.fencingToken);
      await store.release(lease, { record });
    }
    const tokens = async (limit: number) =>
      (await entries(store, 'job', limit)).map((entry) => 'fencingToken' in entry && entry.fencingToken);
    expect(await tokens(3)).toEqual(completed.slice(0, 3));
    expect(await tokens(5)).toEqual([...completed, failed.fencingToken]);
    expect(await entries(store, 'another')).toEqual([]);
  });

  test('a tick is missed if no run of it or of a newer one began', async () => {
    const { table, store } = await opened();
    const other = pool.store({ table });
    const miss: Miss = {
      name: 'job',
      job: JOB,
      instance: 'a',
      tick: TICK,
      reason: 'not-fired',
      count: 1,
      kept,
    };
    const none = { missed: false };
    const lease = await take(store, { job: JOB, tick: TICK });
    expect(await store.history.miss(miss)).toEqual(none);
    // A run goes on.
    expect(await store.history.miss({ ...miss, tick: TICK + 1 })).toEqual(none);
    await store.release(lease);
    expect(await store.history.miss({ ...miss, tick: TICK - 1 })).toEqual(none);
    expect(await entries(store)).toEqual([]);
    const late = { ...miss, tick: TICK + 1 };
    const told = await Promise.all(
      ['a', 'b', 'c', 'd'].map((instance, i) =>
        (i % 2 === 0 ? store : other).history.miss({ ...late, instance, holder: 'h' }),
      ),
    );
    expect(told).toEqual(Array(4).fill({ missed: true, tick: TICK + 1 }));
    expect(await store.history.miss(late)).toEqual({ missed: true, tick: TICK + 1 });
    const found = await entries(store);
    expect(found).toHaveLength(4);
    expect(found).toContainEqual({
      type: 'miss',
      lock: 'job',
      job: JOB,
      tick: TICK + 1,
      instance: 'b',
      reason: 'not-fired',
      count: 1,
      holder: 'h',
      at: expect.any(Number),
    });
  });

  test('an interval is missed when its grace has passed', async () => {
    const { store } = await opened();
    await store.release(await take(store, { job: 'i', interval: 1 }));
    const [{ jobs: [{ due = 0 } = {}] = [] } = {}] = await store.inspect(['job']);
    const miss = { name: 'job', job: 'i', instance: 'a', tick: 0, reason: 'not-fired', count: 1, kept };
    expect(await store.history.miss({ ...miss, grace: 60_000 })).toEqual({ missed: false });
    const result = await until(async () => {
      const told = await store.history.miss({ ...miss, grace: 0 });
      return told.missed && told;
    });
    expect(result).toEqual({ missed: true, tick: due });
  });

  test('instances tell of themselves, and of a list of jobs once', async () => {
    const { table, store } = await opened();
    const jobs: KnownJob[] = [
      { job: ODD, kind: 'cron', schedule: '* * * * *', enabled: true, overdue: 60_000 },
    ];
    const beat: Beat = {
      instance: ODD,
      startedAt: 1,
      every: 30_000,
      version: ODD,
      clockOffset: -3,
      leads: ['x'],
      catalogue: 'digest',
      left: false,
    };
    expect(await store.history.beat(beat)).toEqual({ time: expect.any(Number), known: false });
    expect(await store.history.beat({ ...beat, jobs })).toMatchObject({ known: true });
    // What the first beat has begun to delete is gone.
    await store.close();
    const before = statements;
    expect(await store.history.beat({ ...beat, instance: 'b', left: true })).toMatchObject({ known: true });
    expect(statements - before).toBe(2);
    const { catalogue: _catalogue, ...told } = beat;
    const times = { seenAt: expect.any(Number), time: expect.any(Number) };
    const instances = await store.history.instances();
    expect(instances).toHaveLength(2);
    expect(instances).toContainEqual({ ...told, jobs, ...times });
    expect(instances).toContainEqual({ ...told, instance: 'b', left: true, jobs, ...times });
    const [{ seenAt = 0, time = 0 } = {}] = instances;
    expect(time - seenAt).toBeGreaterThanOrEqual(0);
    // One that is gone for long, and its list, go with the next beat of an instance that has just started.
    await pool.write(`UPDATE ${table}_entries SET noted_at = 1, expires_at = 1`);
    const fresh = pool.store({ table });
    await fresh.history.beat({ ...beat, instance: 'c', catalogue: 'other', jobs });
    await until(async () => (await pool.rows(`SELECT id FROM ${table}_entries`)).length === 2);
    expect(await fresh.history.instances()).toMatchObject([{ instance: 'c', jobs }]);
  });

  test('what is too much, or too old, goes with what is written', async () => {
    const { table, store } = await opened();
    const few = { ...record, kept: { ...kept, count: 2 } };
    const tokens: number[] = [];
    for (let i = 0; i < 4; i++) {
      const lease = await take(store, { name: 'spaced out' });
      tokens.unshift(lease.fencingToken);
      await store.release(lease, { record: few });
      await entries(store, 'spaced out');
    }
    expect(await entries(store, 'spaced out')).toMatchObject(
      tokens.slice(0, 2).map((fencingToken) => ({ fencingToken })),
    );
    const old = await take(store);
    await store.release(old, { outcome: 'failed', record: { ...record, kept: { count: 5, age: -1 } } });
    // One that is over its age is not told any more, and is deleted later.
    expect(await entries(store)).toEqual([]);
    const rows = (): Promise<unknown[]> => pool.rows(`SELECT id FROM ${table}_entries`);
    expect(await rows()).toHaveLength(3);
    await pool.write(`UPDATE ${table}_entries SET expires_at = 1 WHERE name = 'job'`);
    // An instance begins with it.
    const fresh = pool.store({ table });
    await fresh.release(await take(fresh, { name: 'other' }), { record });
    await fresh.close();
    expect(await rows()).toHaveLength(3);
    expect(await entries(store, 'spaced out')).toHaveLength(2);
  });

  test('ten instances that start at once make one table', async () => {
    const table = newTable();
    const stores = Array.from({ length: 10 }, () => pool.store({ table }));
    await Promise.all(stores.map((store) => store.init()));
    expect(await Promise.all(stores.map((store) => store.history.init()))).toEqual(Array(10).fill(undefined));
  });

  test('with migrate: false, a missing table costs no lock, and the start hears which SQL to run', async () => {
    const { table } = await opened();
    await pool.write(`DROP TABLE ${table}_entries`);
    const { store, problem = '' } = await opened({ table, migrate: false });
    expect(problem).toMatch(
      /_entries.? cannot be used .* neither histories nor queued calls are kept\. .* run this as a user who may:\n/s,
    );
    expect(await store.release(await take(store), { record })).toEqual({ released: true });
    await expect(entries(store)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', refused: true });
    for (const statement of withoutGrants(problem.split('who may:\n')[1] ?? '')) await pool.write(statement);
    expect(await entries(store)).toEqual([]);
    expect(await store.release(await take(store), { record })).toEqual({ released: true });
    expect(await entries(store)).toHaveLength(1);
  });

  test('ENTRIES_SCHEMA makes the table that histories need, and can be run again', async () => {
    const schema = uniqueTable('schema');
    await pool.write(`CREATE SCHEMA ${schema}`);
    const there = database.pool(database.at(server.url, schema));
    try {
      await there.store().init();
      for (let i = 0; i < 2; i++)
        for (const statement of database.entriesSchema.split(';\n').filter(Boolean))
          await there.write(statement);
      expect(await there.store({ migrate: false }).history.init()).toBeUndefined();
    } finally {
      await there.end();
      await pool.write(`DROP SCHEMA ${schema} ${postgres ? 'CASCADE' : ''}`);
    }
  });

  test('a table that is dropped while the application runs costs no lock', async () => {
    const { table, store } = await opened();
    const lease = await take(store);
    await pool.write(`DROP TABLE ${table}_entries`);
    expect(await store.release(lease, { outcome: 'failed', record })).toEqual({ released: true });
    const next = await take(store);
    expect(await store.release(next, { record })).toEqual({ released: true });
    // The next write makes it anew as soon as that is known.
    await until(async () => {
      await store.release(await take(store), { record });
      const kept = await entries(store);
      return kept.length > 0;
    });
  });

  test('a user without the rights to write histories takes and releases locks', async () => {
    const { table } = await opened();
    const theirs = await withoutRights(table);
    try {
      await theirs.store.init();
      // A release before anybody has looked.
      const lease = await take(theirs.store);
      expect(await theirs.store.release(lease, { record })).toEqual({ released: true });
      const problem = await theirs.store.history.init();
      expect(problem).toMatch(
        /_entries.? cannot be used .*(permission|command) denied.*GRANT SELECT, INSERT, UPDATE, DELETE/s,
      );
      const next = await take(theirs.store);
      expect(await theirs.store.release(next, { record })).toEqual({ released: true });
      const interrupted = { ...next, kept };
      await expect(theirs.store.history.interrupted(interrupted)).rejects.toMatchObject({ refused: true });
      // Who may read them can read them. On MySQL this user may not.
      const read = await entries(theirs.store).catch((error: unknown) => error);
      expect(read).toEqual(
        postgres ? [] : expect.objectContaining({ code: 'STORE_UNAVAILABLE', refused: true }),
      );
    } finally {
      await theirs.close();
    }
  });

  /** The store of a user who may not write histories. The MariaDB of the tests knows no rights. */
  async function withoutRights(table: string): Promise<{ store: SqlStore; close(): Promise<void> }> {
    if (!postgres) {
      const query = async (text: string, values: unknown[]) => {
        if (text.includes('_entries')) throw Object.assign(new Error('command denied'), { errno: 1142 });
        const answer = await pool.rows(text, values);
        return answer;
      };
      return { store: new MysqlLockStore({ query }, { table }), close: async () => undefined };
    }
    const role = `r${randomUUID().slice(0, 8)}`;
    await pool.write(`CREATE ROLE ${role}`);
    await pool.write(`GRANT SELECT, INSERT, UPDATE ON ${table} TO ${role}`);
    await pool.write(`GRANT SELECT ON ${table}_entries TO ${role}`);
    const theirs = database.pool(server.url, { session: [`SET ROLE ${role}`] });
    return {
      store: theirs.store({ table }),
      async close() {
        await theirs.end();
        await pool.write(`DROP OWNED BY ${role}`);
        await pool.write(`DROP ROLE ${role}`);
      },
    };
  }

  test('a queued call that has ended keeps its run, while the lease goes on', async () => {
    const { store } = await opened();
    await store.queuedCalls.init?.();
    const lease = await take(store, { job: 'j' });
    const { fencingToken } = lease;
    expect(await store.queuedCalls.next(lease, { outcome: 'failed', record, takes: [] })).toEqual({
      held: true,
      dead: [],
    });
    expect(await entries(store)).toMatchObject([{ fencingToken, outcome: 'failed', job: 'j' }]);
  });

  test('records are kept within a second of their release, and those that are left with close()', async () => {
    const { table, store } = await opened();
    const rows = (): Promise<unknown[]> => pool.rows(`SELECT id FROM ${table}_entries`);
    await store.release(await take(store), { record: usual });
    const began = performance.now();
    await until(async () => (await rows()).length === 1);
    expect(performance.now() - began).toBeLessThan(5_000);
    // What an instance begins with is done.
    await store.close();
    const before = statements;
    for (let i = 0; i < 3; i++) await store.release(await take(store), { record: usual });
    await store.close();
    expect(await rows()).toHaveLength(4);
    expect(statements - before).toBeLessThanOrEqual(10);
  });
});
