import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { FreshApp } from './support/fresh-app.js';
import { makeTarball } from './support/tarball.js';

jest.setTimeout(300_000);

let app: FreshApp;
let result: Record<string, unknown>;
let stderr: string;

beforeAll(async () => {
  const tarball = await makeTarball();
  app = await FreshApp.install('bare', tarball.path);
  await tarball.remove();
  const child = await app.start('main.js');
  result = await child.next('result', 120_000);
  await child.exited;
  ({ stderr } = child);
});

afterAll(() => app?.remove());

test('no driver is installed along with the package', async () => {
  for (const driver of ['ioredis', 'pg', 'mysql2']) expect(await app.copies(driver)).toEqual([]);
});

test('all entries load without a driver, and the memory store works', () => {
  expect(result).toMatchObject({
    memory: { ran: true, value: 'number' },
    store: { ran: true, value: 'number' },
    databases: ['function', 'function'],
    testing: 'unlocked',
  });
  expect(stderr).toBe('');
});

test.each(['url', 'redis'])('a URL (%s) asks for ioredis by an error that says what to do', (given) => {
  expect(result[given]).toEqual({
    name: 'SchedulerLockConfigError',
    code: 'SCHEDULER_LOCK_CONFIG',
    message: expect.stringMatching(/"ioredis" is needed .* not installed\. Run: npm install ioredis/),
  });
});
