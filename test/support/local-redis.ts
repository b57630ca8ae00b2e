import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

// Not the globals, which a test may have replaced by fake ones.
import { clearTimeout, setTimeout } from 'node:timers';
import { freePort, LOOPBACK } from './machine.js';
import { guard } from './child.js';
import { findRedisBinary } from './redis-program.js';
import type { UnpackedProgram } from './server-programs.js';
import { until } from './until.js';

const READY_TIMEOUT = 15_000;
/** How long a server may take to end when asked to; then it is killed. */
const STOP_TIMEOUT = 3_000;
const PORT_TRIES = 20;
/** Where data may be: which of them there are depends on the version. */
const DATA = ['appendonlydir', 'appendonly.aof', 'dump.rdb'];

export interface StartRedisOptions {
  /** A fixed port; by default a free one. */
  port?: number;
  /** More server options: `['--maxmemory', '1mb']`. A function gets the port. */
  args?: string[] | ((port: number) => string[]);
  /** Where data, configuration and log go. By default a temporary folder that `stop()` removes. */
  dir?: string;
  env?: NodeJS.ProcessEnv;
  /** Another program than the usual one. */
  program?: UnpackedProgram;
  /** Keeps every write on disk, over `kill()` and `restart()`. @default false: nothing is kept */
  persistent?: boolean;
  /** Lines of a configuration that replaces the usual one, for `--sentinel`. */
  sentinel?: string[];
}

/** A private Redis process on the loopback interface. Ends with this process at the latest. */
export class LocalRedis {
  readonly host = LOOPBACK;
  readonly url: string;
  #child: ChildProcess | undefined;

  /** @internal see {@link startRedis} */
  constructor(
    readonly port: number,
    readonly dir: string,
    private readonly options: StartRedisOptions,
  ) {
    this.url = `redis://${LOOPBACK}:${port}`;
  }

  /** The process id; of the latest process if it was restarted. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get running(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Ends the process, politely first, and removes its folder. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    if (this.options.dir === undefined) await rm(this.dir, { recursive: true, force: true });
  }

  /** Ends the process the hard way (SIGKILL); `restart()` starts it again. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Freezes the process: connections stay open, but get no answer. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /**
   * Copies the data on the disk at this moment, as the snapshot of a volume does. Only the latest snapshot is
   * kept.
   */
  async snapshot(): Promise<void> {
    await this.#copy(this.dir, join(this.dir, 'snapshot'));
  }

  /**
   * Ends the process if it runs and starts it on the same port. Data survives only with `persistent`, and not
   * with `empty`. With `old`, the data of the {@link snapshot} replaces it.
   */
  async restart({ empty = false, old = false }: { empty?: boolean; old?: boolean } = {}): Promise<void> {
    await this.#end('SIGTERM');
    if (empty)
      await Promise.all(DATA.map((name) => rm(join(this.dir, name), { recursive: true, force: true })));
    if (old) await this.#copy(join(this.dir, 'snapshot'), this.dir);
    // Sentinel writes the present master into its configuration.
    await this.launch({ keepConfig: true });
  }

  /** One command over a connection of its own: for looking at the server and setting it up. */
  command(command: string, ...args: (string | number)[]): Promise<unknown> {
    return redisCommand(this, command, ...args);
  }

  /** The output of the server so far. */
  async log(): Promise<string> {
    return readFile(join(this.dir, 'redis.log'), 'utf8').catch(() => '');
  }

