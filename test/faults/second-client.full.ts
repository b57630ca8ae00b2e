import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { SchedulerLockModuleOptions } from '../../lib/index.js';
import { startRedis, type LocalRedis } from '../support/local-redis.js';
import { hold, startApp } from './support/app.js';
import { faultSuite } from './support/suite.js';

faultSuite();

let server: LocalRedis;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(() => server.command('FLUSHALL'));
afterAll(() => server.stop());

/** Follows the recipe of https://redis.io/docs/latest/commands/set/ and knows nothing of this library. */
class PlainClient {
  readonly #token: string = randomUUID();

  constructor(private readonly key: string) {}

  async lock(ttl = 60_000): Promise<boolean> {
    return (await server.command('SET', this.key, this.#token, 'NX', 'PX', ttl)) === 'OK';
  }

  async unlock(): Promise<boolean> {
    const lua = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end`;
    return (await server.command('EVAL', lua, 1, this.key, this.#token)) === 1;
  }

  async renew(ttl = 60_000): Promise<boolean> {
    const lua = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end`;
    return (await server.command('EVAL', lua, 1, this.key, this.#token, ttl)) === 1;
  }

  async holds(): Promise<boolean> {
    return (await server.command('GET', this.key)) === this.#token;
  }
}

const CASES: [string, Pick<SchedulerLockModuleOptions, 'key' | 'keyPrefix'>, string][] = [
  ['the usual key', {}, 'scheduler:import:lock'],
  ['a key under a prefix of ours', { keyPrefix: '{app}:jobs' }, '{app}:jobs:import:lock'],
  ['the key of a ShedLock fleet', { key: (name) => `job-lock:default:${name}` }, 'job-lock:default:import'],
  // https://docs.nestjs.com/reliability/locks, "The store on Redis"
  [
    'the key of the store that @nestjs/locks documents',
    { key: (name) => `locks:key:${name}` },
    'locks:key:import',
  ],
];

test.each(CASES)('%s: a plain SET NX PX of another program excludes us', async (_, options, key) => {
  const app = await startApp({ connection: server.url, ttl: '1m', ...options });
  const other = new PlainClient(key);
  expect(await other.lock(30_000)).toBe(true);
  const refused = await app.locks.run('import', () => 'ran');
  expect(refused).toEqual({ ran: false, reason: 'held', expiresIn: expect.any(Number) });
  expect(refused).not.toMatchObject({ expiresIn: 60_000 });
  expect(await other.renew(30_000)).toBe(true);
  expect(await other.holds()).toBe(true);
  expect(await other.unlock()).toBe(true);
  await expect(app.locks.run('import', () => 'ran')).resolves.toEqual({ ran: true, value: 'ran' });
});

test.each(CASES)('%s: a plain SET NX PX of another program is excluded by us', async (_, options, key) => {
  const app = await startApp({ connection: server.url, ttl: '1m', heartbeat: 50, ...options });
  const other = new PlainClient(key);
  const { end } = await hold(app, 'import');
  expect(await other.lock()).toBe(false);
  // What it compares before it renews or deletes tells it that the lock is not its own.
  expect(await other.renew(1)).toBe(false);
  expect(await other.unlock()).toBe(false);
  await app.event('renewed', 'import', 2);
  expect(await other.lock()).toBe(false);
  await end();
  expect(app.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  expect(app.heard('lost')).toEqual([]);
  expect(await other.lock()).toBe(true);
});

test('a lease that another program has overwritten is lost, and our release does not free the other one', async () => {
  const app = await startApp({ connection: server.url, ttl: '1m', heartbeat: 50 });
  const other = new PlainClient('scheduler:import:lock');
  const { end } = await hold(app, 'import');
  await server.command('DEL', 'scheduler:import:lock');
  // Unless the heartbeat has restored the lease in between.
  while (!(await other.lock())) await server.command('DEL', 'scheduler:import:lock');
  const lost = await app.event('lost');
  expect(lost).toMatchObject({ reason: 'taken' });
  expect(lost).not.toHaveProperty('holder');
  await end();
  expect(app.heard('released')).toMatchObject([{ outcome: 'aborted', confirmed: false }]);
  expect(await other.holds()).toBe(true);
});

test('a lock that another program has set for good excludes us, and is not said to expire', async () => {
  const app = await startApp({ connection: server.url, ttl: '1m' });
  await server.command('SET', 'scheduler:import:lock', 'for good');
  expect(await app.locks.run('import', () => 'ran')).toEqual({ ran: false, reason: 'held' });
  expect(await server.command('GET', 'scheduler:import:lock')).toBe('for good');
  expect(await server.command('PTTL', 'scheduler:import:lock')).toBe(-1);
});
