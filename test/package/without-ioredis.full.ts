import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { FreshApp } from './support/fresh-app.js';

jest.setTimeout(300_000);

let app: FreshApp;
let result: Record<string, unknown>;
let stderr: string;

beforeAll(async () => {
  app = await FreshApp.bare();
  ({ result, stderr } = await app.report('main.js'));
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
