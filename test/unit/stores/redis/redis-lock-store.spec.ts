import { describe, expect, test } from '@jest/globals';
import type { RedisClient } from '../../../../lib/index.js';
import { SchedulerLockConfigError } from '../../../../lib/base/errors.js';
import { RedisLockStore, type RedisLockStoreOptions } from '../../../../lib/stores/redis/index.js';

const URL = 'redis://127.0.0.1:1';

/** A client of the user's that notes the keys of each script. */
function notingClient(keyPrefix = '') {
  const keys: string[][] = [];
  const client = {
    status: 'ready',
    options: { keyPrefix },
    evalsha: async (_sha: string, count: number, ...rest: string[]) => {
      keys.push(rest.slice(0, count));
      return 1;
    },
    eval: async () => 1,
    connect: async () => undefined,
    on: () => undefined,
    off: () => undefined,
  };
  return { client: client as unknown as RedisClient, keys };
}

/** The keys of the lock `report` in a store with these options. */
async function keysOf(options?: RedisLockStoreOptions, keyPrefix?: string): Promise<string[]> {
  const { client, keys } = notingClient(keyPrefix);
  const store = new RedisLockStore(client, options);
  await store.acquire({ name: 'report', token: 'token', ttl: 1_000, holder: 'host' });
  return keys.flat();
}

function problemsOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (error) {
    if (error instanceof SchedulerLockConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('a lock is kept', () => {
  test('at scheduler:<name>:lock, with its state beside it', async () => {
    const keys = ['scheduler:report:lock', '{scheduler:report:lock}:state'];
    expect(await keysOf()).toEqual(keys);
    expect(await keysOf({ key: undefined, keyPrefix: undefined })).toEqual(keys);
    // A name of an option that there is not, without a value, says nothing.
    expect(await keysOf({ prefix: undefined } as RedisLockStoreOptions)).toEqual(keys);
  });

  test('at <keyPrefix>:<name>:lock', async () => {
    expect(await keysOf({ keyPrefix: 'jobs' })).toEqual(['jobs:report:lock', '{jobs:report:lock}:state']);
  });

  test('at key(name), rather than under the keyPrefix', async () => {
    const options = { key: (name: string) => `{app}:${name}`, keyPrefix: 'jobs' };
    expect(await keysOf(options)).toEqual(['{app}:report', '{app}:report:state']);
  });

  test('under the prefix of the client, which the client adds', async () => {
    expect(await keysOf({}, 'app:')).toEqual(['scheduler:report:lock', '{app:scheduler:report:lock}:state']);
  });
});

describe('refuses, when it is made,', () => {
  test.each<[unknown, string]>([
    [
      undefined,
      'connection: it is undefined. Perhaps a variable of the environment is not set. Give the URL of your Redis.',
    ],
    ['', 'connection: the URL is empty. Perhaps a variable of the environment is not set.'],
    [
      'http://host',
      'connection: a Redis URL begins with redis:// or rediss://, this one with http: A database needs another store: docs/stores/choose.md.',
    ],
  ])('the connection %p', (connection, problem) => {
    expect(problemsOf(() => new RedisLockStore(connection as string))).toEqual([problem]);
  });

  test.each<[object, string]>([
    [{ keyPrefix: '' }, "keyPrefix: '' is not valid. Give a text that is not empty."],
    [{ keyPrefix: 7 }, 'keyPrefix: 7 is not valid. Give a text that is not empty.'],
    [
      { key: 'locks:' },
      "key: 'locks:' is no function. Give one that makes the Redis key of a lock from its name.",
    ],
    [{ keyprefix: 'jobs' }, 'keyprefix: there is no such option here. Did you mean `keyPrefix`?'],
    [{ ttl: '1m' }, 'ttl: there is no such option here. There are keyPrefix, key.'],
  ])('the options %p', (options, problem) => {
    expect(problemsOf(() => new RedisLockStore(URL, options))).toEqual([problem]);
  });

  test('everything that is wrong, in one error', () => {
    expect(problemsOf(() => new RedisLockStore('', { key: 1 as never, keyPrefix: '' }))).toHaveLength(3);
  });
});

test('tells which names would share a key, or have none', () => {
  const key = (name: string): string => {
    if (name === 'fails') throw new Error('no such tenant');
    return name === 'none' ? '' : name.slice(0, 3);
  };
  const store = new RedisLockStore(URL, { key });
  expect(store.sharedKeys(['invoices', 'mail', 'invoices'])).toEqual([]);
  expect(store.sharedKeys(['invoices', 'inventory', 'none', 'fails'])).toEqual([
    'key: it gave "inv" for the lock "invoices" and for the lock "inventory", so that they would exclude each other. Give each name a key of its own; jobs that are to exclude each other share one name.',
    'key: it gave \'\' for the lock "none". Give a text that is not empty.',
    'key: it failed for the lock "fails": Error: no such tenant',
  ]);
});

test('has its place for a label, without secrets', () => {
  expect(new RedisLockStore('redis://user:secret@host:7000/2').label).toBe('Redis host:7000, database 2');
});
