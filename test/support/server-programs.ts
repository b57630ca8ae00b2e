import { execFile } from 'node:child_process';
import { mkdir, stat, mkdtemp, readdir, readFile, rename, rm, writeFile, chown } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { promisify } from 'node:util';
import { findOnPath, canRun, isAlive } from './machine.js';
import { until } from './until.js';

const run = promisify(execFile);
const MINUTE = 60_000;

/** The program to unpack. */
export interface Wanted {
  /** Its name in messages: `Redis`. */
  readonly name: string;
  /** The package to download, together with its dependencies. */
  readonly package: string;
  /** A release of Debian to take it from, with all that it needs, libc included, instead of the system's. */
  readonly suite?: string;
  /** Gets it into a folder in another way than by packages of a distribution. */
  unpack?(root: string): Promise<void>;
  /** Finds the program in the unpacked folder. */
  program(root: string): Promise<string>;
}

export interface UnpackedProgram {
  command: string;
  /** Names the folders of the libraries that came with it. */
  env: NodeJS.ProcessEnv;
}

/**
 * A program from the packages of the distribution (Debian, Ubuntu, …), downloaded and unpacked into a folder of the
 * project's `.cache/`: no root, nothing on the system changes. Downloads only packages that the system lacks; apt
 * checks the signatures as always. Several processes may call this at once.
 */
export async function unpackedProgram(wanted: Wanted, base: string): Promise<UnpackedProgram> {
  const target = join(base, await systemName());
  const cached = await usable(wanted, target);
  if (cached) return cached;
  for (const tool of wanted.unpack ? [] : ['apt-get', 'dpkg']) {
    if (!(await findOnPath(tool))) throw new Error(`there is no ${tool} here`);
  }
  await mkdir(base, { recursive: true });
  return oneAtATime(`${target}.lock`, async () => {
    const made = await usable(wanted, target);
    if (made) return made;
    process.stderr.write(`No ${wanted.name} found: unpacking ${wanted.package} into ${target}\n`);
    await build(wanted, base, target);
    const built = await usable(wanted, target);
    if (!built) throw new Error(`the ${wanted.name} in ${target} does not run`);
    return built;
  });
}

async function usable(wanted: Wanted, folder: string): Promise<UnpackedProgram | undefined> {
  const command = await wanted.program(folder).catch(() => '');
  if (command === '' || !(await stat(command).catch(() => undefined))) return undefined;
  // The loader of another release is told where the libraries are: this system's own programs must not load them.
  const env = wanted.suite ? process.env : withLibraries(await librariesIn(folder));
  return (await canRun(command, env)) ? { command, env } : undefined;
}

