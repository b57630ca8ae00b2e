import { fork, type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';

/** A message between parent and child. */
export interface ChildMessage {
  type: string;
  [field: string]: unknown;
}

export interface SpawnChildOptions {
  args?: string[];
  /** Added to this process's environment. */
  env?: Record<string, string | undefined>;
  /** @default that of this process */
  cwd?: string;
  /** Another Node. @default the one that runs this process */
  execPath?: string;
}

export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

type Match = string | ((message: ChildMessage) => boolean);

const MESSAGE_TIMEOUT = 50_000;
const STOP_TIMEOUT = 5_000;
/** How much of its output an error shows, characters. */
const SHOWN = 4_000;

/** A Node program of the tests. A test can kill and freeze it, and instruct it over an IPC channel. */
export class TestChild {
  /** All messages that it has sent so far. */
  readonly messages: ChildMessage[] = [];
  /** Its output to stdout and stderr so far. */
  stdout = '';
  stderr = '';
  /** Resolves when it has ended and all its output has arrived. Tests wait for {@link ended}, which has a limit. */
  readonly exited: Promise<ChildExit>;
  readonly #unread: ChildMessage[] = [];
  readonly #waiting = new Set<() => void>();
  #exit: ChildExit | undefined;

  /** @internal see {@link spawnChild} */
  constructor(
    private readonly script: string,
    private readonly child: ChildProcess,
  ) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    child.on('message', (message) => {
      this.messages.push(message as ChildMessage);
      this.#unread.push(message as ChildMessage);
      this.#wake();
    });
    this.exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#exit = { code, signal };
        resolve(this.#exit);
        this.#wake();
      });
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  send(message: ChildMessage): void {
    // next() and exited notice a child that died meanwhile.
    if (this.child.connected) this.child.send(message, () => undefined);
  }

  /**
   * The oldest message not yet taken that has this type, or for which the predicate holds; waits for it.
   *
   * @throws if the child ends first, with what it wrote, or after `timeout` (50 s; `Infinity`: never)
   */
  async next<T extends object = ChildMessage>(
    match: Match,
    timeout = MESSAGE_TIMEOUT,
  ): Promise<T & ChildMessage> {
    const matches = typeof match === 'string' ? (message: ChildMessage) => message.type === match : match;
    const wanted = typeof match === 'string' ? `the message "${match}"` : 'a message';
    let timedOut = false;
    const late = (): void => {
      timedOut = true;
      this.#wake();
    };
    const limit = timeout === Infinity ? undefined : setTimeout(late, timeout);
    try {
      for (;;) {
        const index = this.#unread.findIndex(matches);
        const [message] = index < 0 ? [] : this.#unread.splice(index, 1);
        if (message) return message as T & ChildMessage;
        if (this.#exit) throw this.#failure(`ended (${describe(this.#exit)}) before ${wanted}`);
        if (timedOut) throw this.#failure(`did not send ${wanted} within ${timeout} ms`);
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    } finally {
      clearTimeout(limit);
    }
  }

  /** Forgets what it has sent so far, for a test that uses it after another one. */
  forget(): void {
    this.messages.length = 0;
    this.#unread.length = 0;
  }

  /** Ends it the hard way (SIGKILL). */
  async kill(): Promise<void> {
    if (this.running) this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Freezes it (SIGSTOP), as a long garbage collection or a suspended machine would. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /**
   * How it ended; waits for that.
   *
   * @throws if it has not ended by itself after `timeout`, with what it wrote; then it is killed
   */
  async ended(timeout = MESSAGE_TIMEOUT): Promise<ChildExit> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, timeout, undefined)));
    const exit = await Promise.race([this.exited, late]);
    clearTimeout(timer);
    if (exit !== undefined) return exit;
    const failure = this.#failure(`did not end within ${timeout} ms, and was killed`);
    await this.kill();
    throw failure;
  }

  /** Asks it to end (SIGTERM), kills it if it does not within 5 s. */
  async stop(): Promise<ChildExit> {
    if (this.running) {
      this.child.kill('SIGTERM');
      this.resume();
      const limit = setTimeout(() => this.child.kill('SIGKILL'), STOP_TIMEOUT);
      await this.exited;
      clearTimeout(limit);
    }
    return this.exited;
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resume of waiting) resume();
  }

  /** The end of its output, and its errors, which mostly say why. */
  #wrote(): string {
    return `${this.stdout.slice(-SHOWN)}${this.stderr}`;
  }

  #failure(what: string): Error {
    const heard = this.messages.map(({ type }) => type).join(', ') || 'nothing';
    return new Error(`${this.script} (pid ${this.pid}) ${what}; it sent: ${heard}\n${this.#wrote()}`);
  }
}

