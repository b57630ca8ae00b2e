import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { DATABASES } from '../../support/database.js';
import { freePort, LOOPBACK } from '../../support/machine.js';
import { providePostgres } from '../../support/postgres-server.js';
import { assertTwoSessions, type DatabaseSession } from '../../support/database-server.js';

// A PostgreSQL that is compiled to WebAssembly takes long to begin on a busy machine.
jest.setTimeout(300_000);

const environment = { ...process.env };

afterEach(() => {
  for (const name of ['DATABASE_URL', 'MYSQL_URL']) {
    if (environment[name] === undefined) delete process.env[name];
    else process.env[name] = environment[name];
  }
});

const VARIABLES = { PostgreSQL: 'DATABASE_URL', MySQL: 'MYSQL_URL' } as const;

describe.each(DATABASES.map((database) => [database.name, database] as const))('%s', (name, database) => {
  const variable = VARIABLES[name as keyof typeof VARIABLES];

  test(`${variable} comes first, and its server is left alone`, async () => {
    const own = await database.start();
    process.env[variable] = own.url;
    const server = await database.provide();
    expect(server).toMatchObject({ source: 'url', url: own.url });
    await server.stop();
    const pool = database.pool(own.url);
    await expect(pool.rows('SELECT 1 AS one')).resolves.toMatchObject([{ one: 1 }]);
    await pool.end();
    await own.stop();
  });

  test(`a ${variable} that leads nowhere is an error, without its password`, async () => {
    process.env[variable] = `${name === 'MySQL' ? 'mysql' : 'postgres'}://user:secret@127.0.0.1:1/locks`;
    const provided = database.provide();
    await expect(provided).rejects.toThrow(`that ${variable} names does not answer: `);
    await expect(provided).rejects.not.toThrow(/secret/);
  });
});

test('a PostgreSQL that has one session for all connections is refused: it would let tests of concurrency pass', async () => {
  const db = await PGlite.create();
  const port = await freePort();
  const server = new PGLiteSocketServer({ db, host: LOOPBACK, port, maxConnections: 50 });
  await server.start();
  try {
    process.env['DATABASE_URL'] = `postgres://postgres@${LOOPBACK}:${port}/postgres?sslmode=disable`;
    await expect(providePostgres()).rejects.toThrow(
      /^The PostgreSQL that DATABASE_URL names does not serve two connections at the same time: .* fail without it\.$/,
    );
  } finally {
    await server.stop();
    await db.close();
  }
});

test('a server that lets a second connection wait for the end of a transaction is refused, and all is closed', async () => {
  let open = 0;
  let waiting = false;
  const session = async (): Promise<DatabaseSession> => {
    const id = ++open;
    let mine = false;
    return {
      query: async () => void (mine = waiting = true),
      id: async () => {
        if (waiting && !mine) throw new Error('Query read timeout');
        return id;
      },
      end: async () => void (open -= 1),
    };
  };
  await expect(assertTwoSessions('It', session)).rejects.toThrow(
    /^It does not serve two connections at the same time: Query read timeout\./,
  );
  expect(open).toBe(0);
});
