import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { POSTGRES } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';

/* Databases that do not keep every character, or count bytes. */

let server: DatabaseServer;

beforeAll(async () => {
  server = await POSTGRES.provide();
}, 60_000);

afterAll(() => server?.stop());

test.each([
  ['LATIN1', 'naïve', 'задача', /LATIN1.*another name/],
  ['SQL_ASCII', 'задача', 'з'.repeat(128), /256 bytes/],
])(
  'in the encoding %s a name that it cannot keep is told, and stops no other',
  async (encoding, kept, not, problem) => {
    const name = uniqueTable('encoding');
    const own = POSTGRES.pool(server.url, { max: 1 });
    await own.write(
      `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    );
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    const pool = POSTGRES.pool(url.href);
    try {
      const store = pool.store();
      await store.init();
      expect(store.nameProblem(kept)).toBeUndefined();
      expect(store.nameProblem(not)).toMatch(problem);
      const request = (lock: string) => ({ name: lock, token: randomUUID(), ttl: 60_000, holder: 'host' });
      for (const names of [['usual', not, kept], [not]]) {
        const results = await Promise.allSettled(names.map((each) => store.acquire(request(each))));
        expect(results).toMatchObject(
          names.map((each) =>
            each === not
              ? {
                  status: 'rejected',
                  reason: { code: 'SCHEDULER_LOCK_CONFIG', message: expect.stringMatching(problem) },
                }
              : { status: 'fulfilled', value: { acquired: true } },
          ),
        );
      }
      expect((await store.inspect([kept])).map((lock) => lock.name)).toEqual([kept]);
    } finally {
      await pool.end();
      await own.write(`DROP DATABASE ${name}`);
      await own.end();
    }
  },
);
