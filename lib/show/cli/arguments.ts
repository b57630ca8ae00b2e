import { parseArgs } from 'node:util';
import { readTime, timesIn } from '../../insight/times.js';
import { nearest, show } from '../../base/wording.js';
import {
  type Command,
  COMMAND_NAMES,
  OPTION_NAMES,
  type OptionName,
  optionOf,
  URL_VARIABLE,
  UsageError,
} from './options.js';
import { checkAddress, type StoreAddress } from './address.js';
import { type Print, type PrintCommand, PRINTS } from './print.js';
import { type Act, isSwitch, readAct, targetProblem } from './switch-arguments.js';

/** What a person has asked for. */
export interface Request {
  readonly command: Exclude<Command, PrintCommand>;
  readonly address: StoreAddress;
  readonly zone: string;
  readonly job?: string;
  /** Epoch milliseconds. */
  readonly at?: number;
  readonly limit: number;
  /** 0: a free one. */
  readonly port: number;
  readonly json: boolean;
  readonly watch: boolean;
  readonly bad: boolean;
  /** For a switch: who does what, and why. */
  readonly act?: Act;
}

type Values = ReadonlyMap<OptionName, string | true>;

const DEFAULT_LIMIT = 20;
const MAX_NUMBER = 1_000;

/**
 * Reads the arguments of the shell.
 *
 * @throws UsageError for what cannot work. It never quotes a value that may hold a password
 */
export function readArguments(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Request | Print | 'help' | 'version' {
  const { words, values } = split(argv);
  if (values.has('help') || words[0] === 'help') return 'help';
  if (values.has('version')) return 'version';
  const command = commandOf(words[0]);
  for (const name of values.keys()) checkOwner(name, command);
  const job = jobOf(command, words.slice(1));
  const text = (name: OptionName): string | undefined => values.get(name) as string | undefined;
  if (isPrint(command)) return { print: command, value: text, shedlock: values.has('shedlock') };
  const zone = zoneOf(text('zone'));
  const at = timeOf(text('at'), zone);
  return {
    command,
    address: checkAddress({
      url: text('url') ?? (values.has('config') ? '' : env[URL_VARIABLE]) ?? '',
      keyPrefix: text('key-prefix'),
      key: text('key'),
      table: text('table'),
      schema: text('schema'),
      ca: text('ca'),
      config: text('config'),
    }),
    zone,
    ...(job !== undefined && { job }),
    ...(at !== undefined && { at }),
    limit: limitOf(text('limit')),
    port: portOf(text('port')),
    json: values.has('json'),
    watch: values.has('watch'),
    bad: values.has('bad'),
    ...(isSwitch(command) && {
      act: readAct(command, { job, text, throughPause: values.has('through-pause') }),
    }),
  };
}

function split(argv: readonly string[]): { words: string[]; values: Values } {
  const options = Object.fromEntries(
    OPTION_NAMES.map((name) => [
      name,
      {
        type: optionOf(name).value === undefined ? ('boolean' as const) : ('string' as const),
        ...(name === 'help' && { short: 'h' }),
      },
    ]),
  );
  const words: string[] = [];
  const values = new Map<OptionName, string | true>();
  // Not strict: the messages of Node quote values.
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind === 'option') values.set(...readOption(token));
  }
  return { words, values };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function readOption({ name, rawName, value, inlineValue }: OptionToken): [OptionName, string | true] {
  if (!isOption(name)) throw new UsageError(`There is no option ${named(rawName)}. ${optionAdvice(name)}`);
  const takes = optionOf(name).value;
  if (takes === undefined) {
    if (value !== undefined) throw new UsageError(`--${name} takes no value.`);
    return [name, true];
  }
  // A text that begins with a dash is the next option.
  if (value === undefined || value === '' || (inlineValue !== true && value.startsWith('-')))
    throw new UsageError(`--${name} needs a value: --${name} ${takes}.`);
  return [name, value];
}

const isOption = (name: string): name is OptionName => (OPTION_NAMES as string[]).includes(name);
const isCommand = (name: string): name is Command => (COMMAND_NAMES as string[]).includes(name);

/** Shows a text that was given instead of a name. A URL there may hold a password. */
const named = (text: string): string => (/[:@/]/.test(text) ? 'of that name' : show(text));

function optionAdvice(name: string): string {
  const meant = nearest(name, OPTION_NAMES);
  return meant === undefined ? 'All of them: --help.' : `Did you mean --${meant}?`;
}

function commandOf(word: string | undefined): Command {
  const all = `Say what to show: ${COMMAND_NAMES.join(', ')}. More: --help.`;
  if (word === undefined) throw new UsageError(all);
  if (isCommand(word)) return word;
  const meant = nearest(word, COMMAND_NAMES);
  throw new UsageError(
    `There is no command ${named(word)}. ${meant === undefined ? all : `Did you mean ${meant}?`}`,
  );
}

const isPrint = (command: Command): command is PrintCommand => command in PRINTS;

function checkOwner(name: OptionName, command: Command): void {
  if (isPrint(command)) {
    const options: readonly OptionName[] = PRINTS[command];
    if (options.includes(name)) return;
    throw new UsageError(`${command} takes ${options.map((each) => `--${each}`).join(', ')}, not --${name}.`);
  }
  const { of } = optionOf(name);
  if (of !== undefined && !of.includes(command))
    throw new UsageError(`--${name} is an option of ${of.join(' and ')}, not of ${command}.`);
}

function jobOf(command: Command, words: readonly string[]): string | undefined {
  const most = command === 'runs' || command === 'why' || isSwitch(command) ? 1 : 0;
  if (words.length > most) throw new UsageError(tooMany(command, most));
  const [job] = words;
  if (command === 'why' && job === undefined)
    throw new UsageError('Say which job: why <job>. `status` shows their names.');
  if (isSwitch(command)) targetProblem(command, job);
  if (job?.trim() === '') throw new UsageError('The name of the job is empty.');
  return job;
}

function tooMany(command: Command, most: number): string {
  if (most === 0) return `${command} takes no further words, only options.`;
  const what = command === 'break' || command === 'redeliver' ? 'lock' : 'job';
  return `${command} takes the name of one ${what}. Put quotation marks around a name with blanks.`;
}

function limitOf(text: string | undefined): number {
  const limit = text === undefined ? DEFAULT_LIMIT : Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_NUMBER) return limit;
  throw new UsageError(`--limit: ${show(text)} is no whole number from 1 to ${MAX_NUMBER}.`);
}

function portOf(text = '0'): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`--port: ${show(text)} is no port. Give a number up to 65535.`);
}

function timeOf(text: string | undefined, zone: string): number | undefined {
  if (text === undefined) return undefined;
  const time = readTime(text, zone);
  if (time !== undefined) return time;
  throw new UsageError(
    `--at: ${show(text)} is no time. Write it as 2026-11-22T03:00, in the zone ${zone}, or as 2026-11-22T03:00Z.`,
  );
}

function zoneOf(text: string | undefined): string {
  const zone = text ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  try {
    timesIn(zone);
    return zone;
  } catch {
    const meant = nearest(zone, Intl.supportedValuesOf('timeZone'));
    throw new UsageError(
      `--zone: ${show(zone)} is no time zone. ${meant === undefined ? 'Give a name such as Europe/Berlin.' : `Did you mean ${meant}?`}`,
    );
  }
}
