import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import {
  type DatabaseServer,
  provideDatabase,
  type DatabaseProgram,
  LocalDatabase,
  startDatabase,
  type DatabaseSession,
  SESSION_LIMIT,
} from './database-server.js';
import { unpackedProgram, serverUser } from './server-programs.js';
import { programUnderTest } from './servers.js';
import { LOOPBACK, canRun, findOnPath, projectRoot } from './machine.js';

const run = promisify(execFile);

/** How long an empty database may take to be made on a busy machine, ms. */
const PREPARE_LIMIT = 120_000;
const IMAGE = 'postgres:16-alpine';
const SYSTEM_FOLDER = '/usr/lib/postgresql';

interface PostgresPrograms {
  postgres: string;
  initdb: string;
  env: NodeJS.ProcessEnv;
  source: 'local' | 'packages';
}

/**
 * A PostgreSQL for tests that can use any server: the one that `DATABASE_URL` names, a container, a local installation, or
 * the distribution's packages unpacked into `.cache/postgres`. Tests that kill or freeze it use {@link startPostgres}.
 *
 * @throws if none of the ways works; the message lists them
 */
export function providePostgres(): Promise<DatabaseServer> {
  return provideDatabase({
    name: 'PostgreSQL',
    kind: 'PostgreSQL',
    variable: 'DATABASE_URL',
    help: {
      url: 'a server',
      local: `PostgreSQL, with initdb and postgres on the PATH or in ${SYSTEM_FOLDER}`,
    },
    ask,
    open,
    startContainer,
    find: findPostgres,
    start: startPostgres,
  });
}

/**
 * A private PostgreSQL process, with connections without a password.
 *
 * @param more for its environment
 */
export async function startPostgres(
  options: readonly string[] = [],
  more: NodeJS.ProcessEnv = {},
): Promise<LocalDatabase> {
  const { postgres, initdb, env } = await findPostgres();
  const user = await serverUser(['postgres']);
  const program: DatabaseProgram = {
    name: 'PostgreSQL',
    politely: 'SIGINT',
    async prepare(dir) {
      await user.own(dir);
      const args = [
        '-D',
        join(dir, 'data'),
        '-U',
        'postgres',
        '-E',
        'UTF8',
        '--locale=C',
        '--auth=trust',
        '--no-sync',
      ];
      const init = user.as(initdb, args);
      await run(init.command, init.args, { env, cwd: '/', timeout: PREPARE_LIMIT });
    },
    command: (dir, port) => {
      const settings = [`listen_addresses=${LOOPBACK}`, 'unix_socket_directories=', 'fsync=off', ...options];
      const args = [
        '-D',
        join(dir, 'data'),
        '-p',
        String(port),
        ...settings.flatMap((setting) => ['-c', setting]),
      ];
      return { ...user.as(postgres, args), env: { ...env, ...more } };
    },
    url: (port) => `postgres://postgres@${LOOPBACK}:${port}/postgres`,
    ask,
  };
  return startDatabase(program);
}

/**
 * A pool of several connections, as a user makes it. Listens for errors of idle connections, which would otherwise end the
 * process.
 */
export function testPool(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options });
  pool.on('error', () => undefined);
  return pool;
}

let found: Promise<PostgresPrograms> | undefined;

/** The programs of a local installation, else those of the distribution's packages. */
export function findPostgres(): Promise<PostgresPrograms> {
  found ??= find().catch((error: unknown) => {
    found = undefined;
    throw error;
  });
  return found;
}

async function find(): Promise<PostgresPrograms> {
  const named = await programUnderTest('PostgreSQL');
  if (named) {
    const { command, env } = named;
    return { postgres: command, initdb: join(dirname(command), 'initdb'), env, source: 'packages' };
  }
  const onPath = await findOnPath('postgres');
  for (const postgres of [onPath, await newestIn(SYSTEM_FOLDER).catch(() => undefined)]) {
    if (postgres === undefined || !(await canRun(postgres, process.env))) continue;
    const initdb = (await findOnPath('initdb')) ?? join(dirname(postgres), 'initdb');
    return { postgres, initdb, env: process.env, source: 'local' };
  }
  const base = join(projectRoot, '.cache', 'postgres');
  const wanted = {
    name: 'PostgreSQL',
    package: 'postgresql',
    program: (root: string) => newestIn(join(root, SYSTEM_FOLDER)),
  };
  const { command, env } = await unpackedProgram(wanted, base).catch((error: Error) => {
    throw new Error(
      `No postgres and initdb on the PATH or in ${SYSTEM_FOLDER}, and none from the distribution's packages: ${error.message.trim()}`,
      { cause: error },
    );
  });
  return { postgres: command, initdb: join(dirname(command), 'initdb'), env, source: 'packages' };
}

/** The server program of the newest version in a folder that has one for each. */
async function newestIn(folder: string): Promise<string> {
  const versions = (await readdir(folder)).map(Number).filter((version) => version > 0);
  if (versions.length === 0) throw new Error(`there is no version in ${folder}`);
  return join(folder, String(Math.max(...versions)), 'bin', 'postgres');
}

async function ask(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: 2_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function open(url: string): Promise<DatabaseSession> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: SESSION_LIMIT,
    query_timeout: SESSION_LIMIT,
  });
  client.on('error', () => undefined);
  await client.connect();
  return {
    query: (text) => client.query(text),
    id: async () => (await client.query<{ id: number }>('SELECT pg_backend_pid() AS id')).rows[0]?.id,
    end: () => client.end(),
  };
}

async function startContainer(): Promise<DatabaseServer> {
  // Only now: without an engine the import alone costs a second.
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer(IMAGE)
    .withExposedPorts(5432)
    .withEnvironment({ POSTGRES_HOST_AUTH_METHOD: 'trust' })
    // Once while it is set up, and once for good.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .start();
  const url = `postgres://postgres@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
  return { url, source: 'docker', stop: async () => void (await container.stop()) };
}
