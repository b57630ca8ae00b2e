import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { type ControlInfo, SchedulerLock, SchedulerLockInsight } from '../../lib/index.js';
import { projectRoot } from '../support/machine.js';
import { runProgram } from '../support/program.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { type Said, shell } from '../support/shell.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';

/* The five switches of the shell on Redis, by whoever `--as` names, and by the user of the machine. */

const JOB = 'Invoices.send';
/** Of the shell in this process. */
const USER = 'anna@laptop';

let redis: RedisServer;
let prefix: string;
let app: TestApp;
let insight: SchedulerLockInsight;
/** What the next runs do. */
let work: () => Promise<void>;

beforeEach(async () => {
  redis = await provideRedis();
  prefix = uniquePrefix('shell');
  work = async () => undefined;
  @Injectable()
  class Invoices {
    // Not by itself.
    @Cron('0 0 1 1 *')
    @SchedulerLock({ name: 'invoices' })
    send(): Promise<void> {
      return work();
    }
  }
  app = await startApp([Invoices], { connection: redis.url, keyPrefix: prefix, insight: { beat: '1s' } });
  insight = app.get(SchedulerLockInsight);
  await until(async () => (await insight.job(JOB)) !== undefined);
});
afterEach(async () => {
  await closeApps();
  await redis.stop();
});

const tell = (...argv: string[]): Promise<Said> => shell(redis.url, ...argv, '--key-prefix', prefix);

const newestAct = async (): Promise<ControlInfo | undefined> =>
  (await insight.controls({ lock: 'invoices' }))[0];

/** A run that goes on until it is told to end, and its fencing token, as `locks` shows it. */
async function held(): Promise<{ fencing: string; end: () => Promise<void> }> {
  const hold = gate();
  work = () => hold.opened;
  const asked = tell('run', JOB, '--wait', '1m');
  await until(async () => (await insight.runs({ lock: 'invoices' }))[0]?.outcome === 'running');
  const { out } = await tell('locks');
  const fencing = /^invoices +held .* (\d{16}) /m.exec(out)?.[1] ?? '';
  const end = async (): Promise<void> => {
    hold.open();
    await asked;
  };
  return { fencing, end };
}

