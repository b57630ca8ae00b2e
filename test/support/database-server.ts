import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
// Not the globals, which a test may have replaced by fake ones.
import { clearTimeout, setTimeout } from 'node:timers';
import { dockerAnswers, freePort, LOOPBACK } from './machine.js';
import { guard } from './child.js';
import { isInRun, madeOnce } from './once.js';
import { type Kind, serverUnderTest } from './servers.js';
import { until } from './until.js';

/** A database to test against. Others may use it too: use only tables of your own, see {@link uniqueTable}. */
export interface DatabaseServer {
  url: string;
  source: 'url' | 'docker' | 'local' | 'packages';
  /** Ends what was started; a server named by a variable is left alone. */
  stop(): Promise<void>;
}

/** The ways to one kind of database. */
export interface DatabaseWays {
  /** Its name in messages. */
  readonly name: string;
  readonly kind: Kind | 'MongoDB';
  /** The environment variable that names a server. */
  readonly variable: string;
  /** For a developer who has none of them: what the server must allow, or what to install. */
  readonly help: { readonly url: string; readonly local: string };
  /** Resolves if the server at this URL answers. */
  ask(url: string): Promise<void>;
  open(url: string): Promise<DatabaseSession>;
  startContainer(): Promise<DatabaseServer>;
  /** Whether there are programs to start. */
  find(): Promise<{ readonly source: 'local' | 'packages' }>;
  start(): Promise<LocalDatabase>;
}

/**
 * A database for tests that can use any server. In this order: the one that `TEST_SERVER` or its variable names, a container if a Docker
 * engine answers, a local installation, the distribution's packages unpacked into `.cache`.
 *
 * @throws if none of the ways works; the message lists them
 * @throws if the server that a variable names does not serve two connections at the same time
 */
export async function provideDatabase(ways: DatabaseWays): Promise<DatabaseServer> {
  assertNotFast(ways.name);
  const isNamed = serverUnderTest()?.kind === ways.kind;
  const url = process.env[ways.variable];
  if (url && !isNamed) {
    await ways.ask(url).catch((error: Error) => {
      // Without the URL, which may hold a password.
      throw new Error(`The ${ways.name} that ${ways.variable} names does not answer: ${error.message}`, {
        cause: error,
      });
    });
    // Only for this server: those that are started here are known to serve two sessions.
    await assertTwoSessions(`The ${ways.name} that ${ways.variable} names`, () => ways.open(url));
    return { url, source: 'url', stop: async () => undefined };
  }
  let docker = 'no engine answered';
  if (!isNamed && (await dockerAnswers())) {
    try {
      return await ways.startContainer();
    } catch (error) {
      docker = (error as Error).message;
    }
  }
  const { source } = await ways.find().catch((error: unknown) => {
    throw new Error(howToGetOne(ways, docker, (error as Error).message), { cause: error });
  });
  const server = await ways.start();
  return { url: server.url, source, stop: () => server.stop() };
}

/** A table name that no other test has, for servers that are shared. */
export function uniqueTable(label = 'test'): string {
  return `${label}_${process.pid}_${randomBytes(6).toString('hex')}`;
}

function howToGetOne({ name, variable, help }: DatabaseWays, docker: string, local: string): string {
  return [
    `A ${name} is needed. Any one of these will do:`,
    `  - set ${variable} to ${help.url} where tables may be made (those of the tests are removed)`,
    `  - start a Docker engine (${docker})`,
    `  - install ${help.local}`,
    '  - on Debian, Ubuntu and the like: let apt-get reach its sources, and nothing need be installed',
    local,
  ].join('\n');
}

/**
 * The fast tier needs Node, npm and a Redis.
 *
 * @throws in the fast tier
 */
function assertNotFast(name: string): void {
  if (process.env['TIER'] !== 'fast') return;
  throw new Error(`${name} in the fast tier, which needs no database: rename this file to *.full.ts`);
}

const READY_TIMEOUT = 30_000;
/** How long a server may take to end when asked to; then it is killed. */
const STOP_TIMEOUT = 10_000;
const PORT_TRIES = 20;

/** How a kind of database server is run. */
export interface DatabaseProgram {
  readonly name: string;
  /** Fills a folder with an empty database. */
  prepare(dir: string): Promise<void>;
  command(dir: string, port: number): { command: string; args: string[]; env: NodeJS.ProcessEnv };
  url(port: number): string;
  /** Resolves if the server at this URL answers. */
  ask(url: string): Promise<void>;
  /** The signal that ends it politely, without waiting for clients. */
  readonly politely: NodeJS.Signals;
}

/** A private database server on the loopback interface, with its data on disk. Ends with this process at the latest. */
export class LocalDatabase {
  readonly host = LOOPBACK;
  readonly url: string;
  #child: ChildProcess | undefined;

