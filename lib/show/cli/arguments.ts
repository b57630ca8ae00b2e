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
import { type Asked, checkSwitch, isSwitch } from './switches.js';

/** What a person has asked for. */
export interface Request extends Asked {
  readonly command: Exclude<Command, PrintCommand>;
  readonly address: StoreAddress;
  readonly zone: string;
  /** Epoch milliseconds. */
  readonly at?: number;
  readonly limit: number;
  /** 0: a free one. */
  readonly port: number;
  readonly json: boolean;
  readonly watch: boolean;
  readonly bad: boolean;
}

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
  const { positionals, values } = parsed(argv);
  const [word, ...words] = positionals;
  const has = (name: OptionName): boolean => values[name] === true;
  const text = (name: OptionName): string | undefined => values[name] as string | undefined;
  if (has('help') || word === 'help') return 'help';
  if (has('version')) return 'version';
  const command = commandOf(word);
  for (const name of Object.keys(values)) checkOwner(name as OptionName, command);
  const job = jobOf(command, words);
  if (isPrint(command)) return { print: command, value: text, shedlock: has('shedlock') };
  if (isSwitch(command)) checkSwitch(command, job, text);
  const zone = zoneOf(text('zone'));
  const at = timeOf(text('at'), zone);
  return {
    command,
    address: addressOf(text, env),
    zone,
    ...(job !== undefined && { job }),
    ...(at !== undefined && { at }),
    limit: limitOf(text('limit')),
    port: portOf(text('port')),
    json: has('json'),
    watch: has('watch'),
    bad: has('bad'),
    throughPause: has('through-pause'),
    text,
  };
}

const addressOf = (text: Request['text'], env: Readonly<Record<string, string | undefined>>): StoreAddress =>
  checkAddress({
    url: text('url') ?? (text('config') === undefined ? env[URL_VARIABLE] : '') ?? '',
    keyPrefix: text('key-prefix'),
    key: text('key'),
    table: text('table'),
    schema: text('schema'),
    config: text('config'),
  });

interface Parsed {
  readonly positionals: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
}

function parsed(argv: readonly string[]): Parsed {
  const options = Object.fromEntries(
    OPTION_NAMES.map((name) => [name, { type: optionOf(name).value === undefined ? 'boolean' : 'string' }]),
  ) as Record<OptionName, { type: 'boolean' | 'string'; short?: string }>;
  options.help.short = 'h';
  try {
    const { positionals, values } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const empty = OPTION_NAMES.find((name) => (values as Parsed['values'])[name] === '');
    if (empty !== undefined) throw new UsageError(valueProblem(empty));
    return { positionals, values: { ...values } };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Node quotes what was given, which may be a URL.
    const [, name = ''] = /'--?(.*?)[' ]/.exec((error as Error).message) ?? [];
    const isKnown = (OPTION_NAMES as string[]).includes(name);
    throw new UsageError(isKnown ? valueProblem(name as OptionName) : optionProblem(name));
  }
}

function valueProblem(name: OptionName): string {
  const { value } = optionOf(name);
  return value === undefined ? `--${name} takes no value.` : `--${name} needs a value: --${name} ${value}.`;
}

function optionProblem(name: string): string {
  const meant = nearest(name, OPTION_NAMES);
  const advice = meant === undefined ? 'All of them: --help.' : `Did you mean --${meant}?`;
  return `There is no option ${named(name.length === 1 ? `-${name}` : `--${name}`)}. ${advice}`;
}

const isCommand = (name: string): name is Command => (COMMAND_NAMES as string[]).includes(name);

/** Shows a text that was given instead of a name. A URL there may hold a password. */
const named = (text: string): string => (/[:@/]/.test(text) ? 'of that name' : show(text));

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