describe.each([
  ['with --as', ['--as', 'bob'], 'bob'],
  ['without --as', [], USER],
])('%s', (_, as, actor) => {
  test('pause and resume', async () => {
    const paused = await tell('pause', JOB, '--reason', 'migration', '--for', '1h', ...as);
    expect(paused).toMatchObject({ code: 0, err: '' });
    expect(paused.out).toMatch(new RegExp(`^Done: Invoices\\.send is paused by ${actor} until .*\\.\n$`));
    expect(await newestAct()).toMatchObject({ action: 'pause', actor, reason: 'migration' });
    const again = await tell('pause', JOB, '--reason', 'mine', ...as);
    expect(again).toMatchObject({ code: 1, out: expect.stringContaining('Resume it first.') });
    expect(await tell('run', JOB, ...as)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^Not started: it is paused by .*\(migration\)/),
    });
    const resumed = await tell('resume', JOB, '--reason', 'done', ...as);
    expect(resumed).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^It is resumed: /) });
    expect(await newestAct()).toMatchObject({ action: 'resume', actor, reason: 'done' });
    expect(await tell('resume', JOB, ...as)).toMatchObject({
      code: 1,
      out: 'Nothing was changed: the lock invoices is not paused.\n',
    });
  });

  test('run', async () => {
    const ran = await tell('run', JOB, '--wait', '1m', ...as);
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out).toMatch(/^It ran on .*, with fencing token \d+: completed\.\n$/);
    expect(await newestAct()).toMatchObject({ action: 'run', actor });
    work = () => Promise.reject(new Error('the disk is full'));
    const failed = await tell('run', JOB, '--wait', '1m', ...as);
    expect(failed).toMatchObject({
      code: 1,
      out: expect.stringContaining('failed (Error: the disk is full).'),
    });
  });

  test('break, with the number that `locks` shows', async () => {
    const { fencing, end } = await held();
    const other = String(Number(fencing) + 1);
    const argv = ['--reason', 'it hangs', ...as];
    expect(await tell('break', 'invoices', '--fencing', other, ...argv)).toMatchObject({
      code: 1,
      out: expect.stringContaining(`with fencing token ${fencing}.`),
    });
    const broken = await tell('break', 'invoices', '--fencing', fencing, ...argv);
    expect(broken).toMatchObject({ code: 0, err: '' });
    expect(broken.out).toMatch(/^Ended the lease of /);
    expect(await newestAct()).toMatchObject({ action: 'break', actor, reason: 'it hangs' });
    expect(await tell('break', 'invoices', '--fencing', fencing, ...argv)).toMatchObject({
      code: 1,
      out: 'Nothing was changed: nobody has the lock invoices any more.\n',
    });
    await end();
  });

  test('forget, once no instance has the job', async () => {
    const argv = ['forget', JOB, '--reason', 'it is gone', ...as];
    expect(await tell(...argv)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^Nothing was changed: Invoices\.send is guarded on /),
    });
    expect((await tell('status')).out).toContain(JOB);
    await closeApps();
    const forgotten = 'Forgotten: Invoices.send is shown again when an instance guards it.\n';
    expect(await tell(...argv)).toEqual({ code: 0, err: '', out: forgotten });
    expect((await tell('status')).out).not.toContain(JOB);
    expect((await tell('why', JOB)).out).toContain(`It is forgotten, by ${actor} at `);
    expect((await tell('runs', JOB)).out).toMatch(new RegExp(`forgotten .*by ${actor}.*it is gone`));
  });

  test('redeliver', async () => {
    work = () => Promise.reject(new Error('the disk is full'));
    expect((await tell('run', JOB, '--wait', '1m')).code).toBe(1);
    expect((await tell('locks')).out).toMatch(/^invoices +free .* 1, the newest failed /m);
    work = async () => undefined;
    const back = await tell('redeliver', 'invoices', '--reason', 'there is room', ...as);
    expect(back).toEqual({ code: 0, err: '', out: 'Put 1 dead letter of the lock invoices back.\n' });
    const act = { action: 'redeliver', actor, reason: 'there is room', count: 1 };
    expect(await insight.controls({ lock: 'invoices' })).toContainEqual(expect.objectContaining(act));
    expect((await tell('redeliver', 'invoices', ...as)).code).toBe(1);
    await until(async () => (await insight.runs({ lock: 'invoices' }))[0]?.outcome === 'completed');
  });
});

test.each([
  ['a job that nobody knows', ['pause', 'Invoices.sent', '--reason', 'x'], /No instance knows a job/],
  ['a job that nobody knows', ['resume', 'Invoices.sent'], /No instance knows a job/],
  ['a job that nobody knows', ['run', 'Invoices.sent'], /No instance knows a job/],
  ['no reason', ['pause', JOB], /say why/],
  ['no reason', ['forget', JOB], /say why/],
  ['no fencing token', ['break', 'invoices', '--reason', 'x'], /--fencing: .* as `locks` shows it/],
  ['a name that is too long', ['run', JOB, '--as', 'x'.repeat(201)], /--as: .* does not say who/],
  ['no lock', ['redeliver'], /Say which lock/],
])('%s is an error, with exit code 2: %j', async (_what, argv, message) => {
  const { code, out, err } = await tell(...argv);
  expect(code).toBe(2);
  expect(out + err).toMatch(message);
  expect(await newestAct()).toBeUndefined();
});

test('a store that is away is none of them: exit code 3', async () => {
  for (const argv of [
    ['pause', JOB, '--reason', 'x'],
    ['resume', JOB],
    ['run', JOB],
    ['redeliver', 'x'],
  ])
    expect(await shell('redis://127.0.0.1:1', ...argv)).toMatchObject({ code: 3, out: '' });
});

test('the program itself names the user of the machine, and the machine', async () => {
  const argv = ['pause', JOB, '--reason', 'migration', '--for', '1h', '--key-prefix', prefix];
  const program = join(projectRoot, 'dist/show/cli/main.js');
  const env = { SCHEDULER_LOCK_URL: redis.url };
  const { code, stdout } = await runProgram(process.execPath, [program, ...argv], { env });
  const actor = `${userInfo().username}@${hostname()}`.slice(0, 60);
  expect(stdout).toContain(`is paused by ${actor} until `);
  expect(code).toBe(0);
  expect(await newestAct()).toMatchObject({ action: 'pause', actor, reason: 'migration' });
});
