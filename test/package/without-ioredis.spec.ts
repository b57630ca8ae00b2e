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
  expect(await app.copies('ioredis')).toEqual([]);
});

test('both entries load without ioredis, and the memory store works', () => {
  expect(result).toMatchObject({
    memory: { ran: true, value: 'number' },
    store: { ran: true, value: 'number' },
    testing: 'unlocked',
  });
  expect(stderr).toBe('');
});

test('a URL asks for ioredis by an error that says what to do', () => {
  expect(result['url']).toEqual({
    name: 'SchedulerLockConfigError',
    code: 'SCHEDULER_LOCK_CONFIG',
    message: expect.stringMatching(/"ioredis" is needed .* not installed\. Run: npm install ioredis/),
  });
});
