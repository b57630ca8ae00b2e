import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { describeLockStore } from './cases/contract.js';
import { provideRedis, type RedisServer } from '../support/redis-server.js';
import { oncePerRule, redisContract, type TestClient } from './support/redis-subject.js';

let server: RedisServer;

beforeAll(async () => {
  server = await provideRedis();
}, 60_000);

afterAll(() => server.stop());

/** Has all cases, as has ioredis 6 without a prefix: redis-lock-store.spec.ts. */
const WHOLE = 'ioredis 5, keyPrefix app:';
const VARIANTS: [string, string | undefined, (url: string, options: object) => TestClient][] = [
  ['ioredis 6, keyPrefix app:', 'app:', (url, options) => new Redis(url, options)],
  ['ioredis 6, keyPrefix {app}:', '{app}:', (url, options) => new Redis(url, options)],
  ['ioredis 5, no keyPrefix', undefined, (url, options) => new Redis5(url, options)],
  ['ioredis 5, keyPrefix app:', 'app:', (url, options) => new Redis5(url, options)],
  ['ioredis 5, keyPrefix {app}:', '{app}:', (url, options) => new Redis5(url, options)],
];

for (const [what, keyPrefix, connect] of VARIANTS) {
  describe(`on a single server, ${what}`, () => {
    const contract = redisContract(() => connect(server.url, keyPrefix === undefined ? {} : { keyPrefix }));
    afterAll(() => contract.close());
    const register = what === WHOLE ? test : oncePerRule(test);
    describeLockStore('RedisLockStore', contract.options, { describe, test: register });
  });
}

describe('on a single server, a client that gives numbers as texts', () => {
  const contract = redisContract(() => new Redis(server.url, { stringNumbers: true }));
  afterAll(() => contract.close());
  // The rules whose answers have numbers.
  const some = (sentence: string, run: () => Promise<void>): void => {
    if (/^rule (2|4|6|9|1[5-8])\./.test(sentence)) test(sentence, run);
  };
  describeLockStore('RedisLockStore', contract.options, { describe, test: some });
});

test('the two versions of ioredis are really two', () => {
  expect(Redis5).not.toBe(Redis);
});
