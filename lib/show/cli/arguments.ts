import { parseArgs } from 'node:util';
import { nearest, show } from '../../base/wording.js';
import { isZone } from '../../insight/times.js';
import { addressOf, type StoreAddress } from './address.js';
import {
  type Command,
  COMMAND_NAMES,
  help,
  OPTION_NAMES,
  type OptionName,
  type Options,
  optionOf,
  URL_VARIABLE,
  UsageError,
} from './options.js';
import { isPrint, type PrintCommand, printed, PRINTS } from './print.js';

/** What a person has asked for. Insight and the switches check what they get. */
export interface Request extends Options {
  readonly command: Exclude<Command, PrintCommand>;
  /** The word behind the command: a job, or the lock of `break` and `redeliver`. */
  readonly name?: string;
  readonly address: StoreAddress;
  readonly zone: string;
}

/** What the word behind a command names. */
const NAMES: Readonly<Partial<Record<Command, 'job' | 'lock'>>> = {
  runs: 'job',
  why: 'job',
  pause: 'job',
  resume: 'job',
  run: 'job',
  forget: 'job',
  break: 'lock',
  redeliver: 'lock',
  'with-lock': 'lock',
};

/**
 * Reads the arguments of the shell.
 *
 * @returns the request, or a text that answers it
 * @throws UsageError for what cannot work. It never quotes a value that may hold a password
 */
export function readArguments(
  argv: readonly string[],
  { env, version }: { readonly env: Readonly<Record<string, string | undefined>>; readonly version: string },
): Request | string {
  const { positionals, values } = parsed(argv);
  const [word, ...words] = positionals;
  const options: Options = {
    has: (name) => values[name] === true,
    text: (name) => values[name] as string | undefined,
  };
  const { has, text } = options;
  if (has('help') || word === 'help') return help();
  if (has('version')) return version;
  const command = commandOf(word);
  for (const name of Object.keys(values)) checkOwner(name as OptionName, command);
  const name = nameOf(command, words, text('lock'));
  if (isPrint(command)) return printed(command, options);
  const zone = text('zone') ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!isZone(zone))
    throw new UsageError(`--zone: ${show(zone)} is no time zone. Give a name such as Europe/Berlin.`);
  const url = text('url') ?? (text('config') === undefined ? env[URL_VARIABLE] : '') ?? '';
  return { ...options, command, address: addressOf(url, text), zone, ...(name !== undefined && { name }) };
}

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

function checkOwner(name: OptionName, command: Command): void {
  const { of } = optionOf(name);
  const own: readonly OptionName[] = isPrint(command) ? PRINTS[command] : [];
  if (own.includes(name) || (!isPrint(command) && (of === undefined || of.includes(command)))) return;
  const owners = of === undefined ? '' : `, but of ${of.join(', ')}`;
  throw new UsageError(`--${name} is no option of ${command}${owners}.`);
}

function nameOf(command: Command, [name, ...more]: string[], lock: string | undefined): string | undefined {
  const what = NAMES[command];
  if (what === undefined && name !== undefined)
    throw new UsageError(`${command} takes no further words, only options.`);
  if (more.length > 0)
    throw new UsageError(
      `${command} takes the name of one ${what}. Put quotation marks around a name with blanks.`,
    );
  if (name !== undefined && lock !== undefined)
    throw new UsageError(`${command}: a job and --lock are given. Give one of them.`);
  if (what !== undefined && name === undefined && lock === undefined && command !== 'runs')
    throw new UsageError(
      `Say which ${what}: ${command} <${what}>. \`${what === 'job' ? 'status' : 'locks'}\` shows their names.`,
    );
  return name;
}
