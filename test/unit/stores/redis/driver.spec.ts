import { beforeEach, expect, jest, test } from '@jest/globals';
import { systemClock } from '../../../../lib/base/clock.js';
import { loadDriver } from '../../../../lib/stores/redis/driver.js';
import { createClient as createOwnClient } from '../../../../lib/stores/redis/own-client.js';

class Redis {}

/** Makes `import('ioredis')` answer this. */
function provide(make: () => object): void {
  jest.unstable_mockModule('ioredis', make);
}

const notFound = (message: string, code: string): Error => Object.assign(new Error(message), { code });

const missing = (name: string) => (): never => {
  throw notFound(`Cannot find package '${name}' imported from /app/main.js`, 'ERR_MODULE_NOT_FOUND');
};

beforeEach(() => {
  jest.resetModules();
  jest.unstable_mockModule('redis', missing('redis'));
});

test.each([
  ['with names', { Redis }],
  ['known as CommonJS only', { default: { Redis } }],
])('the driver is found in a module %s', async (_what, module) => {
  provide(() => module);
  await expect(loadDriver()).resolves.toEqual({ Redis });
});

test.each([
  ["Cannot find package 'ioredis' imported from /app/main.js", 'ERR_MODULE_NOT_FOUND'],
  ["Cannot find module 'ioredis'\nRequire stack:\n- /app/main.js", 'MODULE_NOT_FOUND'],
])('a driver that is not there is to be installed: %j', async (message, code) => {
  provide(() => {
    throw notFound(message, code);
  });
  await expect(loadDriver()).rejects.toMatchObject({
    code: 'SCHEDULER_LOCK_CONFIG',
    problems: [
      'connection: the package "ioredis" is needed to connect to Redis and is not installed. Run: npm install ioredis (or redis, its 5 or 6)',
    ],
  });
});

test.each([
  ['a chunk of a bundle', "Cannot find module './1.main.js'"],
  ['what the driver needs', "Cannot find module '@ioredis/commands'"],
])('what is missing is not said to be the driver if it is %s', async (_what, message) => {
  provide(() => {
    throw notFound(`${message}\nRequire stack:\n- /app/main.js`, 'MODULE_NOT_FOUND');
  });
  const help =
    'Of a bundle, see that all chunks are deployed, or leave "ioredis" out of it (`externals`, `external`).';
  await expect(loadDriver()).rejects.toMatchObject({
    problems: [
      `connection: the package "ioredis" is needed to connect to Redis and could not be loaded: ${message}. ${help}`,
    ],
  });
});

test('a module without the class is no driver', async () => {
  provide(() => ({ default: {} }));
  await expect(loadDriver()).rejects.toThrow(/could not be loaded: it has no class "Redis"\./);
});

const createClient = (): object => ({});

test.each([
  ['with names', { createClient }],
  ['known as CommonJS only', { default: { createClient } }],
])('without ioredis, node-redis is taken, in a module %s', async (_what, module) => {
  provide(missing('ioredis'));
  jest.unstable_mockModule('redis', () => module);
  await expect(loadDriver()).resolves.toEqual({ createClient });
});

test('of both drivers ioredis is taken, and without either it is asked for', async () => {
  provide(() => ({ Redis }));
  jest.unstable_mockModule('redis', () => ({ createClient }));
  await expect(loadDriver()).resolves.toEqual({ Redis });
  jest.resetModules();
  provide(missing('ioredis'));
  jest.unstable_mockModule('redis', missing('redis'));
  await expect(loadDriver()).rejects.toThrow(/"ioredis" is needed .* is not installed/);
});

test('options of ioredis without ioredis are refused with what fits', async () => {
  provide(missing('ioredis'));
  jest.unstable_mockModule('redis', () => ({ createClient }));
  await expect(createOwnClient(systemClock, { host: 'localhost' })).rejects.toMatchObject({
    problems: [
      'connection: options are those of ioredis, which could not be loaded. Run: npm install ioredis, or give a URL or a client of node-redis.',
    ],
  });
});
