import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { DATABASES, statementsOf, type TestPool } from '../support/database.js';
import type { LocalDatabase } from '../support/database-server.js';
import { projectRoot } from '../support/machine.js';
import { addRights } from '../support/mysql-server.js';
import { type Said, shell } from '../support/shell.js';
import { JOB, tell } from './support/shell.js';

/* Who may read some tables only, and tables that somebody has locked: the shell tells the rest, and says what it is without, and why. */

const SUFFIXES = ['', '_entries'] as const;

/** The statements of docs/observe/shell.md for a kind of database. */
function documented(name: string): string[] {
  const page = readFileSync(join(projectRoot, 'docs/observe/shell.md'), 'utf8');
  const [, sql] = new RegExp(`\`\`\`sql\n-- ${name}\n([^]*?)\`\`\``).exec(page) ?? [];
  return statementsOf(sql ?? '');
}

/** Locks a table as no reader can look past. Answers how to unlock it. */
async function lockPostgres(url: string, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return () => client.end();
}

async function lockMysql(url: string, table: string): Promise<() => Promise<void>> {
  const connection = await mysql.createConnection(url);
  await connection.query(`LOCK TABLES ${table} WRITE`);
  return () => connection.end();
}

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (name, database) => {
  const postgres = name === 'PostgreSQL';
  let server: LocalDatabase;
  let admin: TestPool;
  let url: string;

  beforeAll(async () => {
    server = await database.start();
    if (!postgres) await addRights(server);
    admin = database.pool(server.url);
  }, 120_000);
  afterAll(async () => {
    await admin?.end();
    await server?.stop();
  });

  beforeEach(async () => {
    await admin.write('CREATE SCHEMA jobs');
    await admin.write(postgres ? 'CREATE ROLE reader LOGIN' : "CREATE USER 'reader'@'%'");
    await tell(admin.store({ schema: 'jobs' }), 'completed');
    const store = admin.store({ schema: 'jobs' });
    await store.queuedCalls.init?.();
    const queuedCall = { name: JOB, job: JOB, id: 'one', args: '[]', priority: 0, max: 9, redeliver: 0 };
    expect(await store.queuedCalls.enqueue(queuedCall)).toMatchObject({ queued: true });
    await store.close();
    const reader = new URL(server.url);
    reader.username = 'reader';
    reader.password = '';
    // A user without any right cannot be in a database of MySQL.
    if (!postgres) reader.pathname = '/';
    url = reader.href;
  });
  afterEach(async () => {
    await admin.write(`DROP SCHEMA jobs${postgres ? ' CASCADE' : ''}`);
    if (postgres) await admin.write('DROP OWNED BY reader');
    await admin.write(postgres ? 'DROP ROLE reader' : "DROP USER 'reader'@'%'");
  });

  const tables = (suffix: string): string =>
    postgres ? `"jobs"."shedlock${suffix}"` : `\`jobs\`.\`shedlock${suffix}\``;
  const ask = (...argv: string[]): Promise<Said> => shell(url, ...argv, '--schema', 'jobs');
  /** Gives the documented rights, but for those on one table. */
  async function grant(except?: string): Promise<void> {
    const statements = documented(name);
    expect(statements.length).toBeGreaterThanOrEqual(SUFFIXES.length);
    for (const statement of statements)
      if (except === undefined || !new RegExp(`shedlock${except}\\b`).test(statement))
        await admin.write(statement);
  }

  test('a user with the rights of docs/observe/shell.md, which are to read, gets all answers', async () => {
    await grant();
    expect(documented(name).filter((statement) => !/GRANT (SELECT|USAGE) ON/.test(statement))).toEqual([]);
    const status = await ask('status');
    expect(status).toMatchObject({ code: 0, err: '' });
    expect(status.out).toMatch(/RefreshJobs\.refresh +ok .*completed 1\.2 s/);
    const locks = await ask('locks');
    expect(locks).toMatchObject({ code: 0, err: '' });
    expect(locks.out).toMatch(/RefreshJobs\.refresh +free .* 1/);
    const runs = await ask('runs');
    expect(runs).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/completed +1\.2 s/) });
    const why = await ask('why', JOB);
    expect(why).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/, completed after 1\.2 s/) });
    const instances = await ask('instances');
    expect(instances).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/api-1:1:aa +up /) });
  });

  describe.each(['without a right to', 'without', 'while somebody has locked'])('%s', (how) => {
    let unlock: (() => Promise<void>) | undefined;
    afterEach(async () => {
      await unlock?.();
      unlock = undefined;
    });

    async function spoil(suffix: string): Promise<void> {
      await grant(how === 'without a right to' ? suffix : undefined);
      if (how === 'without') await admin.write(`DROP TABLE ${tables(suffix)}`);
      if (how === 'while somebody has locked')
        unlock = await (postgres ? lockPostgres : lockMysql)(server.url, tables(suffix));
    }
    /** Names the table, and no other one. */
    const saysWhy = (said: string, suffix: string): void => {
      // The place.
      const text = said.replace(/^the table .*/, '');
      expect(text).toContain(tables(suffix));
      for (const other of SUFFIXES) if (other !== suffix) expect(text).not.toContain(tables(other));
      expect(text).not.toMatch(/cannot be reached/);
    };

    test('the locks, `status` says of each job that it is unknown, and why, and runs that have ended are told', async () => {
      await spoil('');
      const status = await ask('status');
      expect(status).toMatchObject({ code: 1, err: '' });
      expect(status.out).toMatch(/, 1 instance up, /);
      expect(status.out).toMatch(/RefreshJobs\.refresh +unknown .* completed 1\.2 s /);
      saysWhy(status.out, '');
      const runs = await ask('runs', JOB);
      expect(runs).toMatchObject({ code: 0, out: expect.stringMatching(/completed +1\.2 s/) });
      saysWhy(runs.err, '');
      expect(await ask('instances')).toMatchObject({ code: 0, err: '' });
      const locks = await ask('locks');
      expect(locks).toMatchObject({ code: 3, out: '' });
      saysWhy(locks.err, '');
    });

    test('the entries, `locks` says that queued calls are unknown, the others that they can say nothing, and why; locks are told', async () => {
      await spoil('_entries');
      const locks = await ask('locks');
      expect(locks).toMatchObject({ code: 0, out: expect.stringMatching(/RefreshJobs\.refresh +free /) });
      // Where neither calls are queued nor histories kept there is no such table.
      if (how === 'without') expect(locks.err).toBe('');
      else {
        expect(locks.out).toMatch(/ unknown/);
        saysWhy(locks.err, '_entries');
      }
      for (const command of [['status'], ['runs', JOB], ['instances']]) {
        const said = await ask(...command);
        expect(said).toMatchObject({ code: 3, out: '' });
        saysWhy(said.err, '_entries');
      }
    });
  });
});