  /** @internal Starts the process and waits until it answers. */
  async launch({ keepConfig = false }: { keepConfig?: boolean } = {}): Promise<void> {
    const { args = [], env, sentinel, program } = this.options;
    const binary = program ?? (await findRedisBinary());
    await mkdir(this.dir, { recursive: true });
    const config = join(this.dir, 'redis.conf');
    if (!keepConfig || !existsSync(config)) await writeFile(config, `${this.#config().join('\n')}\n`);
    const more = typeof args === 'function' ? args(this.port) : args;
    // A file, not a pipe: a server must not block or die on a reader that was frozen or killed.
    const log = openSync(join(this.dir, 'redis.log'), 'w');
    const child = spawn(binary.command, [config, ...(sentinel ? ['--sentinel'] : []), ...more], {
      // In a group of its own: an interrupt from the terminal is for the tests, which then end it.
      detached: true,
      env: { ...binary.env, ...env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    let failure: Error | undefined;
    child.on('error', (error) => (failure = error));
    guard(child, this.options.dir === undefined ? this.dir : undefined);
    child.unref();
    // Another process may have the port, and accept without an answer, while our server is long gone.
    const ended = new Promise<true>((resolve) => child.once('exit', () => resolve(true)));
    await until(async () => failure !== undefined || (await Promise.race([this.#answers(), ended])), {
      timeout: READY_TIMEOUT,
      message: `Redis on port ${this.port}`,
    }).catch(async (error: Error) => {
      await this.#end('SIGKILL');
      throw new Error(`${error.message}; its log:\n${await this.log()}`, { cause: error });
    });
    if (failure) throw failure;
    if (!this.running)
      throw new Error(`Redis on port ${this.port} ended at once; its log:\n${await this.log()}`);
  }

  #config(): string[] {
    const { sentinel, persistent = false } = this.options;
    const place = [`bind ${LOOPBACK}`, `port ${this.port}`, `dir ${JSON.stringify(this.dir)}`];
    if (sentinel) return [...place, ...sentinel];
    return [...place, 'save ""', `appendonly ${persistent ? 'yes' : 'no'}`, 'appendfsync always'];
  }

  async #copy(from: string, to: string): Promise<void> {
    await mkdir(to, { recursive: true });
    for (const name of DATA) {
      await rm(join(to, name), { recursive: true, force: true });
      if (existsSync(join(from, name))) await cp(join(from, name), join(to, name), { recursive: true });
    }
  }

  /** Asks for the process id: on a contended port another server might answer. */
  async #answers(): Promise<boolean> {
    await this.command('PING');
    return String(await this.command('INFO', 'server')).includes(`process_id:${this.pid}\r`);
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || !this.running) return;
    const exited = once(child, 'exit');
    child.ref();
    child.kill(signal);
    // A frozen process handles SIGTERM only after it goes on.
    child.kill('SIGCONT');
    const limit = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT);
    await exited;
    clearTimeout(limit);
  }
}

/**
 * Starts a private Redis process on a free loopback port; resolves when it answers.
 *
 * @throws with the server's log if it does not come up
 */
export async function startRedis(options: StartRedisOptions = {}): Promise<LocalRedis> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'scheduler-lock-redis-')));
    const server = new LocalRedis(port, dir, options);
    try {
      await server.launch();
      return server;
    } catch (error) {
      const taken = /address already in use/i.test(await server.log());
      await server.stop();
      if (!taken || options.port !== undefined || attempt >= PORT_TRIES) throw error;
    }
  }
}

/** One command to one server over a connection of its own, with short limits and no second try. */
export async function redisCommand(
  address: { host: string; port: number } | string,
  command: string,
  ...args: (string | number)[]
): Promise<unknown> {
  const limits = {
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: 2_000,
    commandTimeout: 5_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  };
  const client =
    typeof address === 'string' ? new Redis(address, limits) : new Redis({ ...address, ...limits });
  let failure: Error | undefined;
  client.on('error', (error: Error) => (failure = error));
  try {
    await client.connect();
    return await client.call(command, ...args);
  } catch (error) {
    // "Connection is closed." hides why; the event has it.
    throw failure ?? error;
  } finally {
    client.disconnect();
  }
}

/**
 * The commands that a server receives while `work` goes on, each with its arguments. Leaves out calls by scripts.
 *
 * @param client a client of the server; sends an ECHO at the end
 */
export async function commandsDuring(client: Redis, work: () => Promise<unknown>): Promise<string[][]> {
  const monitor = client.duplicate({ monitor: true, lazyConnect: false });
  // ioredis takes a command that comes in one packet with the answer to MONITOR for an answer, too, and reports that: it came before `work`.
  monitor.on('error', () => undefined);
  await new Promise((resolve) => monitor.once('monitoring', resolve));
  const sent: string[][] = [];
  const watched = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      const command = args[0]?.toLowerCase() ?? '';
      if (command === 'echo') resolve();
      else if (source !== 'lua') sent.push([command, ...args.slice(1)]);
    });
  });
  try {
    await work();
    await client.echo('end');
    await watched;
    // What comes later, until the connection has ended, is not asked for.
    return [...sent];
  } finally {
    monitor.disconnect();
  }
}
