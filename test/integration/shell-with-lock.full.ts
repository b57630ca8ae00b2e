import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { guard } from '../support/child.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { projectRoot } from '../support/machine.js';
import { until } from '../support/until.js';

/* The command with-lock, as the program that npm installs. */

jest.setTimeout(60_000);

/** A program that says that it runs, and ends with this code when it is told to, or after a time. */
const program = (code: number, after: string): string[] => [
  process.execPath,
  '-e',
  `process.on('SIGTERM', () => { console.log('told'); process.exit(${code}); });
   console.log('runs');
   setTimeout(() => process.exit(${code}), ${after});`,
];
const LONG = '1e6';

let redis: LocalRedis;
let store: RedisLockStore;
const running: Running[] = [];

beforeAll(async () => {
  redis = await startRedis();
  store = new RedisLockStore(redis.url);
  await store.init();
});
afterEach(async () => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
  await redis.command('FLUSHALL');
});
afterAll(async () => {
  await store.close();
  await redis.stop();
});

interface Running {
  readonly child: ChildProcess;
  out: string;
  err: string;
  readonly code: Promise<number | null>;
}

function withLock(...args: string[]): Running {
  const child = spawn(process.execPath, ['dist/show/cli/main.js', 'with-lock', ...args], {
    cwd: projectRoot,
    env: { ...process.env, SCHEDULER_LOCK_URL: redis.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  guard(child);
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const started: Running = { child, out: '', err: '', code };
  child.stdout.on('data', (text) => (started.out += String(text)));
  child.stderr.on('data', (text) => (started.err += String(text)));
  running.push(started);
  return started;
}

const runs = (one: Running): Promise<unknown> =>
  until(() => one.out.includes('runs'), { message: () => `the command to run: ${one.err}` });

async function stateOf(name: string): Promise<unknown> {
  const [lock] = await store.inspect([name]);
  return lock?.state;
}

test('the command runs under the lock, which is free when it has ended, with its exit code', async () => {
  const one = withLock('migrate', '--ttl', '1s', '--', ...program(7, '2500'));
  await runs(one);
  // Longer than its ttl, by a heartbeat.
  const others: unknown[] = [];
  await until(async () => {
    others.push(await stateOf('migrate'));
    return one.child.exitCode !== null;
  });
  expect(others.filter((state) => state === 'held').length).toBeGreaterThan(10);
  expect(await one.code).toBe(7);
  expect(await stateOf('migrate')).not.toBe('held');
});

test('one that finds the lock taken runs nothing, and ends with 75', async () => {
  await runs(withLock('migrate', '--', ...program(0, LONG)));
  const other = withLock('migrate', '--', ...program(0, '0'));
  expect(await other.code).toBe(75);
  expect(other.out).toBe('');
  expect(other.err).toMatch(/^Nothing was run: lock migrate is held by .+\.\n$/);
  expect(await withLock('another', '--', ...program(0, '0')).code).toBe(0);
});

test('with --wait it runs when the lock is free, and gives up when the time is over', async () => {
  const first = withLock('migrate', '--', ...program(0, LONG));
  await runs(first);
  const [patient, other] = [
    withLock('migrate', '--wait', '1m', '--', ...program(3, '0')),
    withLock('migrate', '--wait', '1500ms', '--', ...program(0, '0')),
  ];
  expect(await other.code).toBe(75);
  expect(patient.out).toBe('');
  first.child.kill('SIGTERM');
  expect(await patient.code).toBe(3);
});

test('SIGTERM is passed on, and the lock is given back', async () => {
  const one = withLock('migrate', '--', ...program(9, LONG));
  await runs(one);
  one.child.kill('SIGTERM');
  expect(await one.code).toBe(9);
  expect(one.out).toContain('told');
  expect(await stateOf('migrate')).not.toBe('held');
});

test('a command whose lock is lost is told to end, and has not succeeded', async () => {
  const one = withLock('migrate', '--ttl', '1s', '--', ...program(0, LONG));
  await runs(one);
  await until(async () => {
    // A renewal may come between the two.
    await redis.command('FLUSHALL');
    const taken = { name: 'migrate', token: randomUUID(), ttl: 60_000, holder: 'somebody' };
    return (await store.acquire(taken)).acquired;
  });
  expect(await one.code).toBe(75);
  expect(one.out).toContain('told');
  expect(one.err).toMatch(/somebody has taken it.*The command is told to end\.\n$/);
});

test.each([
  [['migrate', '--', 'no-such-program-anywhere'], 127, /ENOENT/],
  [['migrate', '--', projectRoot], 126, /EACCES/],
  [['migrate'], 2, /Say which lock, and what to run: with-lock <lock> -- <command>\./],
  [['--', 'true'], 2, /Say which lock/],
  [['migrate', '--ttl', 'soon', '--', 'true'], 2, /--ttl: 'soon' is no duration/],
  [['migrate', '--ttl', '1ms', '--', 'true'], 2, /--ttl: give 1s to 30d/],
  [['migrate', '--json', 'x', '--', 'true'], 2, /takes the name of one lock/],
  [['{', '--', 'true'], 2, /lock name .* is not valid/],
])('with-lock %p ends with %p', async (args, code, error) => {
  const one = withLock(...args);
  expect(await one.code).toBe(code);
  expect(one.err).toMatch(error);
  expect(one.out).toBe('');
});
