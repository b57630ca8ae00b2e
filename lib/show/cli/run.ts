/*
 * lib/show/cli: the command `nestjs-scheduler-lock`: opens a store, asks lib/insight, and prints.
 * May not enter: judgements of its own, Nest.
 */
import type { Clock } from '../../base/clock.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { capital } from '../../insight/phrases.js';
import { Insight } from '../../insight/insight.js';
import type { LockStore } from '../../contract/lock-store.js';
import { Control } from '../../insight/control/control.js';
import { asClause, withoutSql } from '../../base/wording.js';
import { readArguments, type Request } from './arguments.js';
import { type Answer, answerOf, AWAY, type Context, USAGE } from './commands.js';
import type { OpenStore } from './open.js';
import { OPTION_NAMES, URL_VARIABLE, UsageError } from './options.js';
import { type StoreAddress, withoutSecrets } from './address.js';
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
  let url = shell.env[URL_VARIABLE] ?? '';
  try {
    const request = readArguments(own, shell);
    if (typeof request !== 'string') {
      ({ url } = request.address);
      return await runOn(request, command, shell);
    }
    shell.stdout.write(`${request}\n`);
    return 0;
  } catch (error) {
    const { line, code } = explain(error, url);
    shell.stderr.write(`${line}\n`);
    return code;
  }
}

async function runOn(request: Request, command: readonly string[], shell: Shell): Promise<number> {
  const { store, close } = await shell.open(request.address);
  try {
    if (request.command === 'board') return await serve(request, store, shell);
    if (request.command === 'with-lock') return await withLock(request, command, store, shell);
    const context = contextOf(request, store, shell);
    if (request.has('watch')) return await watch(request, context, shell);
    const answer = await answerOf(request, context);
    shell.stdout.write(`${textOf(answer, request)}\n`);
    return answer.code;
  } finally {
    // An error here does not change the answer. A connection that waits for a table may have been closed.
    await close().catch(() => undefined);
  }
}

const textOf = ({ document, lines }: Pick<Answer, 'document' | 'lines'>, { has }: Request): string =>
  has('json') ? JSON.stringify(document, null, has('watch') ? 0 : 2) : lines.join('\n');

function contextOf({ zone }: Request, store: LockStore, shell: Shell): Context {
  const { stdout, stderr, clock, env } = shell;
  const isColourful = stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  let insight: Insight | undefined;
  let control: Control | undefined;
  const actor = shell.actor();
  return {
    store,
    // Only when a command needs it: a store without a history has locks, too.
    get insight() {
      return (insight ??= new Insight(store, { zone }));
    },
    get control() {
      return (control ??= new Control(store, { clock, instance: actor, closing: untilInterrupted(shell) }));
    },
    actor,
    clock,
    look: {
      paint: isColourful ? coloured : plain,
      get columns() {
        return stdout.isTTY === true ? stdout.columns : undefined;
      },
    },
    say: (line) => stderr.write(`${printable(line)}\n`),
  };
}

/** Ctrl+C ends a wait for a run: the answer says what is known by then. */
function untilInterrupted({ onInterrupt }: Shell): AbortSignal {
  const closing = new AbortController();
  onInterrupt(() => closing.abort());
  return closing.signal;
}

/** Serves the page until a person ends it. */
async function serve({ text }: Request, store: LockStore, shell: Shell): Promise<number> {
  const { stdout, clock, onInterrupt } = shell;
  const interrupted = new Promise<void>((resolve) => onInterrupt(resolve));
  const insight = new Insight(store);
  const label = (): string => store.label ?? 'the store';
  const source = { insight: async () => insight, clock, label, traceUrl: undefined };
  const { address, close } = await servePage(source, Number(text('port') ?? 0));
  stdout.write(`${address}\nOnly for who has this address. Ctrl+C ends it.\n`);
  await interrupted;
  close();
  return 0;
}

/** Looks again and again, also while the store is away, until a person ends it. */
async function watch(request: Request, context: Context, shell: Shell): Promise<number> {
  const interrupted = new Promise<true>((resolve) => shell.onInterrupt(() => resolve(true)));
  const { clock, stdout } = shell;
  const look = async (): Promise<false> => {
    const answer = await answerOf(request, context).catch((error: unknown) => {
      const { line } = explain(error, request.address.url);
      return { document: { error: line }, lines: [line] };
    });
    const text = textOf(answer, request);
    stdout.write(stdout.isTTY === true && !request.has('json') ? repaint(text, stdout) : `${text}\n`);
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

/** An error as one line that says what to do. */
function explain(error: unknown, url: string): { line: string; code: number } {
  const isWrong = error instanceof SchedulerLockConfigError;
  const code = isWrong || error instanceof UsageError ? USAGE : AWAY;
  // Our own text: it quotes no URL, only the form of one.
  if (error instanceof UsageError) return { line: printable(withoutSecrets(error.message, url)), code };
  const message = error instanceof Error ? error.message || error.name : String(error);
  const text = isWrong ? error.problems.map((problem) => withoutSql(namedHere(problem))).join(' ') : message;
  return { line: `${printable(withoutSecrets(asClause(withoutSql(text)), url))}.`, code };
}

/** The options that have another name in a request than here. */
const NAMES: Readonly<Record<string, string>> = { fencingToken: 'fencing', key: 'queue-key', actor: 'as' };

/** What is wrong with an option of the module, or with a request, by the names that the options have here. */
function namedHere(problem: string): string {
  const bare = problem.replace(/^(\w+\(\): )?((connection|store): )?/, '');
  const [, what = ''] = /^(\w+): /.exec(bare) ?? [];
  const option = NAMES[what] ?? what;
  return (OPTION_NAMES as string[]).includes(option)
    ? `--${option}${bare.slice(what.length)}`
    : capital(bare);
}
