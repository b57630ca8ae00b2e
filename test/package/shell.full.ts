import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../support/program.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { FreshApp } from './support/fresh-app.js';
import { npm } from './support/tarball.js';

jest.setTimeout(300_000);

/** An application without a driver. */
let app: FreshApp;
let redis: RedisServer;

beforeAll(async () => {
  [app, redis] = await Promise.all([FreshApp.bare(), provideRedis()]);
});

afterAll(async () => {
  await app?.remove();
  await redis?.stop();
});

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the program that npm has put beside those of other packages. */
async function shell(...args: string[]): Promise<Said> {
  const program = join(app.folder, 'node_modules/.bin/nestjs-scheduler-lock');
  const env = { ...process.env, NODE_OPTIONS: '', SCHEDULER_LOCK_URL: redis.url };
  const { code, stdout: out, stderr: err } = await runProgram(program, args, { cwd: app.folder, env });
  return { code: Number(code), out, err };
}

test('npx finds the shell, and it says what it can do', async () => {
  const out = await npm(['exec', '--no', '--', 'nestjs-scheduler-lock', '--help'], app.folder);
  expect(out).toContain('SCHEDULER_LOCK_URL');
  const { version } = JSON.parse(await app.read('node_modules/nestjs-scheduler-lock/package.json')) as {
    version: string;
  };
  expect(await shell('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test('an answer that cannot be written is no success', async () => {
  const program = join(app.folder, 'node_modules/.bin/nestjs-scheduler-lock');
  const { status, stderr } = spawnSync(`"${program}" --help > /dev/full`, { shell: true, encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toMatch(/^The answer could not be written: .*ENOSPC.*\n$/);
});

test('without a driver it says what to install; with one it reads the store', async () => {
  const place = ['status', '--key-prefix', uniquePrefix('shell')];
  const without = await shell(...place);
  expect(without).toMatchObject({ code: 2, out: '' });
  expect(without.err).toMatch(/"ioredis" is needed .* is not installed\. Run: npm install ioredis/);
  for (const [url, driver] of [
    ['postgres://127.0.0.1:1/x', 'pg'],
    ['mysql://127.0.0.1:1/x', 'mysql2'],
  ] as const)
    expect((await shell('status', '--url', url)).err).toMatch(new RegExp(`Run: npm install ${driver}\\.\n$`));
  await npm(['install', '--no-save', '--no-package-lock', 'ioredis'], app.folder);
  const status = await shell(...place);
  expect(status).toMatchObject({ code: 1, err: '' });
  expect(status.out).toMatch(/^Redis .*, 0 instances up, .*\nNo instance has been seen/);
});

test('a module of the application says where the store is, with a key of its own', async () => {
  const keyOf = '(name) => `jobs/${name}`';
  await writeFile(
    join(app.folder, 'locks.mjs'),
    `export default () => ({ connection: ${JSON.stringify(redis.url)}, key: ${keyOf} });\n`,
  );
  await writeFile(join(app.folder, 'locks.cjs'), `module.exports = { connection: 'nonsense' };\n`);
  await writeFile(join(app.folder, 'empty.mjs'), `export const connection = '';\n`);
  expect(await shell('locks', '--config', 'locks.mjs')).toMatchObject({ code: 0, err: '' });
  expect((await shell('locks', '--config', 'locks.cjs')).err).toMatch(/^This is not a URL\. Write redis/);
  expect((await shell('locks', '--config', 'empty.mjs')).err).toMatch(
    /exports neither connection nor store. Write: /,
  );
  expect((await shell('locks', '--config', 'none.mjs')).err).toMatch(
    /'none.mjs' cannot be loaded: Cannot find module/,
  );
});
