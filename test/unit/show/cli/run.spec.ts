import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { SchedulerLockConfigError } from '../../../../lib/base/errors.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { until } from '../../../support/until.js';
import { instance, job, run, at, storeAway, storeOf } from './support/fleet.js';
import { TestShell } from './support/shell.js';
import { locksOnly } from '../../../support/locks-only.js';

const fine = storeOf({
  instances: [instance('api-1:1:aa', [job('Ok.job')])],
  entries: [run('Ok.job', at(12, 20))],
});

test('--help and --version open no store', async () => {
  const shell = new TestShell(storeAway);
  expect(await shell.run('--help')).toBe(0);
  expect(shell.out).toContain('status');
  shell.out = '';
  expect(await shell.run('--version')).toBe(0);
  expect({ out: shell.out, err: shell.err }).toEqual({ out: '1.2.3\n', err: '' });
});

test('Ctrl+C ends the wait of a pause for a run, and the lock is paused', async () => {
  const store = new MemoryLockStore();
  const lease = { name: 'report', token: randomUUID(), ttl: 600_000, holder: 'api-1:1:aa' };
  await store.acquire(lease);
  const shell = new TestShell(store);
  const code = shell.run('pause', '--lock', 'report', '--reason', 'the provider is down', '--wait', '1h');
  await until(() => shell.err.includes('Waiting behind'));
  shell.interrupt();
  expect(await code).toBe(0);
  expect(shell.out).toContain('The run of api-1:1:aa goes on.\n');
  expect((await store.inspect(['report']))[0]).toHaveProperty('paused.reason', 'the provider is down');
  expect(shell.open).toBe(0);
});

describe('exits', () => {
  test('with 2 and one line for what cannot work', async () => {
    const shell = new TestShell(fine);
    expect(await shell.run('stauts')).toBe(2);
    expect({ out: shell.out, err: shell.err }).toEqual({
      out: '',
      err: "There is no command 'stauts'. Did you mean status?\n",
    });
  });

  test.each([
    [['runs', '--limit', '0'], '--limit: 0 is no whole number from 1 to 1000.'],
    [['runs', '--limit', 'ten'], '--limit: NaN is no whole number from 1 to 1000.'],
    [['why', 'A.b', '--at', '3 am'], "--at: '3 am' is no time."],
    [['why', ' '], "Job: ' ' is no name."],
    [['pause', 'A.b'], '--reason: undefined does not say why.'],
    [['pause', 'A.b', '--reason', 'x', '--for', '31d'], "--for: '31d' is no duration up to 30 d"],
    [
      ['break', 'a', '--reason', 'x'],
      '--fencing: undefined is none. Give that of the lease, as `locks` shows it.',
    ],
    [['run', 'A.b', '--args', '{"secret":1}'], '--args: that is no JSON array'],
  ])(
    'with 2 for a value that insight or a switch refuses, by the name of its option: %j',
    async (argv, err) => {
      const shell = new TestShell(new MemoryLockStore());
      expect(await shell.run(...argv)).toBe(2);
      expect(shell.err).toContain(err);
      expect({ out: shell.out, open: shell.open }).toEqual({ out: '', open: 0 });
    },
  );

  test('with 2 for credentials or a table that do not work', async () => {
    const shell = new TestShell(() => {
      throw new SchedulerLockConfigError(['store: the table "x" is missing.\nCREATE TABLE x']);
    });
    expect(await shell.run('status')).toBe(2);
    expect(shell.err).toBe('The table "x" is missing. CREATE TABLE x.\n');
  });

  test('with 2 for a store that remembers nothing, unless only its locks are asked for', async () => {
    const shell = new TestShell({ ...fine, keeps: locksOnly.keeps });
    expect(await shell.run('status')).toBe(2);
    expect(shell.err).toContain('keeps no histories');
    expect(await shell.run('locks')).toBe(0);
    expect(shell.open).toBe(0);
  });

  test('with 3 and one line if the store is away', async () => {
    const shell = new TestShell(storeAway);
    expect(await shell.run('status')).toBe(3);
    expect({ out: shell.out, err: shell.err }).toEqual({
      out: '',
      err: 'Redis cannot be reached: connect ECONNREFUSED 10.0.0.7:6379.\n',
    });
  });

  test('with 3 if the store fails later, and closes it', async () => {
    const shell = new TestShell({ ...fine, inspect: async () => storeAway('The store has gone.') });
    expect(await shell.run('locks')).toBe(3);
    expect({ err: shell.err, open: shell.open }).toEqual({ err: 'The store has gone.\n', open: 0 });
  });
});

