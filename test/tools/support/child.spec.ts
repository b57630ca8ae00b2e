import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnChild, type TestChild } from '../../support/child.js';
import { isAlive, builtScript } from '../../support/machine.js';
import { runProgram } from '../../support/program.js';
import { until } from '../../support/until.js';

const CHILD = `
import { childMain } from '${builtScript('test/support/child.js')}';
childMain(async (parent) => {
  parent.on('echo', (message) => parent.send({ ...message, type: 'echoed' }));
  parent.on('throw', () => { throw new Error('as told'); });
  await parent.send({ type: 'ready', args: process.argv.slice(2), env: process.env.GREETING });
});
`;
/** Starts a server and a child, and ends or waits as told. */
const RUN = `
import { startRedis } from '${builtScript('test/support/local-redis.js')}';
import { spawnChild } from '${builtScript('test/support/child.js')}';
const server = await startRedis();
const child = await spawnChild(process.argv[2]);
child.pause();
process.send({ type: 'started', pids: [server.pid, child.pid], dir: server.dir });
process.on('message', () => process.exit(0));
`;

let folder: string;
let script: string;
let run: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'child-'));
  script = join(folder, 'child.mjs');
  run = join(folder, 'run.mjs');
  writeFileSync(script, CHILD);
  writeFileSync(run, RUN);
});

afterAll(() => rmSync(folder, { recursive: true }));

test('messages are waited for, and earlier ones remembered', async () => {
  const child = await spawnChild(script, { args: ['a'], env: { GREETING: 'hello' } });
  child.send({ type: 'echo', n: 1 });
  child.send({ type: 'echo', n: 2 });
  await expect(child.next((message) => message['n'] === 2)).resolves.toEqual({ type: 'echoed', n: 2 });
  await expect(child.next<{ n: number }>('echoed')).resolves.toEqual({ type: 'echoed', n: 1 });
  await expect(child.next('ready')).resolves.toEqual({ type: 'ready', args: ['a'], env: 'hello' });
  expect(child.messages).toHaveLength(3);
  await expect(child.next('echoed', 10)).rejects.toThrow('did not send the message "echoed" within 10 ms');
  await expect(child.stop()).resolves.toEqual({ code: null, signal: 'SIGTERM' });
});

test('the end of a child rejects who waits, with what it wrote', async () => {
  const child = await spawnChild(script);
  const waiting = child.next('echoed');
  child.send({ type: 'throw' });
  await expect(waiting).rejects.toThrow(/ended \(exit code 1\) before the message "echoed"[^]*as told/);
  await expect(child.ended()).resolves.toEqual({ code: 1, signal: null });
  await child.kill();
});

test('a child is frozen, thawed and killed', async () => {
  const child = await spawnChild(script);
  await child.next('ready');
  child.pause();
  child.send({ type: 'echo' });
  const patient = child.next('echoed', Infinity);
  await expect(child.next('echoed', 50)).rejects.toThrow(/did not send/);
  child.resume();
  await patient;
  await child.kill();
  expect(isAlive(child.pid)).toBe(false);
});

test('a child that does not end is killed when the limit has passed, and the error has what it wrote', async () => {
  const child = await spawnChild(script);
  await child.next('ready');
  await expect(child.ended(10)).rejects.toThrow(/did not end within 10 ms, and was killed; it sent: ready/);
  expect(isAlive(child.pid)).toBe(false);
});

test('a program that does not end is killed when the limit has passed, and the error has what it said', async () => {
  const program = `console.log(process.pid); console.error('so far'); setInterval(() => undefined, 1000);`;
  const failure = await runProgram(process.execPath, ['--eval', program], { limit: 3_000 }).catch(String);
  expect(failure).toMatch(/did not end within 3000 ms, and was killed. It said:\n(\d+\n)?(so far\n)?/);
  expect(await runProgram(process.execPath, ['--eval', 'console.log(1); process.exitCode = 3'])).toEqual({
    code: 3,
    stdout: '1\n',
    stderr: '',
    output: '1\n',
  });
});

const ends: [string, (child: TestChild) => void][] = [
  ['is killed', (child) => void child.kill()],
  ['is interrupted', (child) => process.kill(child.pid, 'SIGINT')],
  ['ends without stopping them', (child) => child.send({ type: 'end' })],
];

test.each(ends)('a run that %s leaves no server and no frozen child', async (_how, end) => {
  const child = await spawnChild(run, { args: [script] });
  const { pids, dir } = await child.next<{ pids: number[]; dir: string }>('started');
  expect(pids.every(isAlive)).toBe(true);
  end(child);
  await child.ended();
  await until(() => !pids.some(isAlive), { message: `the end of ${pids.join(' and ')}` });
  await until(() => !existsSync(dir), { message: `the end of ${dir}` });
});
