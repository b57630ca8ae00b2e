import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { type Clock, noLongerThan } from '../../base/clock.js';
import { parseDuration } from '../../base/duration.js';
import { displayName } from '../../base/lock-name.js';
import { newId } from '../../base/shared.js';
import { show } from '../../base/wording.js';
import type { LockStore } from '../../contract/lock-store.js';
import type { LockCall, Skipped } from '../../lock/lock-call.js';
import { LockRunner } from '../../lock/lock-runner.js';
import type { Request } from './arguments.js';
import { AWAY } from './commands.js';
import { UsageError } from './options.js';

/** What the command needs of its process. */
interface Process {
  readonly clock: Clock;
  readonly stderr: { write(text: string): unknown };
  readonly actor: () => string;
  readonly onInterrupt: (listener: () => void) => void;
}

type Say = (line: string) => void;

/** The exit codes of `sysexits.h` and of shells: try later, found but not startable, not found, ended by a signal. */
const TAKEN = 75;
const NOT_STARTABLE = 126;
const NOT_FOUND = 127;
const BY_SIGNAL = 128;

const STORE_TIMEOUT = 2_000;
/** How often it asks for a lock that is taken, and how long a command has to end after SIGTERM, ms. */
const AGAIN = 1_000;
const GRACE = 10_000;
/** The bounds of a ttl, ms. */
const [SHORTEST, LONGEST] = [1_000, 30 * 86_400_000];

/** What stands behind the first `--`, and what is left of the arguments. Only for this command: other programs' options are not ours. */
export function splitCommand(argv: readonly string[]): {
  own: readonly string[];
  command: readonly string[];
} {
  const cut = argv[0] === 'with-lock' ? argv.indexOf('--') : -1;
  return cut < 0 ? { own: argv, command: [] } : { own: argv.slice(0, cut), command: argv.slice(cut + 1) };
}

/**
 * Runs a command while it holds a lock. Answers its exit code; 75 if the lock is taken, or was lost meanwhile.
 *
 * @throws UsageError for what cannot work
 */
export async function withLock(
  { name, text }: Request,
  [program, ...args]: readonly string[],
  store: LockStore,
  { clock, stderr, actor, onInterrupt }: Process,
): Promise<number> {
  if (name === undefined || program === undefined)
    throw new UsageError('Say which lock, and what to run: with-lock <lock> -- <command>.');
  const [ttl, wait] = [durationOf('ttl', text('ttl') ?? '1m'), durationOf('wait', text('wait') ?? 0)];
  if (ttl < SHORTEST || ttl > LONGEST) throw new UsageError('--ttl: give 1s to 30d.');
  const say = (line: string): void => void stderr.write(`${line}\n`);
  const interrupted = new AbortController();
  const interruption = new Promise<void>((resolve) => {
    onInterrupt(() => {
      interrupted.abort();
      resolve();
    });
  });
  const instance = `${actor().slice(0, 150)}:${process.pid}:${newId().slice(0, 8)}`;
  const runner = new LockRunner(store, instance, clock, () => undefined, STORE_TIMEOUT);
  const until = clock.monotonic() + wait;
  try {
    for (;;) {
      const result = await runner.run(callOf(name, ttl), (lock) =>
        ended(spawn(program, args, { stdio: 'inherit' }), lock.signal, interrupted.signal, clock, say),
      );
      if (result.ran) return result.value;
      const left = until - clock.monotonic();
      if (left <= 0 || interrupted.signal.aborted || result.reason === 'invalid-name')
        return refused(name, result, say);
      await noLongerThan(Math.min(AGAIN, left), interruption, clock, { keepAlive: true });
    }
  } finally {
    await runner.shutdown(0);
  }
}

function durationOf(option: string, given: string | 0): number {
  const duration = given === 0 ? 0 : parseDuration(given);
  if (duration !== undefined) return duration;
  throw new UsageError(`--${option}: ${show(given)} is no duration, such as 30s or 5m.`);
}

const callOf = (name: string, ttl: number): LockCall => ({
  kind: 'by-hand',
  name,
  job: undefined,
  settings: {
    ttl,
    heartbeat: Math.trunc(0.3 * ttl),
    timeout: undefined,
    atLeast: 0,
    storeTimeout: Math.min(STORE_TIMEOUT, Math.trunc(ttl / 3)),
    enabled: true,
    onStoreError: 'skip',
  },
});

function refused(name: string, { reason, holder, error }: Skipped, say: Say): number {
  if (error !== undefined) throw error;
  say(
    `Nothing was run: lock ${displayName(name)} is ${reason}${holder === undefined ? '' : ` by ${holder}`}.`,
  );
  return reason === 'store-unavailable' ? AWAY : TAKEN;
}

/** Its exit code. It gets SIGTERM when one of the signals aborts, and SIGKILL if it does not end then. */
function ended(
  child: ChildProcess,
  lost: AbortSignal,
  interrupted: AbortSignal,
  clock: Clock,
  say: Say,
): Promise<number> {
  const stop = (): void => {
    if (lost.aborted) say(`${(lost.reason as Error).message} The command is told to end.`);
    child.kill('SIGTERM');
    clock.setTimer(() => child.kill('SIGKILL'), GRACE, { keepAlive: false });
  };
  for (const signal of [lost, interrupted])
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  return new Promise((resolve) => {
    child.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      say(`${message}.`);
      resolve(code === 'ENOENT' ? NOT_FOUND : NOT_STARTABLE);
    });
    child.once('close', (code, signal) => {
      const own = code ?? BY_SIGNAL + (signal === null ? 0 : constants.signals[signal]);
      // A command that lost its lock was not alone, whatever it says.
      resolve(own === 0 && lost.aborted ? TAKEN : own);
    });
  });
}
