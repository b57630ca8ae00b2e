import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { LockStore } from '../../lib/index.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { DATABASES, type TestDatabase } from '../support/database.js';
import { testMysqlPool } from '../support/mysql-server.js';
import { testPool } from '../support/postgres-server.js';
import { useTable } from './support/sql-table.js';

/* A statement that has waited, as for an ALTER TABLE, may be carried out after a later one. */

const HOUR = 3_600_000;
const LATE = 10;

interface LateStore {
  readonly store: LockStore & { init(): Promise<void> };
  end(): Promise<void>;
}

/** A store whose writes are carried out some seconds after they arrived. */
function lateStore({ name }: TestDatabase, url: string, table: string): LateStore {
  if (name === 'PostgreSQL') {
    const pool = testPool(url);
    const arrived = `(statement_timestamp() - interval '${LATE} seconds')`;
    const query = (text: string, values: unknown[]) =>
      pool.query(text.replaceAll('statement_timestamp()', arrived), values);
    return { store: new PostgresLockStore({ query }, { table }), end: () => pool.end() };
  }
  const [pool, late] = [testMysqlPool(url), testMysqlPool(url)];
  late.on('connection', (connection) => void connection.query(`SET timestamp = UNIX_TIMESTAMP() - ${LATE}`));
  const query = (text: string, values: unknown[]) =>
    (text.includes('UPDATE ') ? late : pool).query(text, values);
  const end = async (): Promise<void> => void (await Promise.all([pool.end(), late.end()]));
  return { store: new MysqlLockStore({ query }, { table }), end };
}

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  const used = useTable(database, 'late');

  async function withLate(test: (late: LockStore) => Promise<void>): Promise<void> {
    const { store, end } = lateStore(database, used.url, used.table);
    try {
      await store.init();
      await test(store);
    } finally {
      await end();
    }
  }

  async function take(name: string, ttl: number): Promise<LeaseRef> {
    const request = { name, token: randomUUID(), ttl, holder: 'host' };
    const result = await used.store.acquire(request);
    if (!result.acquired) throw new Error(`refused: ${result.reason}`);
    return { ...request, fencingToken: result.fencingToken };
  }

  const endOf = async (name: string): Promise<number> => {
    const [{ lock_until: until } = {}] = await used.pool.rows(
      `SELECT lock_until FROM ${used.table} WHERE name = ?`,
      [name],
    );
    return new Date(until as Date).getTime();
  };

  test.each([1, 3])(
    'a late renewal (of %d) does not shorten the lease that a later one has prolonged',
    (count) =>
      withLate(async (late) => {
        const leases: LeaseRef[] = [];
        for (let i = 0; i < count; i++) leases.push(await take(`job-${i}`, HOUR + i));
        const renewed = leases.map(() => ({ held: true }));
        expect(await used.store.extend(leases)).toEqual(renewed);
        const ends = await Promise.all(leases.map(({ name }) => endOf(name)));
        expect(await late.extend(leases)).toEqual(renewed);
        expect(await Promise.all(leases.map(({ name }) => endOf(name)))).toEqual(ends);
      }),
  );

  test.each([1, 3])('a grant that is asked for again, late (%d of them), shortens nothing either', (count) =>
    withLate(async (late) => {
      const leases: LeaseRef[] = [];
      for (let i = 0; i < count; i++) leases.push(await take(`job-${i}`, HOUR));
      const ends = await Promise.all(leases.map(({ name }) => endOf(name)));
      const wait = { limit: HOUR, priority: 0, process: 'process' };
      // For longer, as far as it knows.
      const ttl = HOUR + (LATE * 1_000) / 2;
      const again = leases.map((lease) => late.acquire({ ...lease, ttl, wait }));
      for (const result of await Promise.all(again)) expect(result).toMatchObject({ acquired: true });
      expect(await Promise.all(leases.map(({ name }) => endOf(name)))).toEqual(ends);
    }),
  );

  test('an end that no renewal can have set gives way: of a longer ttl, or of a clock that was set back', async () => {
    const lease = await take('job', 3 * HOUR);
    const before = await endOf('job');
    expect(await used.store.extend([{ ...lease, ttl: HOUR }])).toEqual([{ held: true }]);
    const after = await endOf('job');
    expect(before - after).toBeGreaterThan(HOUR);
    const [info] = await used.store.inspect(['job']);
    expect(info?.expiresIn).toBeGreaterThan(HOUR - 60_000);
    expect(info?.expiresIn).toBeLessThanOrEqual(HOUR);
  });
});
