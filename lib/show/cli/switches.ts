import type { Duration } from '../../base/duration.js';
import { given } from '../../base/shared.js';
import { show } from '../../base/wording.js';
import type { ControlSwitches } from '../../insight/control/control.js';
import { type Result, told } from '../../insight/control/told.js';
import { displayName } from '../../base/lock-name.js';
import { type Command, type OptionName, UsageError } from './options.js';
import { printable } from './table.js';

/** The commands that change something, and what the word behind each names. */
const SWITCHES = {
  pause: 'job',
  resume: 'job',
  break: 'lock',
  run: 'job',
  redeliver: 'lock',
  forget: 'job',
} as const;

export type Switch = keyof typeof SWITCHES;

export const isSwitch = (command: Command): command is Switch => command in SWITCHES;

/** @throws UsageError for what cannot work */
export function checkSwitch(command: Switch, name: string | undefined, text: Asked['text']): void {
  if (name === undefined && text('lock') === undefined) {
    const [what, shownBy] = SWITCHES[command] === 'job' ? ['job', 'status'] : ['lock', 'locks'];
    throw new UsageError(`Say which ${what}: ${command} <${what}>. \`${shownBy}\` shows their names.`);
  }
  if (name !== undefined && text('lock') !== undefined)
    throw new UsageError(`${command}: a job and --lock are given. Give one of them.`);
  if (text('reason') === undefined && ['pause', 'break', 'forget'].includes(command))
    throw new UsageError(`${command}: say why, for whoever finds it: --reason "<text>".`);
  if (command === 'break') fencingOf(text('fencing'));
  argsOf(text('args'));
}

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

/** What a person has asked for. */
export interface Asked {
  /** The word behind the command: a job, or the lock of `break` and `redeliver`. */
  readonly job?: string;
  readonly throughPause: boolean;
  /** The value of an option, if it was given. */
  readonly text: (name: OptionName) => string | undefined;
}

/** What a switch needs. */
export interface Hand {
  readonly control: ControlSwitches;
  readonly actor: string;
  /** Shows a time. */
  readonly shown: (time: number) => string;
  readonly say: (line: string) => void;
}

/** The result of a switch: for programs, for people, and whether it was done. */
export interface Done {
  readonly document: unknown;
  readonly line: string;
  readonly code: 0 | 1 | 2;
}

const DO: Readonly<Record<Switch, (request: Asked, by: By, hand: Hand) => Promise<Result>>> = {
  pause: (request, by, { control, say }) =>
    control.pause({
      ...targetOf(request),
      ...by,
      reason: by.reason ?? '',
      ...durations(request, ['for', 'wait']),
      onWaiting: (holder) =>
        say(printable(`It is paused. Waiting behind ${displayName(holder ?? 'whoever has it')} …`)),
    }),
  resume: (request, by, { control }) => control.resume({ ...targetOf(request), ...by }),
  break: ({ job: lock = '', text }, by, { control }) =>
    control.break({ lock, fencingToken: fencingOf(text('fencing')), ...by, reason: by.reason ?? '' }),
  run: (request, by, { control }) => {
    const { job = '', text, throughPause } = request;
    const more = { ...given({ key: text('queue-key') }), ...durations(request, ['wait']) };
    return control.runNow({ job, args: argsOf(text('args')), throughPause, ...by, ...more });
  },
  redeliver: ({ job: lock = '', text }, by, { control }) =>
    control.redeliver({ lock, ...by, ...given({ id: text('id') }) }),
  forget: ({ job = '' }, by, { control }) => control.forget({ job, ...by, reason: by.reason ?? '' }),
};

/** Carries out a switch. Rejects as the store does. */
export async function done(command: Switch, request: Asked, hand: Hand): Promise<Done> {
  const { text } = request;
  const by = { actor: text('as') ?? hand.actor, ...given({ reason: text('reason') }) };
  const document = await DO[command](request, by, hand);
  const { sentence, hint, code } = told(document, hand.shown);
  return { document, line: hint === undefined ? sentence : `${sentence} ${hint}`, code };
}

interface By {
  readonly actor: string;
  readonly reason?: string;
}

const targetOf = ({ job = '', text }: Asked): { lock: string } | { job: string } => {
  const lock = text('lock');
  return lock === undefined ? { job } : { lock };
};

const durations = <N extends 'for' | 'wait'>({ text }: Asked, names: readonly N[]) =>
  given(
    Object.fromEntries(names.map((name) => [name, text(name) as Duration | undefined])) as Partial<
      Record<N, Duration>
    >,
  );
