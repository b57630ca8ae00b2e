import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { until } from '../support/until.js';

/** A file of tests whose only test times out while its child process goes on. */
const FILE = `
import { spawn } from 'node:child_process';
test('hangs', async () => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  globalThis[Symbol.for('scheduler-lock:guarded')] = new Map([[child.pid, 'sleep 600']]);
  child.unref();
  console.log('pid ' + child.pid);
  await new Promise(() => undefined);
}, 50);`;

/** Runs Jest on a file, with the environment of this project. Returns all that it prints. */
async function run(file: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-left-'));
  try {
    await writeFile(join(folder, 'leaves.test.mjs'), file);
    return await runIn(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runIn(folder: string): Promise<string> {
  const environment = join(projectRoot, 'tools/environment.mjs');
  const config = {
    rootDir: folder,
    testEnvironment: environment,
    testMatch: ['**/*.test.mjs'],
    transform: {},
  };
  const jest = join(projectRoot, 'node_modules/jest/bin/jest.js');
  const args = ['--experimental-vm-modules', '--no-warnings', jest, '--config', JSON.stringify(config)];
  return new Promise((resolve) =>
    execFile(process.execPath, args, { cwd: projectRoot, timeout: 50_000 }, (_error, out, err) =>
      resolve(out + err),
    ),
  );
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('a process that a test has left behind ends with its file, and is told of', async () => {
  const output = await run(FILE);
  const pid = Number(/pid (\d+)/.exec(output)?.[1]);
  expect(pid).toBeGreaterThan(0);
  expect(output).toContain(`Left behind, and killed: process ${pid}, sleep 600`);
  // A machine that is busy takes its time to bury it.
  await until(() => !isRunning(pid), { message: 'the end of the process' });
});

test('a file that leaves a connection fails, and is named', async () => {
  const output = await run(`
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
test('leaves a connection', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  await once(connect(server.address().port, '127.0.0.1'), 'connect');
  server.close();
});`);
  expect(output).toMatch(
    /Left open by .*leaves\.test\.mjs, and closed: .*a connection from port \d+ to port \d+/,
  );
  expect(output).toMatch(/Test Suites: 1 failed/);
});

test.each(['new Redis(1, options)', "new Cluster([{ host: '127.0.0.1', port: 1 }], options)"])(
  'so does one that leaves a client which goes on connecting: %s',
  async (client) => {
    const output = await run(`
import { createRequire } from 'node:module';
const { Cluster, Redis } = createRequire(${JSON.stringify(join(projectRoot, 'package.json'))})('ioredis');
const options = { retryStrategy: () => 600_000, clusterRetryStrategy: () => 600_000 };
test('leaves a client', async () => {
  const client = ${client}.on('error', () => undefined);
  await new Promise((resolve) => client.on('reconnecting', resolve));
});`);
    expect(output).toMatch(/Left open by .*leaves\.test\.mjs, and closed: a client that goes on connecting/);
    expect(output).toMatch(/Test Suites: 1 failed/);
  },
);
