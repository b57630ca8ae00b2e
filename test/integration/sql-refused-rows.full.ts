import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockStateError } from '../../lib/base/errors.js';
import { DATABASES } from '../support/database.js';
import { useTable } from './support/sql-table.js';

/* A row that the database refuses, as by a CHECK of the team's own. */
describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  const used = useTable(database, 'refused');

  test.each(['a-bad', 'z-bad'])(
    'a lock that the database refuses (%s) stops no other lock of its moment',
    async (bad) => {
      await used.pool.write(
        `ALTER TABLE ${used.table} ADD CONSTRAINT ${used.table}_c CHECK (name <> '${bad}')`,
      );
      for (let i = 0; i < 2; i++) {
        const results = await Promise.allSettled(
          [bad, 'job-1', 'job-2', 'job-3'].map((name) =>
            used.store.acquire({ name, token: randomUUID(), ttl: 60_000, holder: `host-${i}` }),
          ),
        );
        const [refused, ...others] = results;
        expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(LockStateError) });
        for (const other of others) expect(other).toMatchObject({ value: { acquired: i === 0 } });
      }
    },
  );

  test('a record of a run that the database refuses takes no other of its moment along', async () => {
    const { store, pool, table } = used;
    await store.history.init();
    await pool.write(`ALTER TABLE ${table}_entries ADD CONSTRAINT ${table}_b CHECK (body NOT LIKE '%bad%')`);
    const names = ['a', 'bad', 'c', 'd', 'e'];
    const kept = { count: 5, age: 86_400_000 };
    await Promise.all(
      names.map(async (name) => {
        const lease = { name, token: randomUUID(), ttl: 60_000, holder: 'host', history: true };
        const result = await store.acquire(lease);
        if (!result.acquired) throw new Error(result.reason);
        const record = { kept, duration: 1, error: name };
        await store.release({ ...lease, ...result }, { outcome: 'failed', record });
      }),
    );
    const all = await Promise.all(names.map((name) => store.history.entries({ name, limit: 9 })));
    expect(all.map(({ length }) => length)).toEqual([1, 0, 1, 1, 1]);
  });
});
