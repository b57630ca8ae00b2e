import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { MYSQL, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';

/* A table by ShedLock's DDL, made on a server with explicit_defaults_for_timestamp=OFF: that gives its times ON UPDATE current_timestamp. */

const HOUR = 3_600_000;

let server: DatabaseServer;
let pool: TestPool;

beforeAll(async () => {
  server = await MYSQL.provide();
  pool = MYSQL.pool(server.url);
}, 60_000);

afterAll(async () => {
  await pool?.end();
  await server?.stop();
});

test.each(['lock_until', 'locked_at'])(
  'a write leaves the times of a lease alone, also if %s changes by itself with each update of its row',
  async (own) => {
    const table = uniqueTable('timestamps');
    const other = own === 'lock_until' ? 'locked_at' : 'lock_until';
    const byItself = 'NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3)';
    await pool.write(`CREATE TABLE ${table} (name VARCHAR(64) NOT NULL PRIMARY KEY, ${own} TIMESTAMP(3) ${byItself},
  ${other} TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL)`);
    try {
      const [one, two] = [pool.store({ table }), pool.store({ table })];
      await Promise.all([one.init(), two.init()]);
      const times = (): Promise<unknown> => pool.rows(`SELECT lock_until, locked_at FROM ${table}`);
      const request = { name: 'lock', token: randomUUID(), ttl: HOUR, holder: 'one' };
      const grant = await one.acquire(request);
      expect(grant).toMatchObject({ acquired: true });
      const before = await times();
      const waiting = {
        ...request,
        token: randomUUID(),
        holder: 'two',
        wait: { limit: HOUR, priority: 0, process: 'two' },
      };
      for (let i = 0; i < 3; i++)
        expect(await two.acquire(waiting)).toMatchObject({ acquired: false, reason: 'held' });
      expect(await times()).toEqual(before);
      const { fencingToken = 0 } = grant as { fencingToken?: number };
      expect(await one.extend([{ ...request, fencingToken }])).toMatchObject([{ held: true }]);
      const [info] = await one.inspect(['lock']);
      expect(info?.expiresIn).toBeGreaterThan(HOUR / 2);
      const [[{ locked_at: since }]] = [before as [{ locked_at: unknown }]];
      expect(((await times()) as [{ locked_at: unknown }])[0].locked_at).toEqual(since);
    } finally {
      await pool.write(`DROP TABLE IF EXISTS ${table}`);
    }
  },
);
