/*
 * lib/show/cli: the command `nestjs-scheduler-lock`: opens a store, asks lib/insight, and prints.
 * May not enter: judgements of its own, Nest.
 */
import type { Clock } from '../../base/clock.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { Insight } from '../../insight/insight.js';
import type { LockStore } from '../../contract/lock-store.js';
import { Control } from '../../insight/control/control.js';
import { asClause, withoutSql } from '../../base/wording.js';
import { readArguments, type Request } from './arguments.js';
import { answerOf, AWAY, type Context, USAGE } from './commands.js';
import type { OpenStore } from './open.js';
import { help, URL_VARIABLE, UsageError } from './options.js';
import { type StoreAddress, withoutSecrets } from './address.js';
import { type Print, printed } from './print.js';
import { servePage } from './serve.js';
import { coloured, plain, printable } from './table.js';
import { splitCommand, withLock } from './with-lock.js';

/** Where the shell writes. */
interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** What the shell needs of its process. */
export interface Shell {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** The version of the package. */
  readonly version: string;
  /** Connects to the store. */
  readonly open: (address: StoreAddress) => Promise<OpenStore>;
  /** The user of this machine, for the record of a switch. */
  readonly actor: () => string;
  /** Registers a listener for the first Ctrl+C, or SIGTERM. */
  readonly onInterrupt: (listener: () => void) => void;
}

/** How often `--watch` looks, ms. */
const EVERY = 2_000;

/**
 * Runs one command.
 *
 * @param argv the arguments, without those of Node.js
 * @returns the exit code. It never rejects, and never shows the URL or its password
 */
export async function run(argv: readonly string[], shell: Shell): Promise<number> {
  const { own, command } = splitCommand(argv);
  let request: Request | Print | 'help' | 'version';
  try {
    request = readArguments(own, shell.env);
    if (typeof request === 'object' && 'print' in request) {
      shell.stdout.write(`${printed(request)}\n`);
      return 0;
    }
  } catch (error) {
    return failed(error, shell, '');
  }
  if (request === 'help' || request === 'version') {
    shell.stdout.write(`${request === 'help' ? help() : shell.version}\n`);
    return 0;
  }
  try {
    return await runOn(request, command, shell);
  } catch (error) {
    return failed(error, shell, request.address.url);
  }
}

async function runOn(request: Request, command: readonly string[], shell: Shell): Promise<number> {
  const { store, close } = await shell.open(request.address);
  try {
    if (request.command === 'board') return await serve(request, store, shell);
    if (request.command === 'with-lock') return await withLock(request, command, store, shell);
    const { stdout, stderr, clock } = shell;
    let insight: Insight | undefined;
    let control: Control | undefined;
    const actor = shell.actor();
    const context: Context = {
      store,
      // Only when a command needs it: a store without a history has locks, too.
      get insight() {
        return (insight ??= new Insight(store, { zone: request.zone }));
      },
      get control() {
        return (control ??= new Control(store, { clock, instance: actor, closing: untilInterrupted(shell) }));
      },
      actor,
      clock,
      look: {
        paint: hasColours(shell) ? coloured : plain,
        get columns() {
          return stdout.isTTY === true ? stdout.columns : undefined;
        },
      },
      say: (line) => stderr.write(`${line}\n`),
    };
    if (request.watch) return await watch(request, context, shell);
    const answer = await answerOf(request, context);
    stdout.write(`${request.json ? JSON.stringify(answer.document, null, 2) : answer.lines.join('\n')}\n`);
    return answer.code;
  } finally {
    // An error here does not change the answer. A connection that waits for a table may have been closed.
    await close().catch(() => undefined);
  }
}

/** Ctrl+C ends a wait for a run: the answer says what is known by then. */
function untilInterrupted({ onInterrupt }: Shell): AbortSignal {
  const closing = new AbortController();
  onInterrupt(() => closing.abort());
  return closing.signal;
}

/** Serves the page until a person ends it. */
async function serve(
  { port }: Request,
  store: LockStore,
  { stdout, clock, onInterrupt }: Shell,
): Promise<number> {
  const interrupted = new Promise<void>((resolve) => onInterrupt(resolve));
  const insight = new Insight(store);
  const { address, close } = await servePage(
    {
      insight: async () => insight,
      clock,
      label: () => store.label ?? 'the store',
      traceUrl: undefined,
    },
    port,
  );
  stdout.write(`${address}\nOnly for who has this address. Ctrl+C ends it.\n`);
  await interrupted;
  close();
  return 0;
}

const hasColours = ({ stdout, env }: Shell): boolean =>
  stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';

/** Looks again and again, also while the store is away, until a person ends it. */
async function watch(request: Request, context: Context, shell: Shell): Promise<number> {
  const interrupted = new Promise<true>((resolve) => shell.onInterrupt(() => resolve(true)));
  const { clock, stdout } = shell;
  const look = async (): Promise<false> => {
    const { document, lines } = await answerOf(request, context).catch((error: unknown) => {
      const { line } = explain(error, request.address.url);
      return { document: { error: line }, lines: [line] };
    });
    const text = request.json ? JSON.stringify(document) : lines.join('\n');
    stdout.write(stdout.isTTY === true && !request.json ? repaint(text, stdout) : `${text}\n`);
    await new Promise<void>((resolve) => clock.setTimer(resolve, EVERY, { keepAlive: true }));
    return false;
  };
  while (!(await Promise.race([interrupted, look()])));
  return 0;
}

/** Overwrites the last output line by line, so that nothing flickers. Of more lines than the terminal has, the first ones stay. */
function repaint(text: string, { rows = Infinity }: Output): string {
  const lines = text.split('\n');
  const room = Math.max(1, rows - 1);
  const left = lines.length - room;
  const shown = left <= 0 ? lines : [...lines.slice(0, room - 1), `… and ${left + 1} lines more`];
  return `\u001b[H${shown.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`;
}

function failed(error: unknown, { stderr, env }: Shell, url: string): number {
  const { line, code } = explain(error, url || (env[URL_VARIABLE] ?? ''));
  stderr.write(`${line}\n`);
  return code;
}

/** An error as one line that says what to do. */
function explain(error: unknown, url: string): { line: string; code: number } {
  const clean = (text: string): string => printable(withoutSecrets(asClause(text), url));
  // Our own text: it quotes no URL, only the form of one.
  if (error instanceof UsageError)
    return { line: printable(withoutSecrets(error.message, url)), code: USAGE };
  if (error instanceof SchedulerLockConfigError) {
    // The options of the module have other names here.
    const problems = error.problems.map((problem) =>
      capital(withoutSql(problem.replace(/^(connection|store): /, ''))),
    );
    return { line: `${clean(problems.join(' '))}.`, code: USAGE };
  }
  const message = error instanceof Error ? error.message || error.name : String(error);
  return { line: `${clean(withoutSql(message))}.`, code: AWAY };
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