test('the help for a URL that is missing shows the form of a URL, with user and password', async () => {
  const shell = new TestShell(fine);
  shell.env = {};
  expect(await shell.run('status')).toBe(2);
  expect(shell.err).toContain('postgres://user:password@host/database');
});

describe('no secret is shown:', () => {
  const url = 'redis://me:ge%23heim@db:6379';

  test.each(['status', 'locks'])('%s', async (command) => {
    const message = `cannot reach ${url}, password ge#heim or ge%23heim`;
    const failing = { ...fine, inspect: async () => storeAway(message) };
    for (const store of [(): never => storeAway(message), failing]) {
      const shell = new TestShell(store);
      shell.env = { SCHEDULER_LOCK_URL: url };
      expect(await shell.run(command)).toBe(3);
      expect(await shell.run(command, '--url', url)).toBe(3);
      expect(shell.out + shell.err).toContain('cannot reach');
      expect(shell.out + shell.err).not.toMatch(/ge(#|%23)heim/);
    }
  });

  test('a password in the query of a URL', async () => {
    const shell = new TestShell(() => storeAway('refused: geheim'));
    expect(await shell.run('status', '--url', 'postgres://db/jobs?user=me&password=geheim')).toBe(3);
    expect(shell.err).toBe('refused: ***.\n');
  });
});

describe('--watch', () => {
  test('looks again every 2 s, until Ctrl+C: then it exits with 0, and the store is closed', async () => {
    const shell = new TestShell(fine);
    shell.terminal = { columns: 100, rows: 3 };
    const code = shell.run('status', '--watch');
    await until(() => shell.clock.pending === 1);
    const first = shell.out;
    expect(first.startsWith('\u001b[H')).toBe(true);
    expect(first.endsWith('\u001b[J')).toBe(true);
    // No more lines than the terminal has, the one of the cursor included.
    expect(first.split('\n')).toHaveLength(3);
    await shell.clock.advance(1_999);
    expect(shell.out).toBe(first);
    await shell.clock.advance(1);
    await until(() => shell.out.length > first.length && shell.clock.pending === 1);
    expect(shell.out).toBe(first + first);
    shell.interrupt();
    expect(await code).toBe(0);
    expect(shell.open).toBe(0);
  });

  test('in 80 x 24 with many jobs no line wraps, those that need attention stay, and what is left out is counted', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `InvoiceJobsOfTheNorth.sendReminders${i}`);
    const failed = run(names[29] ?? '', at(12, 20), {
      outcome: 'failed',
      error: 'no mail server '.repeat(9),
    });
    const shell = new TestShell(
      storeOf({
        instances: [
          instance(
            'api-1:1:aa',
            names.map((name) => job(name)),
          ),
        ],
        entries: [...names.slice(0, 29).map((name) => run(name, at(12, 20))), failed],
      }),
    );
    shell.terminal = { columns: 80, rows: 24 };
    const code = shell.run('status', '--watch');
    await until(() => shell.clock.pending === 1);
    // oxlint-disable-next-line no-control-regex -- colours and the cursor take no column
    const lines = shell.out.replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, '').split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines).toHaveLength(24);
    expect(lines[4]).toMatch(/^InvoiceJobsOfTheNorth\.sendReminders29 +failing .*…$/);
    expect(lines[22]).toBe('… and 12 lines more');
    shell.interrupt();
    expect(await code).toBe(0);
  });

  test('with --json it is one line each', async () => {
    const shell = new TestShell(fine);
    const code = shell.run('status', '--watch', '--json');
    await until(() => shell.clock.pending === 1);
    await shell.clock.advance(2_000);
    await until(() => shell.lines.length === 2 && shell.clock.pending === 1);
    for (const line of shell.lines) expect(JSON.parse(line)).toMatchObject({ up: 1, attention: false });
    shell.interrupt();
    expect(await code).toBe(0);
  });

  test('goes on while the store is away', async () => {
    let away = true;
    const store = {
      ...fine,
      inspect: async () => (away ? storeAway('The store has gone.') : []),
    };
    const shell = new TestShell(store);
    const code = shell.run('status', '--watch');
    await until(() => shell.clock.pending === 1);
    expect(shell.lines).toEqual(['The store has gone.']);
    away = false;
    await shell.clock.advance(2_000);
    await until(() => shell.out.includes('1 instance up') && shell.clock.pending === 1);
    shell.interrupt();
    expect(await code).toBe(0);
  });

  test('ends while the store does not answer', async () => {
    const shell = new TestShell({ ...fine, inspect: () => new Promise<never>(() => undefined) });
    const code = shell.run('status', '--watch');
    await shell.clock.advance(1);
    shell.interrupt();
    expect(await code).toBe(0);
    expect(shell.open).toBe(0);
  });
});
