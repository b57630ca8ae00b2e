import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import mysql from 'mysql2/promise';
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
const IMAGE = 'mariadb:10.11';
const DATABASE = 'locks';
/** What a MySQL is given: users have names only, and `root` may come from anywhere. */
const FIRST = `CREATE DATABASE ${DATABASE};
CREATE USER root@'%' IDENTIFIED BY '';
GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION;
`;
const SYSTEM_PROGRAMS = ['/usr/sbin/mariadbd', '/usr/libexec/mariadbd', '/usr/local/sbin/mariadbd'];

interface MariadbProgram {
  command: string;
  /** It makes users and rights itself, and has no bootstrap. */
  isMysql?: boolean;
  /** Where its messages and character sets are, if not where it would look. */
  basedir: string | undefined;
  env: NodeJS.ProcessEnv;
  source: 'local' | 'packages';
}

/**
 * A MySQL or MariaDB for tests that can use any server: the one that `MYSQL_URL` names, a container, a local MariaDB, or
 * the distribution's packages unpacked into `.cache/mariadb`. Tests that kill or freeze it use {@link startMariadb}.
 *
 * @throws if none of the ways works; the message lists them
 */
export function provideMysql(): Promise<DatabaseServer> {
  return provideDatabase({
    name: 'MySQL or MariaDB',
    kind: 'MySQL',
    variable: 'MYSQL_URL',
    help: { url: 'a database', local: 'MariaDB, with mariadbd on the PATH or in /usr/sbin' },
    ask,
    open,
    startContainer,
    find: findMariadb,
    start: startMariadb,
  });
}

/**
 * A private MariaDB process, with connections without a password.
 *
 * @param more for its environment
 */
export async function startMariadb(
  options: readonly string[] = [],
  more: NodeJS.ProcessEnv = {},
): Promise<LocalDatabase> {
  const { command, basedir, env, isMysql } = await findMariadb();
  const user = await serverUser(['mysql', 'postgres']);
  const common = (dir: string): string[] => [
    // Has to come first, or the server reads the files of the system.
    '--no-defaults',
    ...(basedir === undefined ? [] : [`--basedir=${basedir}`]),
    `--datadir=${join(dir, 'data')}`,
    `--socket=${join(dir, 'socket')}`,
    `--pid-file=${join(dir, 'pid')}`,
    // Not the folder of the system: at its start, a server removes all temporary tables there as its own. Another server,
    // whose temporary table disappears while it is made, would crash.
    `--tmpdir=${join(dir, 'tmp')}`,
    '--skip-log-bin',
    '--innodb-flush-log-at-trx-commit=2',
    '--innodb-buffer-pool-size=64M',
    ...(isMysql
      ? '--mysqlx=0 --skip-name-resolve --secure-file-priv=NULL --innodb-redo-log-capacity=32M'.split(' ')
      : ['--skip-grant-tables', '--innodb-log-file-size=16M']),
  ];
  const program: DatabaseProgram = {
    name: 'MariaDB',
    politely: 'SIGTERM',
    async prepare(dir) {
      await user.own(dir);
      // Users and rights are left out, so only the files of InnoDB are installed. They are on the disk when this has
      // ended. If the server made them itself, a kill soon after would break them.
      const data = join(dir, 'data');
      const folders = [join(dir, 'tmp'), ...(isMysql ? [] : [data, join(data, DATABASE)])];
      for (const folder of folders) {
        await mkdir(folder);
        await user.own(folder);
      }
      const first = join(dir, 'first.sql');
      await writeFile(first, FIRST);
      const how = isMysql ? ['--initialize-insecure', `--init-file=${first}`] : ['--bootstrap'];
      const make = user.as(command, [...common(dir), ...how]);
      const made = run(make.command, make.args, { env, cwd: '/', timeout: PREPARE_LIMIT });
      made.child.stdin?.end();
      await made;
    },
    command: (dir, port) => {
      const args = [
        ...common(dir),
        `--bind-address=${LOOPBACK}`,
        `--port=${port}`,
        // Otherwise it does not listen, as there are no rights.
        '--skip-networking=0',
        ...options,
      ];
      return { ...user.as(command, args), env: { ...env, ...more } };
    },
    url: (port) => `mysql://root@${LOOPBACK}:${port}/${DATABASE}`,
    ask,
  };
  return startDatabase(program);
}

