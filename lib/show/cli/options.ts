/** What was asked for cannot work. Its message is one line that says what to do. */
export class UsageError extends Error {}

/** All commands and options in one table, for the parser of arguments and for the help. */
export const COMMANDS = {
  status: 'all jobs, those that need attention first',
  runs: 'who ran what, newest first: [<job>]',
  why: 'why a job ran, or did not run: <job>',
  instances: 'the instances of the last days, and the jobs that they know',
  locks: 'all locks of the store: it looks for them, which takes long on a server with many keys',
  board: 'a page of all that in a browser, on this machine only, until Ctrl+C',
  pause: 'no instance starts a job under this lock any more, until it is resumed: <job>',
  resume: 'ends a pause: <job>',
  break: 'ends the lease that has this fencing token; its job may still run: <lock>',
  run: 'runs a job now, on an instance that has it: <job>',
  redeliver: 'puts the dead letters of a lock back: <lock>',
  forget: 'leaves out a job that no instance has any more: <job>',
  'with-lock': 'runs a command while it holds a lock: <lock> -- <command>; 75 if the lock is taken',
  sql: 'prints the SQL that a database needs, with rights for a user; it connects to nothing',
  acl: 'prints the rights that a user of Redis needs; it connects to nothing',
} as const;

export type Command = keyof typeof COMMANDS;
export const COMMAND_NAMES = Object.keys(COMMANDS) as Command[];

/** An option of the shell. */
interface ShellOption {
  /** What its value is. Absent: it takes none. */
  readonly value?: string;
  readonly help: string;
  /** The commands that take it. Absent: all. */
  readonly of?: readonly Command[];
}

export const OPTIONS = {
  url: { value: '<url>', help: 'the store: redis://, rediss://, postgres:// or mysql://' },
  'key-prefix': { value: '<text>', help: 'of Redis, as the module has it (default: scheduler)' },
  key: {
    value: '<pattern>',
    help: "of Redis, instead: the key of a lock, with * for its name, such as ShedLock's job-lock:default:*",
  },
  table: { value: '<name>', help: 'of a database, as its store has it (default: shedlock)' },
  schema: { value: '<name>', help: 'where that table is' },
  config: {
    value: '<file>',
    help: 'instead of a URL: a module that exports the options `connection`, `keyPrefix` and `key`, or `store`',
  },
  zone: { value: '<zone>', help: 'for times, such as Europe/Berlin (default: that of this machine)' },
  json: { help: 'one JSON document; times are epoch milliseconds' },
  watch: { help: 'again every 2 s, until Ctrl+C', of: ['status'] },
  limit: { value: '<count>', help: 'how many runs at most, 1 to 1000 (default: 20)', of: ['runs'] },
  bad: { help: 'only runs that failed, reported too little, were aborted or interrupted', of: ['runs'] },
  at: { value: '<time>', help: 'the time in question: 2026-11-22T03:00, in the zone', of: ['why'] },
  port: { value: '<number>', help: 'where the page is (default: a free one)', of: ['board'] },
  reason: {
    value: '<text>',
    help: 'why: it is shown to whoever asks (needed for pause, break and forget)',
    of: ['pause', 'resume', 'break', 'run', 'redeliver', 'forget'],
  },
  as: {
    value: '<name>',
    help: 'who does it (default: the user and the host)',
    of: ['pause', 'resume', 'break', 'run', 'redeliver', 'forget'],
  },
  lock: { value: '<name>', help: 'a lock that no instance has a job for', of: ['pause', 'resume'] },
  for: { value: '<duration>', help: 'how long it lasts, up to 30d (default: 7d)', of: ['pause'] },
  wait: {
    value: '<duration>',
    help: 'how long to wait: for the end of a run that goes on (pause), or of this one (run); for the lock (with-lock)',
    of: ['pause', 'run', 'with-lock'],
  },
  ttl: {
    value: '<duration>',
    help: 'how long a holder that died blocks the others (default: 1m)',
    of: ['with-lock'],
  },
  fencing: { value: '<number>', help: 'the fencing token that `locks` shows', of: ['break'] },
  args: { value: '<json>', help: 'its arguments, a JSON array', of: ['run'] },
  'queue-key': {
    value: '<text>',
    help: 'calls with the same key that have not begun become one',
    of: ['run'],
  },
  'through-pause': { help: 'runs once all the same if it is paused', of: ['run'] },
  id: { value: '<id>', help: 'only this dead letter (default: all)', of: ['redeliver'] },
  store: { value: '<kind>', help: 'postgres, or mysql', of: ['sql'] },
  grant: { value: '<user>', help: 'who gets the rights', of: ['sql'] },
  shedlock: { help: "the table in ShedLock's own shape, with our columns added", of: ['sql'] },
  user: { value: '<user>', help: 'who gets the rights', of: ['acl'] },
  help: { help: 'this text' },
  version: { help: 'the version of the package' },
} as const satisfies Readonly<Record<string, ShellOption>>;

export type OptionName = keyof typeof OPTIONS;
export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[];

/** The options that a person has given. */
export interface Options {
  /** The value of one that takes a value. */
  readonly text: (name: OptionName) => string | undefined;
  readonly has: (name: OptionName) => boolean;
}

/** An option, by its name. */
export const optionOf = (name: OptionName): ShellOption => OPTIONS[name];

/** The variable of the environment that has the URL of the store. */
export const URL_VARIABLE = 'SCHEDULER_LOCK_URL';

/** What `--help` shows. */
export function help(): string {
  const commands = Object.entries(COMMANDS).map(([name, text]): [string, string] => [name, text]);
  const options = OPTION_NAMES.map((name): [string, string] => {
    const { value, help: text, of } = optionOf(name);
    return [`--${name}${value === undefined ? '' : ` ${value}`}`, of ? `${of.join(', ')}: ${text}` : text];
  });
  return [
    'nestjs-scheduler-lock <command> [options]: who ran which job, when, and why not; and switches for whoever is on call.',
    '',
    ...aligned(commands),
    '',
    ...aligned(options),
    '',
    `Give the URL by the variable ${URL_VARIABLE}: other users of the machine can read --url in its list of processes.`,
    'Exit code: 0 ok, 1 something needs attention (status) or was not done (a switch), 2 cannot work as it was given, 3 the store is away.',
  ].join('\n');
}

function aligned(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
}
