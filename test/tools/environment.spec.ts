import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';

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

/** Runs Jest on that file, with the environment of this project. Returns all that it prints. */
async function runIn(folder: string): Promise<string> {
  await writeFile(join(folder, 'hangs.test.mjs'), FILE);
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
  const folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-left-'));
  try {
    const output = await runIn(folder);
    const pid = Number(/pid (\d+)/.exec(output)?.[1]);
    expect(pid).toBeGreaterThan(0);
    expect(output).toContain(`Left behind, and killed: process ${pid}, sleep 600`);
    expect(isRunning(pid)).toBe(false);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