async function build(wanted: Wanted, base: string, target: string): Promise<void> {
  const work = await mkdtemp(join(base, 'unpacking-'));
  try {
    const root = join(work, 'root');
    await mkdir(root, { recursive: true });
    if (wanted.unpack) await wanted.unpack(root);
    else
      for (const file of await download(work, wanted))
        await run('dpkg', ['-x', file, root], { env: process.env });
    await wanted.program(root);
    if (await usable(wanted, target)) return;
    // A rename cannot replace a folder that is not empty, here one that an upgrade of the system has broken.
    await rename(target, join(work, 'broken')).catch(() => undefined);
    await rename(root, target);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Returns the package files. */
async function download(work: string, { package: name, suite }: Wanted): Promise<string[]> {
  const lists = join(work, 'state', 'lists', 'partial');
  const archives = join(work, 'cache', 'archives', 'partial');
  await Promise.all([lists, archives].map((folder) => mkdir(folder, { recursive: true })));
  const options = [
    `Dir::State=${join(work, 'state')}`,
    // What the system has is of no use to a program of another release.
    `Dir::State::status=${suite ? join(work, 'none') : '/var/lib/dpkg/status'}`,
    `Dir::Cache=${join(work, 'cache')}`,
    'Acquire::Languages=none',
    'Acquire::Retries=3',
    // As root, apt would fetch as a user that may not write here.
    'APT::Sandbox::User=root',
    ...(suite
      ? [`Dir::Etc::sourcelist=${join(work, 'sources.list')}`, 'Dir::Etc::sourceparts=/dev/null']
      : []),
  ].flatMap((option) => ['-o', option]);
  if (suite) {
    await writeFile(join(work, 'none'), '');
    const key = '/usr/share/keyrings/debian-archive-keyring.gpg';
    const source = `deb [signed-by=${key}] ${await debian()} ${suite} main\n`;
    await writeFile(join(work, 'sources.list'), source);
  }
  let complaints = '';
  const apt = async (...args: string[]): Promise<string> => {
    const done = run('apt-get', ['-q', ...options, ...args], {
      cwd: work,
      env: { ...process.env, LC_ALL: 'C' },
      timeout: 5 * MINUTE,
      maxBuffer: 16 * 1024 * 1024,
    });
    done.child.stderr?.on('data', (text) => (complaints += String(text)));
    return (await done).stdout;
  };

  try {
    // One unreachable source fails the update. The next step shows whether the others suffice.
    await apt('update').catch(() => undefined);
    const plan = await apt('--simulate', '--no-install-recommends', 'install', name);
    const packages = [...plan.matchAll(/^Inst (\S+) (?:\[\S+\] )?\((\S+)/gm)].map(
      ([, name, version]) => `${name}=${version}`,
    );
    if (packages.length > 0) await apt('download', ...packages);
  } catch (error) {
    // The update succeeds without a network; only its warnings tell why the packages are missing.
    throw new Error(`apt-get failed: ${complaints.trim()}`, { cause: error });
  }
  return (await readdir(work)).filter((name) => name.endsWith('.deb')).map((name) => join(work, name));
}

/** Where this system has its own packages from. */
async function debian(): Promise<string> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)']);
  const uri = /^\S+\/debian\/?$/m.exec(stdout)?.[0];
  if (uri === undefined) throw new Error('this system has its packages from no Debian');
  return uri;
}

async function librariesIn(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  const folders = new Set(files.filter((file) => /\.so(\.|$)/.test(file)).map(dirname));
  return [...folders].map((path) => join(folder, path));
}

function withLibraries(folders: string[]): NodeJS.ProcessEnv {
  const path = [...folders, process.env['LD_LIBRARY_PATH']].filter(Boolean).join(':');
  return path === '' ? process.env : { ...process.env, LD_LIBRARY_PATH: path };
}

/** Unpacked programs fit the release they were packed for: a checkout may be mounted into several systems. */
async function systemName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const field = (name: string): string =>
    new RegExp(`^${name}="?([\\w.]+)`, 'm').exec(release)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`;
}

/**
 * Only saves the other processes the download: as a rename puts the result in place, nothing else depends on this
 * lock. So a lock whose owner died is simply taken over.
 */
async function oneAtATime<T>(lock: string, work: () => Promise<T>): Promise<T> {
  await until(() => tryLock(lock), { timeout: 6 * MINUTE, interval: 50, message: `the lock ${lock}` });
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function tryLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const owner = Number(await readFile(lock, 'utf8').catch(() => ''));
  if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
  return false;
}

/** The user for a server that refuses to run as root. */
export interface ServerUser {
  /** Gives a folder to that user. */
  own(dir: string): Promise<void>;
  /** A command line that runs `command` as that user; its process is the command itself. */
  as(command: string, args: readonly string[]): { command: string; args: string[] };
}

/** The present user, or, for root, the first of these users that exists. */
export async function serverUser(names: readonly string[]): Promise<ServerUser> {
  if (process.getuid?.() !== 0) {
    return { own: async () => undefined, as: (command, args) => ({ command, args: [...args] }) };
  }
  if (!(await findOnPath('setpriv')))
    throw new Error('as root, setpriv (util-linux) is needed to run a server as another user');
  for (const name of [...names, 'nobody']) {
    const ids = await Promise.all(['-u', '-g'].map((option) => run('id', [option, name]))).catch(
      () => undefined,
    );
    const [uid = NaN, gid = NaN] = ids?.map(({ stdout }) => Number(stdout)) ?? [];
    if (!Number.isInteger(uid)) continue;
    return {
      own: (dir) => chown(dir, uid, gid),
      as: (command, args) => ({
        command: 'setpriv',
        args: [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', command, ...args],
      }),
    };
  }
  throw new Error('there is no user to run a server as, as root may not');
}
