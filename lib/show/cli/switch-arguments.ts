import type { Duration } from '../../base/duration.js';
import { show } from '../../base/wording.js';
import { type Command, type OptionName, UsageError } from './options.js';

/** The commands that change something, and what the word behind each names. */
const SWITCHES = { pause: 'job', resume: 'job', break: 'lock', run: 'job', redeliver: 'lock' } as const;

export type Switch = keyof typeof SWITCHES;

export const isSwitch = (command: Command): command is Switch => command in SWITCHES;

/** What a person wants done. */
export interface Act {
  /** The word behind the command: a job, or a lock. */
  readonly name: string | undefined;
  readonly lock: string | undefined;
  readonly reason: string | undefined;
  /** Absent: the user of this machine. */
  readonly as: string | undefined;
  readonly for: Duration | undefined;
  readonly wait: Duration | undefined;
  readonly fencing: number;
  readonly args: readonly unknown[];
  readonly key: string | undefined;
  readonly throughPause: boolean;
  readonly id: string | undefined;
}

interface Words {
  readonly job: string | undefined;
  readonly text: (name: OptionName) => string | undefined;
  readonly throughPause: boolean;
}

/** @throws UsageError for what cannot work */
export function readAct(command: Switch, { job: name, text, throughPause }: Words): Act {
  const lock = text('lock');
  if (name === undefined && lock === undefined) throw new UsageError(missing(command));
  if (name !== undefined && lock !== undefined)
    throw new UsageError(`${command}: a job and --lock are given. Give one of them.`);
  const reason = text('reason');
  if (reason === undefined && (command === 'pause' || command === 'break'))
    throw new UsageError(`${command}: say why, for whoever finds it: --reason "<text>".`);
  return {
    name,
    lock,
    reason,
    as: text('as'),
    for: text('for') as Duration | undefined,
    wait: text('wait') as Duration | undefined,
    fencing: command === 'break' ? fencingOf(text('fencing')) : 0,
    args: argsOf(text('args')),
    key: text('queue-key'),
    throughPause,
    id: text('id'),
  };
}

/** What is missing behind a command. @throws UsageError */
export function targetProblem(command: Switch, name: string | undefined): void {
  if (name === undefined && command !== 'pause' && command !== 'resume')
    throw new UsageError(missing(command));
}

const missing = (command: Switch): string =>
  SWITCHES[command] === 'job'
    ? `Say which job: ${command} <job>. \`status\` shows their names.`
    : `Say which lock: ${command} <lock>. \`locks\` shows their names.`;

function fencingOf(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,15}$/.test(text)) return Number(text);
  throw new UsageError(
    text === undefined
      ? 'break: say which lease: --fencing <number>, as `locks` shows it. Whatever has the lock by then is not ended.'
      : `--fencing: ${show(text)} is no fencing token.`,
  );
}

function argsOf(text: string | undefined): readonly unknown[] {
  if (text === undefined) return [];
  try {
    const args: unknown = JSON.parse(text);
    if (Array.isArray(args)) return args;
  } catch {
    // The parser's message quotes the text.
  }
  throw new UsageError('--args: that is no JSON array, such as \'["2026-11", 3]\'.');
}