function describe({ code, signal }: ChildExit): string {
  return signal ?? `exit code ${code}`;
}

/**
 * Runs `node script` with an IPC channel. `script` is the absolute path of a compiled program: see `builtScript`.
 * {@link childMain} is its side of the channel.
 */
export async function spawnChild(
  script: string,
  { args = [], env, ...options }: SpawnChildOptions = {},
): Promise<TestChild> {
  const child = fork(script, args, {
    // Not the flags of this process, such as Jest's.
    execArgv: ['--enable-source-maps'],
    env: { ...process.env, ...env },
    ...options,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  guard(child);
  const testChild = new TestChild(script, child);
  await once(child, 'spawn');
  return testChild;
}

type Listener = (message: ChildMessage) => void | Promise<void>;

/** The child's side of the channel. */
export interface Parent {
  send(message: ChildMessage): Promise<void>;
  /** Messages of one type. A listener that fails ends the child. */
  on(type: string, listener: Listener): void;
}

/**
 * The main function of a program that `spawnChild` runs. The program ends when its parent is gone, and with its
 * error on stderr and exit code 1 when `main` or a listener fails.
 */
export function childMain(main: (parent: Parent) => void | Promise<void>): void {
  const fail = (error: unknown): void => {
    console.error(error);
    process.exit(1);
  };
  process.on('disconnect', () => process.exit(0));
  if (process.send === undefined) fail(new Error('To be started by spawnChild'));
  Promise.resolve(main({ send, on: (type, listener) => listen(type, listener, fail) })).catch(fail);
}

function send(message: ChildMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error: Error | null) =>
      error ? reject(error) : resolve(),
    );
  });
}

function listen(type: string, listener: Listener, fail: (error: unknown) => void): void {
  process.on('message', (message: ChildMessage) => {
    if (message.type !== type) return;
    void Promise.resolve(message).then(listener).catch(fail);
  });
}

/*
 * No process that the tests start outlives them. A killed process runs no handlers, and under Jest `process` is a
 * copy whose events never fire. So a shell reads the ids of our processes from a pipe. The pipe closes with our
 * process, for whatever reason, and the shell kills the processes that are left. This needs no signal handlers,
 * which would change how the program under test shuts down.
 */
const WATCHDOG = `
trap '' INT TERM HUP
pids=' '
while read -r op it; do
  case $op in
    +) pids="$pids$it " ;;
    -) case $pids in *" $it "*) pids="\${pids%% $it *} \${pids#* $it }" ;; esac ;;
    folder) set -- "$@" "$it" ;;
    end) exit ;;
  esac
done
for pid in $pids; do kill -KILL "$pid"; done
for folder do rm -rf -- "$folder"; done
`;

/** What was started and has not ended: the environment of the tests (tools/environment.mjs) finds it here. */
const shared: { [key: symbol]: Map<number, string> | undefined } = globalThis;
const guarded = (shared[Symbol.for('scheduler-lock:guarded')] ??= new Map<number, string>());
let watchdog: ChildProcess | undefined;

/** Kills `child` when this process ends, however it ends, and removes its `folder`. */
export function guard(child: ChildProcess, folder?: string): void {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  guarded.set(pid, child.spawnargs.join(' '));
  watchdog ??= startWatchdog();
  watchdog.stdin?.write(`+ ${pid}\n`);
  if (folder !== undefined) watchdog.stdin?.write(`folder ${folder}\n`);
  child.once('exit', () => forget(pid));
}

/** The ids of the processes that were started and have not ended yet. */
export function guardedPids(): number[] {
  return [...guarded.keys()];
}

function forget(pid: number): void {
  guarded.delete(pid);
  watchdog?.stdin?.write(`- ${pid}\n`);
  if (guarded.size > 0) return;
  // A test file that has stopped all its processes leaves nothing open. Folders stay, for a restart.
  watchdog?.stdin?.end('end\n');
  watchdog = undefined;
}

function startWatchdog(): ChildProcess {
  // In a group of its own: an interrupt from the terminal must not end the guard before the guarded.
  const child = spawn('/bin/sh', ['-c', WATCHDOG], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  (child.stdin as Socket).unref();
  return child;
}