/**
 * Gives a private MariaDB users and rights, which it does not have from the start. From then on `root` has all of them, and others what
 * they are given.
 */
export async function addRights(server: LocalDatabase): Promise<void> {
  const { basedir = '/usr', isMysql } = await findMariadb();
  if (isMysql) return;
  const tables = ['mysql/mysql', 'mariadb/mariadb']
    .map((name) => join(basedir, `share/${name}_system_tables.sql`))
    .find((path) => existsSync(path));
  if (tables === undefined) throw new Error(`there is no file with the system's tables under ${basedir}`);
  const connection = await mysql.createConnection({ uri: server.url, multipleStatements: true });
  await connection.query('CREATE DATABASE IF NOT EXISTS mysql; USE mysql');
  await connection.query(await readFile(tables, 'utf8'));
  await connection.query(
    "FLUSH PRIVILEGES; CREATE USER root@'%'; GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION",
  );
  await connection.end();
}

/** A pool of several connections, as a user makes it. */
export function testMysqlPool(url: string, options: mysql.PoolOptions = {}): mysql.Pool {
  return mysql.createPool({ uri: url, ...options });
}

let found: Promise<MariadbProgram> | undefined;

/** The program of a local installation, else that of the distribution's packages. */
export function findMariadb(): Promise<MariadbProgram> {
  found ??= find().catch((error: unknown) => {
    found = undefined;
    throw error;
  });
  return found;
}

async function find(): Promise<MariadbProgram> {
  const named = await programUnderTest('MySQL');
  if (named) {
    const { command, env } = named;
    const isMysql = basename(command) === 'mysqld';
    return { command, basedir: join(dirname(command), 'usr'), env, source: 'packages', isMysql };
  }
  for (const command of [await findOnPath('mariadbd'), ...SYSTEM_PROGRAMS]) {
    if (command === undefined || !(await stat(command).catch(() => undefined))) continue;
    if (await canRun(command, process.env)) {
      return { command, basedir: undefined, env: process.env, source: 'local' };
    }
  }
  const base = join(projectRoot, '.cache', 'mariadb');
  const wanted = {
    name: 'MariaDB',
    package: 'mariadb-server-core',
    program: async (root: string) => join(root, 'usr', 'sbin', 'mariadbd'),
  };
  const { command, env } = await unpackedProgram(wanted, base).catch((error: Error) => {
    throw new Error(
      `No mariadbd on the PATH or in /usr/sbin, and none from the distribution's packages: ${error.message.trim()}`,
      { cause: error },
    );
  });
  return { command, basedir: join(command, '..', '..'), env, source: 'packages' };
}

async function ask(uri: string): Promise<void> {
  const connection = await mysql.createConnection({ uri, connectTimeout: 2_000 });
  // The calls reject with the error that ended it.
  connection.on('error', () => undefined);
  try {
    await connection.query({ sql: 'SELECT 1', timeout: 2_000 });
  } finally {
    connection.destroy();
  }
}

/** Whether the server at this URL is a MariaDB: a MySQL lacks some of its modes and limits. */
export async function isMariadb(url: string): Promise<boolean> {
  const session = await open(url);
  const version = JSON.stringify(await session.query('SELECT VERSION()'));
  await session.end();
  return /mariadb/i.test(version);
}

async function open(uri: string): Promise<DatabaseSession> {
  const connection = await mysql.createConnection({ uri, connectTimeout: SESSION_LIMIT });
  connection.on('error', () => undefined);
  const query = async (sql: string): Promise<unknown> =>
    (await connection.query({ sql, timeout: SESSION_LIMIT }))[0];
  return {
    query,
    id: async () => ((await query('SELECT CONNECTION_ID() AS id')) as { id: number }[])[0]?.id,
    end: () => connection.end(),
  };
}

async function startContainer(): Promise<DatabaseServer> {
  // Only now: without an engine the import alone costs a second.
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer(IMAGE)
    .withExposedPorts(3306)
    .withEnvironment({ MARIADB_ALLOW_EMPTY_ROOT_PASSWORD: '1', MARIADB_DATABASE: DATABASE })
    // Once while it is set up, and once for good.
    .withWaitStrategy(Wait.forLogMessage(/ready for connections/, 2))
    .start();
  const url = `mysql://root@${container.getHost()}:${container.getMappedPort(3306)}/${DATABASE}`;
  return { url, source: 'docker', stop: async () => void (await container.stop()) };
}
