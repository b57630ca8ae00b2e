import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { selfSigned } from '../faults/support/certificate.js';
import { DATABASES, POSTGRES, type TestPool } from '../support/database.js';
import type { DatabaseServer } from '../support/database-server.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { freePort, projectRoot } from '../support/machine.js';
import { runProgram } from '../support/program.js';
import { type Said, shell } from '../support/shell.js';
import { BEAT, JOB, KEPT, KNOWN, MISS, tell } from './support/shell.js';

const PASSWORD = 'geheim#1';

describe('on Redis', () => {
  let server: LocalRedis;
  let admin: Redis;
  let url: string;

  beforeAll(async () => {
    server = await startRedis();
    const open = new Redis(server.url);
    await open.config('SET', 'requirepass', PASSWORD);
    open.disconnect();
    url = `redis://:${encodeURIComponent(PASSWORD)}@${server.host}:${server.port}`;
    admin = new Redis(url);
    await tell(new RedisLockStore(url));
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  test('each command tells what the instances have told', async () => {
    const status = await shell(url, 'status');
    expect(status).toMatchObject({ code: 1, err: '' });
    expect(status.out).toMatch(new RegExp(`^Redis ${server.host}:${server.port}, 1 instance up, `));
    expect(status.out).toMatch(/RefreshJobs\.refresh +failing +0 0 1 1 \* .* failed 1\.2 s .*no mail server/);
    expect((await shell(url, 'runs', JOB)).out).toMatch(
      /RefreshJobs\.refresh +failed +1\.2 s .*api-1:1:aa +no mail/,
    );
    expect((await shell(url, 'why', JOB)).out).toMatch(
      / ran on api-1:1:aa: .*, failed after 1\.2 s \(no mail/,
    );
    expect((await shell(url, 'instances')).out).toMatch(/api-1:1:aa +up /);
    expect((await shell(url, 'locks')).out).toMatch(/RefreshJobs\.refresh +free /);
  });

  test('--key-prefix leads to the locks of another application', async () => {
    const { code, out } = await shell(url, 'status', '--key-prefix', 'other');
    expect(code).toBe(1);
    expect(out).toContain('No instance has been seen');
  });

  test('--key leads to the locks of a ShedLock fleet, and shows the hosts that hold them', async () => {
    const value = 'ADDED:2026-11-25T03:00:00.123Z@spring-7f9c:0b7de2d4-7c38-4f4b-9d5c-0d3ab7d6b7a1';
    await admin.set('job-lock:prod:nightly report', value, 'PX', 60_000);
    const { code, out, err } = await shell(url, 'locks', '--key', 'job-lock:prod:*');
    await admin.del('job-lock:prod:nightly report');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^nightly report +held .* spring-7f9c$/m);
    expect(out).not.toContain('RefreshJobs.refresh');
  });

  test('records that cannot be read are left out, and counted', async () => {
    const torn = '1e15 0 1e18 "v" - ';
    const put = async (key: string, kind: string, id: string): Promise<void> => {
      const field = JSON.stringify(JSON.stringify([kind, id]));
      await admin.hset(`${key}:history`, field, `${torn}"${kind}" - {`);
      await admin.hincrby(`${key}:history`, `count "${kind}"`, 1);
      await admin.zadd(`${key}:places`, 1e18, `"${kind}" - ${field}`);
    };
    const [runs = ''] = (await admin.keys('*:lock}:state:history')).map((key) =>
      key.replace(/:history$/, ''),
    );
    await put(runs, 'wrong', 'torn');
    await put('{scheduler:instances}:state', 'instance', 'torn');
    try {
      await expectUnreadable((...argv) => shell(url, ...argv), { instances: 1, runs: 1 });
    } finally {
      for (const [key, kind] of [
        [runs, 'wrong'],
        ['{scheduler:instances}:state', 'instance'],
      ] as const) {
        const field = JSON.stringify(JSON.stringify([kind, 'torn']));
        await admin.hdel(`${key}:history`, field);
        await admin.hincrby(`${key}:history`, `count "${kind}"`, -1);
        await admin.zrem(`${key}:places`, `"${kind}" - ${field}`);
      }
    }
  });

  test('a user who may only read is enough', async () => {
    // The list of docs/observe/shell.md.
    const rights = '+info +eval +evalsha +time +get +mget +pttl +hget +hgetall +zrange +scan'.split(' ');
    const keys = ['~scheduler:*', '~{scheduler:*'];
    await admin.call('ACL', 'SETUSER', 'reader', 'on', '>secret', ...keys, '-@all', ...rights);
    const before = await admin.dbsize();
    for (const command of ['status', 'runs', 'instances', 'locks'])
      expect(await shell(url.replace(/:[^/]*@/, 'reader:secret@'), command)).toMatchObject({ err: '' });
    expect(await admin.dbsize()).toBe(before);
  });

  test.each([
    [
      'a wrong password',
      (): string => `redis://:falsch@${server.host}:${server.port}`,
      /Redis rejected the credentials/,
    ],
    ['no password', (): string => server.url, /Redis asks for a password and was given none/],
  ])('%s exits with 2, and shows no secret', async (_what, at, message) => {
    const { code, out, err } = await shell(at(), 'status');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
    expect(err).not.toMatch(/falsch|geheim/);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
  });

  test('a server that is away exits with 3', async () => {
    const away = `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:1`;
    const { code, out, err } = await shell(away, 'status');
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(err).toMatch(/^Redis cannot be reached: .*connect ECONNREFUSED 127.0.0.1:1\.\n$/);
  });
});

test('NODE_EXTRA_CA_CERTS is enough for a server whose certificate nobody knows; without it, TLS fails', async () => {
  const certificate = await selfSigned();
  const port = await freePort();
  const { certFile, keyFile } = certificate;
  const tls = `--tls-port ${port} --tls-cert-file ${certFile} --tls-key-file ${keyFile} --tls-auth-clients no`;
  const server = await startRedis({ args: tls.split(' ') });
  const locks = async (more: object): Promise<unknown> => {
    const env = { ...process.env, SCHEDULER_LOCK_URL: `rediss://${server.host}:${port}`, ...more };
    const program = join(projectRoot, 'dist/show/cli/main.js');
    return (await runProgram(process.execPath, [program, 'locks'], { env })).code;
  };
  try {
    expect(await locks({ NODE_EXTRA_CA_CERTS: certFile })).toBe(0);
    expect(await locks({})).toBe(3);
  } finally {
    await server.stop();
    await certificate.remove();
  }
});

test('on PostgreSQL a server that cannot do TLS is no outage: the URL is wrong', async () => {
  const server = await POSTGRES.provide();
  try {
    const { code, err } = await shell(`${server.url}?sslmode=require`, 'locks');
    expect(err).toMatch(/does not support SSL/);
    expect(code).toBe(2);
  } finally {
    await server.stop();
  }
});

/** How the servers deny a login: the length of the message, a code, and why. */
const MYSQL_DENIAL = Buffer.from('\x16\0\0\0\xff\x15\x04#28000Access denied', 'latin1');
const POSTGRES_DENIAL = Buffer.from('E\0\0\0\x22SFATAL\0C28P01\0MAccess denied\0\0', 'latin1');

describe.each(['postgres', 'mysql'])('a server at a %s:// URL', (scheme) => {
  /** Runs a command on a server that answers nothing, or this. Answers what it has said, and how many connections it has made. */
  async function ask(answer?: Buffer): Promise<Said & { connections: number }> {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined));
      if (answer === undefined) return;
      // The server of MySQL speaks first.
      if (scheme === 'mysql') socket.end(answer);
      else socket.once('data', () => socket.end(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const said = await shell(`${scheme}://nobody:falsch@127.0.0.1:${port}/jobs`, 'locks');
      return { ...said, connections: sockets.length };
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  test('that accepts connections and says nothing is away, after one try', async () => {
    const { code, err, connections } = await ask();
    expect({ code, connections }).toEqual({ code: 3, connections: 1 });
    expect(err).toMatch(/^The database (cannot be reached|did not answer): .*\n$/);
  });

  test('that denies the login is asked once: more tries may lock the account', async () => {
    const denial = scheme === 'mysql' ? MYSQL_DENIAL : POSTGRES_DENIAL;
    expect(await ask(denial)).toMatchObject({
      err: 'The database refused: Access denied.\n',
      code: 2,
      connections: 1,
    });
  });
});

/** What is left is told as before, and how much is left out. */
async function expectUnreadable(
  tell: (...argv: string[]) => Promise<Said>,
  unreadable: { instances: number; runs: number },
): Promise<void> {
  const count = unreadable.instances + unreadable.runs;
  const status = await tell('status');
  expect(status.out).toMatch(/RefreshJobs\.refresh +failing /);
  expect(status.out).toContain(`${count} records cannot be read, and are left out`);
  expect(JSON.parse((await tell('status', '--json')).out)).toMatchObject({ unreadable, up: 1 });
  const runs = await tell('runs', JOB);
  expect(runs).toMatchObject({ code: 0, out: expect.stringMatching(/failed +1\.2 s/) });
  expect(runs.err).toMatch(/cannot be read, and (is|are) left out/);
  const instances = await tell('instances');
  expect(instances).toMatchObject({ code: 0, out: expect.stringMatching(/api-1:1:aa +up/) });
  expect(instances.err).toMatch(/cannot be read, and (is|are) left out/);
}

describe.each(DATABASES)('on $name', (database) => {
  let server: DatabaseServer;
  let pool: TestPool;
  const table = `shell_${process.pid}`;

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
  });
  afterAll(async () => {
    for (const each of ['', '_entries']) await pool.rows(`DROP TABLE IF EXISTS ${table}${each}`);
    await pool.end();
    await server.stop();
  });

  test('a table that is missing exits with 2, and is not created; one that is there tells what instances have told', async () => {
    for (let tries = 0; tries < 2; tries++) {
      const { code, err } = await shell(server.url, 'locks', '--table', table);
      expect(code).toBe(2);
      expect(err).toContain(table);
    }
    await tell(pool.store({ table }));
    const status = await shell(server.url, 'status', '--table', table);
    expect(status).toMatchObject({ code: 1, err: '' });
    expect(status.out).toMatch(/RefreshJobs\.refresh +failing .*no mail server/);
    const locks = await shell(server.url, 'locks', '--table', table);
    expect(locks).toMatchObject({ code: 0, err: '' });
    expect(locks.out).toMatch(/RefreshJobs\.refresh +free /);
  });

  test('records that cannot be read are left out, and counted', async () => {
    const torn = `${table}_torn`;
    const own = ['', '_entries'].map((each) => `${torn}${each}`);
    try {
      await tell(pool.store({ table: torn }));
      const copy = async (id: string, body: string, of: string): Promise<void> => {
        const columns = 'name, kind, place, noted_at, expires_at';
        const values = [id, id, 'v', body, of];
        const mark = database.name === 'MySQL' ? [', mark', ", 'm'"] : ['', ''];
        await pool.write(
          `INSERT INTO ${torn}_entries (digest, id, version, body${mark[0]}, ${columns})
SELECT ?, ?, ?, ?${mark[1]}, ${columns} FROM ${torn}_entries WHERE kind = ? LIMIT 1`,
          values,
        );
      };
      await copy('torn', '{"instance":', 'instance');
      await copy('empty', 'null', 'instance');
      await copy('a list of nobody', '[{', 'jobs');
      await copy('torn run', '{"job"', 'wrong');
      await expectUnreadable((...argv) => shell(server.url, ...argv, '--table', torn), {
        instances: 2,
        runs: 1,
      });
    } finally {
      for (const each of own) await pool.rows(`DROP TABLE IF EXISTS ${each}`);
    }
  });

  test('a list of jobs that cannot be read counts while an instance has it, until that one tells it anew', async () => {
    const torn = `${table}_list`;
    const own = ['', '_entries'].map((each) => `${torn}${each}`);
    const left = async (): Promise<unknown> =>
      JSON.parse((await shell(server.url, 'status', '--json', '--table', torn)).out);
    const store = pool.store({ table: torn });
    try {
      await tell(store);
      await pool.write(`UPDATE ${torn}_entries SET body = '[{' WHERE kind = 'jobs'`);
      expect(await left()).toMatchObject({ unreadable: { instances: 1 }, jobs: [] });
      await store.history.beat({ ...BEAT, jobs: [{ job: JOB, lock: JOB, ...KNOWN }] });
      expect(await left()).toMatchObject({ unreadable: { instances: 0 }, jobs: [{ job: JOB }] });
    } finally {
      for (const each of own) await pool.rows(`DROP TABLE IF EXISTS ${each}`);
    }
  });

  test.each([
    ['body', 'TEXT'],
    // Of an index.
    ['kind', 'VARCHAR(10)'],
  ])(
    'a table of histories without %s leaves the locks: the rest is unknown, with why',
    async (lost, type) => {
      const broken = `${table}_broken`;
      const tell = (...argv: string[]): Promise<Said> => shell(server.url, ...argv, '--table', broken);
      const store = pool.store({ table: broken });
      const beat = { ...BEAT, jobs: [{ job: JOB, lock: JOB, ...KNOWN }] };
      const refused = { refused: true, message: expect.stringMatching(`_entries.*${lost}`) };
      try {
        await store.init();
        await store.history.init();
        await pool.rows(`ALTER TABLE ${broken}_entries DROP COLUMN ${lost}`);
        await expect(store.history.miss({ ...MISS, kept: KEPT })).rejects.toMatchObject(refused);
        for (let beats = 0; beats < 2; beats++)
          await expect(store.history.beat(beat)).rejects.toMatchObject(refused);
        const status = await tell('status');
        expect(status).toMatchObject({ code: 3, out: '' });
        expect(status.err).toMatch(
          new RegExp(
            `_entries. cannot be used .*column .${lost}.* add that, or drop the table .*run what .npx nestjs-scheduler-lock sql --store (postgres|mysql) .*--table \\w+_broken. prints`,
          ),
        );
        for (const command of [['runs', JOB], ['instances']])
          expect(await tell(...command)).toMatchObject({
            code: 3,
            err: expect.stringMatching(`_entries.*${lost}`),
          });
        expect(await tell('locks')).toMatchObject({ code: 0, err: '' });
        await pool.rows(`ALTER TABLE ${broken}_entries ADD COLUMN ${lost} ${type}`);
        expect(await store.history.beat(beat)).toMatchObject({ known: true });
      } finally {
        await store.close();
        for (const each of ['', '_entries']) await pool.rows(`DROP TABLE IF EXISTS ${broken}${each}`);
      }
    },
  );

  test('a wrong password exits with 2, or 3, and shows no secret', async () => {
    const wrong = new URL(server.url);
    wrong.username = 'nobody';
    wrong.password = 'falsch';
    const { code, err } = await shell(wrong.href, 'locks');
    expect([2, 3]).toContain(code);
    expect(err).not.toContain('falsch');
  });
});

test('on PostgreSQL a user who may write no history is enough, as docs/observe/shell.md says', async () => {
  const server = await POSTGRES.provide();
  const pool = POSTGRES.pool(server.url);
  const [table, reader] = [`shell_read_${process.pid}`, `reader_${process.pid}`];
  await tell(pool.store({ table }));
  await pool.rows(`CREATE ROLE ${reader} LOGIN PASSWORD 'secret'`);
  await pool.rows(`GRANT SELECT ON ${table}, ${table}_entries TO ${reader}`);
  await pool.rows(`GRANT INSERT, UPDATE ON ${table} TO ${reader}`);
  try {
    const url = new URL(server.url);
    [url.username, url.password] = [reader, 'secret'];
    for (const command of ['locks', 'status', 'runs', 'instances'])
      expect(await shell(url.href, command, '--table', table)).toMatchObject({ err: '' });
  } finally {
    await pool.rows(`DROP OWNED BY ${reader}`);
    await pool.rows(`DROP ROLE ${reader}`);
    for (const each of ['', '_entries']) await pool.rows(`DROP TABLE IF EXISTS ${table}${each}`);
    await pool.end();
    await server.stop();
  }
});