  /** @internal see {@link startDatabase} */
  constructor(
    private readonly program: DatabaseProgram,
    readonly port: number,
    readonly dir: string,
  ) {
    this.url = program.url(port);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get running(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Ends the process, politely first, and removes its data. */
  async stop(): Promise<void> {
    await this.#end(this.program.politely);
    await rm(this.dir, { recursive: true, force: true });
  }

  /** Ends the process the hard way; `restart()` starts it again, with its data. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Ends the process politely; `restart()` starts it again, with its data. */
  async stopPolitely(): Promise<void> {
    await this.#end(this.program.politely);
  }

  /** Ends the process if it runs, and starts it again on the same port with the same data. */
  async restart(): Promise<void> {
    await this.#end(this.program.politely);
    await this.launch();
  }

  /** Freezes the server, including its processes for single connections: connections stay open, but get no answer. */
  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  async log(): Promise<string> {
    return readFile(join(this.dir, 'log'), 'utf8').catch(() => '');
  }

  /** @internal Starts the process and waits until it answers. */
  async launch(): Promise<void> {
    const { command, args, env } = this.program.command(this.dir, this.port);
    const log = openSync(join(this.dir, 'log'), 'w');
    const child = spawn(command, args, {
      // In a group of its own: an interrupt from the terminal reaches the tests, which then end the server.
      detached: true,
      env,
      cwd: '/',
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    let failure: Error | undefined;
    child.on('error', (error) => (failure = error));
    guard(child, this.dir);
    child.unref();
    const ended = new Promise<true>((resolve) => child.once('exit', () => resolve(true)));
    await until(
      async () =>
        failure !== undefined || (await Promise.race([this.program.ask(this.url).then(() => true), ended])),
      { timeout: READY_TIMEOUT, interval: 20, message: `${this.program.name} on port ${this.port}` },
    ).catch(async (error: Error) => {
      await this.#end('SIGKILL');
      throw new Error(`${error.message}; its log:\n${await this.log()}`, { cause: error });
    });
    if (failure) throw failure;
    if (!this.running) {
      throw new Error(
        `${this.program.name} on port ${this.port} ended at once; its log:\n${await this.log()}`,
      );
    }
  }

  #signal(signal: NodeJS.Signals): void {
    if (!this.running) return;
    // PostgreSQL has a process for each connection, in a group of its own.
    for (const pid of [this.pid, ...childrenOf(this.pid)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has just ended.
      }
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || !this.running) return;
    const exited = once(child, 'exit');
    child.ref();
    if (signal === 'SIGKILL') this.#signal(signal);
    else child.kill(signal);
    // A frozen process handles a polite signal only after it goes on.
    this.#signal('SIGCONT');
    const limit = setTimeout(() => this.#signal('SIGKILL'), STOP_TIMEOUT);
    await exited;
    clearTimeout(limit);
  }
}

/** Starts a private database server on a free loopback port; resolves when it answers. */
export async function startDatabase(program: DatabaseProgram): Promise<LocalDatabase> {
  assertNotFast(program.name);
  for (let attempt = 1; ; attempt++) {
    const dir = await mkdtemp(join(tmpdir(), 'scheduler-lock-database-'));
    const server = new LocalDatabase(program, await freePort(), dir);
    try {
      await fill(dir, program);
      await server.launch();
      return server;
    } catch (error) {
      const taken = /address already in use|could not bind|bind on tcp/i.test(await server.log());
      await server.stop();
      if (!taken || attempt >= PORT_TRIES) throw error;
    }
  }
}

/** Fills a folder with an empty database: in a run of tests one is made, which takes seconds, and the others are copies. */
async function fill(dir: string, program: DatabaseProgram): Promise<void> {
  if (!isInRun()) return program.prepare(dir);
  const made = await madeOnce(`an empty ${program.name}`, async (folder) => {
    // Its user may not enter the folder of the run.
    const first = await mkdtemp(join(tmpdir(), 'scheduler-lock-database-'));
    await program.prepare(first);
    await copyFolder(first, folder);
    await rm(first, { recursive: true, force: true });
  });
  await copyFolder(made, dir);
}

/** With owners and rights. */
async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-RPp', `${from}/.`, to]);
}

function childrenOf(parent: number): number[] {
  if (!existsSync('/proc/self/stat')) {
    // `pgrep` fails if there are none.
    const { stdout } = spawnSync('pgrep', ['-P', String(parent)], { encoding: 'utf8' });
    return (stdout ?? '').split('\n').filter(Boolean).map(Number);
  }
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1] === String(parent);
    } catch {
      return false;
    }
  });
}

/** How long a session may take to open, and to answer, ms: far more than a busy server needs. */
export const SESSION_LIMIT = 15_000;

/** One connection to a database, which gives up after {@link SESSION_LIMIT}. */
export interface DatabaseSession {
  query(text: string): Promise<unknown>;
  /** Differs from the id of every other session that is open at the same time. */
  id(): Promise<unknown>;
  end(): Promise<void>;
}

/**
 * Tests of concurrency prove nothing on a server with a single session: some would pass without testing anything, others
 * would wait for ever. So the server has to show that a second session is a different one, and gets an answer while a
 * transaction of the first one is open.
 *
 * @param what the name of the server in the message
 * @throws if it does not show that
 */
export async function assertTwoSessions(what: string, open: () => Promise<DatabaseSession>): Promise<void> {
  const sessions: DatabaseSession[] = [];
  const connect = async (): Promise<[DatabaseSession, unknown]> => {
    const session = await open();
    sessions.push(session);
    return [session, await session.id()];
  };
  try {
    const [[first, one], [second, two]] = [await connect(), await connect()];
    if (one === two) throw new Error('they were one and the same session');
    await first.query('START TRANSACTION');
    await first.id();
    await second.id();
  } catch (error) {
    throw new Error(
      `${what} does not serve two connections at the same time: ${(error as Error).message}. ` +
        'Tests of concurrency need a server that does, and fail without it.',
      { cause: error },
    );
  } finally {
    await Promise.all(sessions.map((session) => session.end()));
  }
}
