import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { closeApps, startApp } from './app.js';

let server: LocalRedis;

beforeAll(async () => {
  server = await startRedis();
});
afterEach(closeApps);
afterAll(() => server.stop());

async function warnings(options: object = { connection: server.url }): Promise<string[]> {
  const app = await startApp([], { ...options });
  return app.logs.own.filter((line) => line.startsWith('warn') && line.includes('maxmemory'));
}

const set = async (policy: string, limit: string): Promise<void> => {
  await server.command('CONFIG', 'SET', 'maxmemory-policy', policy);
  await server.command('CONFIG', 'SET', 'maxmemory', limit);
};

test.each(['allkeys-lru', 'volatile-ttl'])(
  'a Redis that evicts (%s) is one warning at the start, with the remedy',
  async (policy) => {
    await set(policy, '100mb');
    expect(await warnings()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^warn: Keys are deleted in Redis .* when its memory is full \\(maxmemory-policy ${policy}\\): .*CONFIG SET maxmemory-policy noeviction`,
        ),
      ),
    ]);
  },
);

test('one that does not evict, and one whose memory has no limit, are none', async () => {
  await set('noeviction', '100mb');
  expect(await warnings()).toEqual([]);
  await set('allkeys-lru', '0');
  expect(await warnings()).toEqual([]);
});

test('a user without the right for INFO starts without a warning', async () => {
  await set('allkeys-lru', '100mb');
  await server.command('ACL', 'SETUSER', 'jobs', 'on', '>secret', '~*', '&*', '+@all', '-info');
  const { host, port } = server;
  const app = await startApp([], {
    connection: { host, port, username: 'jobs', password: 'secret' },
  });
  expect(app.logs.own.filter((line) => !line.startsWith('log'))).toEqual([]);
});
