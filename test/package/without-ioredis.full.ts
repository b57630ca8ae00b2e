import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { FreshApp } from './support/fresh-app.js';
import { npm } from './support/tarball.js';

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
  for (const driver of ['ioredis', 'pg', 'mysql2', 'mongodb']) expect(await app.copies(driver)).toEqual([]);
});

test('all entries load without a driver, and the memory store works', () => {
  expect(result).toMatchObject({
    memory: { ran: true, value: 'number' },
    store: { ran: true, value: 'number' },
    databases: ['function', 'function'],
    mongo: 'function',
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

describe('metrics, in both builds', () => {
  const modules = {
    SchedulerLockPrometheusModule: 'prom-client',
    SchedulerLockOtelModule: '@opentelemetry/api',
  };
  const cases = ['esm', 'cjs'].flatMap((build) =>
    Object.entries(modules).map(([module, name]) => [`${build} ${module}`, module, name] as const),
  );

  test('a module whose package is not installed says what to install', async () => {
    const { result: metrics, stderr: said } = await app.report('metrics.js');
    for (const [key, module, name] of cases) {
      const refusal = expect.stringMatching(
        new RegExp(
          `^SchedulerLockConfigError: .*${module}: the package "${name}" is needed and is not installed\\. Run: npm install ${name}$`,
          's',
        ),
      );
      expect({ key, ...Object(metrics[key]) }).toEqual({
        key,
        plain: refusal,
        'forRoot()': refusal,
        alone: refusal,
      });
    }
    expect(said).toBe('');
  });

  test('with its package it starts beside SchedulerLockModule, and without that it says what to import', async () => {
    await npm(['install', '--no-save', '--no-package-lock', ...Object.values(modules)], app.folder);
    const { result: metrics, stderr: said } = await app.report('metrics.js');
    for (const [key, module] of cases) {
      const alone = expect.stringMatching(
        new RegExp(
          `^SchedulerLockConfigError: .*${module}: this application has no SchedulerLockModule.* Add SchedulerLockModule\\.forRoot\\(`,
          's',
        ),
      );
      expect({ key, ...Object(metrics[key]) }).toEqual({
        key,
        plain: 'started',
        'forRoot()': 'started',
        alone,
      });
    }
    expect(said).toBe('');
  });
});
