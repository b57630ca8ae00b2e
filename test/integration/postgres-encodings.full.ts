import 'reflect-metadata';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { POSTGRES, type TestPool } from '../support/database.js';
import { Injectable } from '@nestjs/common';
import { SchedulerLock, SchedulerLockInsight, SchedulerLockService } from '../../lib/index.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';

/* Databases that do not keep every character, or count bytes. */

let server: DatabaseServer;

beforeAll(async () => {
  server = await POSTGRES.provide();
}, 60_000);

afterAll(() => server?.stop());

/** A pool to a database of its own, with this encoding. */
async function inDatabase(encoding: string, use: (pool: TestPool) => Promise<void>): Promise<void> {
  const name = uniqueTable('encoding');
  const own = POSTGRES.pool(server.url, { max: 1 });
  await own.write(
    `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  );
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const pool = POSTGRES.pool(url.href);
  try {
    await use(pool);
  } finally {
    await closeApps();
    await pool.end();
    await own.write(`DROP DATABASE ${name}`);
    await own.end();
  }
}

test.each([
  ['LATIN1', 'naive', 'задача', /LATIN1.*another name/],
  ['SQL_ASCII', 'naive', 'з'.repeat(128), /SQL_ASCII.*another name/],
])(
  'in the encoding %s a name that it cannot keep is told, and stops no other',
  async (encoding, kept, not, problem) => {
    await inDatabase(encoding, async (pool) => {
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
    });
  },
);

@Injectable()
class Letters {
  readonly sent: string[] = [];

  @SchedulerLock({ name: 'letters', onHeld: 'queue', queue: { key: (text: string) => text } })
  async send(text: string): Promise<void> {
    this.sent.push(text);
    throw new Error(`no stamp for ${text}`);
  }
}

test('in LATIN1 the records of runs and queued calls keep every character', async () => {
  const text = 'naïve задача 🔒';
  await inDatabase('LATIN1', async (pool) => {
    const app = await startApp([Letters], { store: pool.store(), instanceId: 'büro-задача' });
    const [locks, insight, letters] = [
      app.get(SchedulerLockService),
      app.get(SchedulerLockInsight),
      app.get(Letters),
    ];
    // At one moment: their records share a statement.
    const failing = locks.run('failing', { history: true, job: 'задача' }, () =>
      Promise.reject(new Error(text)),
    );
    const good = locks.run('good', { history: true }, () => undefined);
    await Promise.allSettled([failing, good]);
    let free!: () => void;
    const holding = locks.run('letters', () => new Promise<void>((resolve) => (free = resolve)));
    await until(() => free !== undefined);
    await letters.send(text);
    free();
    await holding;
    await until(() => letters.sent.length > 0);
    expect(letters.sent).toEqual([text]);
    const errorOf = async (lock: string) => (await insight.runs({ lock })).map(({ error }) => error);
    expect(await errorOf('good')).toEqual([undefined]);
    expect(await errorOf('failing')).toEqual([`Error: ${text}`]);
    await until(async () => (await errorOf('letters')).includes(`Error: no stamp for ${text}`));
  });
});
