import { describe, expect, test } from '@jest/globals';
import { readArguments } from '../../../../lib/show/cli/arguments.js';
import {
  COMMAND_NAMES,
  help,
  OPTION_NAMES,
  type OptionName,
  UsageError,
} from '../../../../lib/show/cli/options.js';

const env = { SCHEDULER_LOCK_URL: 'redis://db:6379' };
const version = '1.2.3';
const read = (...argv: string[]): ReturnType<typeof readArguments> => readArguments(argv, { env, version });
/** The values of options in a request. */
const given = (request: ReturnType<typeof readArguments>, ...names: OptionName[]): unknown[] =>
  typeof request === 'string' ? [request] : names.map((name) => request.text(name) ?? request.has(name));

/** The message of what cannot work. */
function problem(argv: readonly string[], variables: Record<string, string> = env): string {
  try {
    readArguments(argv, { env: variables, version });
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`${argv.join(' ')} is taken`);
}

test('a command alone has its defaults, and the URL of the environment', () => {
  expect(read('status')).toEqual({
    text: expect.any(Function),
    has: expect.any(Function),
    command: 'status',
    address: { url: 'redis://db:6379', keyPrefix: undefined, table: undefined, schema: undefined },
    zone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
  });
});

test('options are read wherever they stand', () => {
  const argv = [
    '--zone=Asia/Tokyo',
    'runs',
    '--bad',
    'A.b',
    '--limit',
    '5',
    '--json',
    '--url',
    'mysql://h/d',
  ];
  const request = read(...argv, '--table', 'locks', '--schema', 'ops');
  expect(request).toMatchObject({
    command: 'runs',
    name: 'A.b',
    zone: 'Asia/Tokyo',
    address: { url: 'mysql://h/d', table: 'locks', schema: 'ops' },
  });
  expect(given(request, 'limit', 'bad', 'json', 'watch')).toEqual(['5', true, true, false]);
});

test('--help, -h, help and --version need no URL', () => {
  for (const argv of [['--help'], ['-h'], ['help'], ['why', '--help']])
    expect(readArguments(argv, { env: {}, version })).toBe(help());
  expect(readArguments(['--version'], { env: {}, version })).toBe(version);
});

test('the help names every command and option, the variable, and the exit codes', () => {
  for (const name of COMMAND_NAMES) expect(help()).toMatch(new RegExp(`^  ${name} `, 'm'));
  for (const name of OPTION_NAMES) expect(help()).toMatch(new RegExp(`^  --${name}[ <]`, 'm'));
  expect(help()).toContain('SCHEDULER_LOCK_URL: other users of the machine can read --url');
  expect(help()).toContain('3 the store is away');
});

test.each([
  [[], /Say what to show: status, runs, why, instances, locks/],
  [['stauts'], /no command 'stauts'. Did you mean status\?/],
  [['stop'], /no command 'stop'. Say what to show/],
  [['status', '--jsn'], /no option '--jsn'. Did you mean --json\?/],
  [['status', '--cause=x'], /no option '--cause'. All of them: --help/],
  [['status', '-j'], /no option '-j'/],
  [['status', '--json=yes'], /--json takes no value/],
  [['status', '--zone'], /--zone needs a value: --zone <zone>/],
  [['status', '--zone', '--json'], /--zone needs a value/],
  [['status', '--table='], /--table needs a value/],
  [['status', '--limit', '3'], /--limit is no option of status, but of runs/],
  [['runs', '--watch'], /--watch is no option of runs, but of status/],
  [['status', 'A.b'], /status takes no further words/],
  [['why', 'A.b', 'C.d'], /why takes the name of one job/],
  [['why'], /Say which job/],
  [['pause'], /Say which job: pause <job>/],
  [['pause', 'A.b', '--lock', 'a', '--reason', 'x'], /a job and --lock are given/],
  [['resume'], /Say which job: resume <job>/],
  [['break'], /Say which lock: break <lock>/],
  [['run', 'A.b', '--fencing', '3'], /--fencing is no option of run, but of break/],
  [['redeliver'], /Say which lock: redeliver <lock>/],
  [
    ['status', '--reason=x'],
    /--reason is no option of status, but of pause, resume, break, run, redeliver, forget/,
  ],
  [
    ['status', '--zone', 'Europe/Berln'],
    /--zone: 'Europe\/Berln' is no time zone. Give a name such as Europe\/Berlin/,
  ],
  [['sql', '--store', 'mysql', '--url', 'x'], /--url is no option of sql/],
  [['acl', '--table', 't'], /--table is no option of acl/],
  [['sql', 'postgres'], /sql takes no further words/],
  [['status', '--grant', 'app'], /--grant is no option of status, but of sql/],
  [['status', '--table', 't'], /--table is none of the options for this URL: --key-prefix, --key/],
  [['status', '--url', 'postgres://h/d', '--key-prefix', 'p'], /--key-prefix is none of the options/],
  [['locks', '--url', 'mysql://h/d', '--key', 'a:*'], /--key is none of .*: --table, --schema/],
  [['locks', '--key', 'a:*', '--key-prefix', 'p'], /--key is the whole key of a lock: leave --key-prefix/],
  [['locks', '--key', 'job-lock:default:'], /--key: write one \* in the place of the name/],
  [['locks', '--key', '*:*'], /--key: write one \*/],
  [['locks', '--config', 'locks.mjs', '--key', '*'], /--config names the store whole: leave/],
  [['status', '--config', 'locks.mjs', '--table', 't'], /--config names the store whole: leave/],
])('%j cannot work', (argv, message) => {
  expect(problem(argv)).toMatch(message);
});

test('without a URL it says how to give one', () => {
  expect(problem(['status'], {})).toMatch(/set SCHEDULER_LOCK_URL, or give --url redis:\/\/host:6379/);
});

test('a "%" that the driver takes for itself is no mistake', () => {
  const url = 'postgres://me:50%@db/jobs';
  expect(read('status', '--url', url)).toMatchObject({ address: { url } });
});

describe('a URL that cannot work is never quoted:', () => {
  test.each([
    ['none at all', 'geheim'],
    ['a host alone', 'geheim:6379'],
    ['a protocol of something else', 'https://me:geheim@db'],
    ['a "#" in the password', 'postgres://me:pa#geheim@db/jobs'],
    ['a "/" in the password', 'redis://me:12/geheim@db'],
    ['a "?" behind it', 'mysql://me:12?geheim@db'],
    ['both', 'postgres://me:12/a?geheim@db/jobs'],
    ['a "%" in the password', 'redis://me:50%geheim@db'],
    ['the same for MySQL', 'mysql://me:50%geheim@db/jobs'],
    ['no host', 'redis:///geheim'],
    ['no port', 'redis://me:geheim@db:port'],
  ])('%s', (_what, url) => {
    const text = problem(['status', '--url', url]);
    expect(text).not.toContain('geheim');
    expect(text).toMatch(/URL/);
  });

  test('nor at the place of a word or an option', () => {
    const url = 'redis://me:geheim@db';
    for (const argv of [
      [url],
      ['status', url],
      ['status', `--ulr=${url}`],
      ['status', `--${url}`],
      ['-url', url],
    ])
      expect(problem(argv)).not.toContain('geheim');
  });
});
