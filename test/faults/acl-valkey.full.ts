import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { aclText } from '../../lib/stores/redis/acl.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { serverProgram, SERVERS, serverUnderTest } from '../support/servers.js';
import { ACL_COMMANDS, ACL_KEYS } from './support/acl.js';
import { hold, startApp } from './support/app.js';
import { faultSuite } from './support/suite.js';
import { Runs, standing } from './support/turns.js';

/* Valkey, Redict, and Redis since 8 tell of a right that a script lacks in other words than Redis 7. */

faultSuite();

let server: LocalRedis;
beforeAll(async () => {
  const valkey = SERVERS.find(({ key }) => key === 'valkey-8');
  const other = serverUnderTest() ?? valkey;
  server = await startRedis(other && { program: await serverProgram(other) });
}, 300_000);
beforeEach(async () => {
  await server.command('FLUSHALL');
  await server.command('ACL', 'LOG', 'RESET');
});
afterAll(() => server.stop());

const PASSWORD = 'correct-horse-battery';
const connection = () => ({ host: server.host, port: server.port, username: 'jobs', password: PASSWORD });
const user = (commands: readonly string[]): Promise<unknown> =>
  server.command('ACL', 'SETUSER', 'jobs', 'reset', 'on', `>${PASSWORD}`, ...ACL_KEYS, ...commands);
const without = (all: readonly string[], missing: string) => all.filter((command) => command !== missing);

test.each(ACL_COMMANDS.filter((command) => !/info|scan|publish|subscribe/.test(command)))(
  'without %s the start stops, and nothing stays behind',
  async (missing) => {
    await user(without(ACL_COMMANDS, missing));
    await expect(startApp({ connection: connection() })).rejects.toMatchObject({
      name: 'SchedulerLockConfigError',
      message: expect.stringMatching(new RegExp(`${missing.slice(1)}.*docs/stores/redis\\.md`, 'i')),
    });
    expect(await server.command('DBSIZE')).toBe(0);
  },
);

test('a right that is taken away while jobs run is told with what to do', async () => {
  await user(ACL_COMMANDS);
  const store = new RedisLockStore(connection());
  await store.init();
  await server.command('ACL', 'SETUSER', 'jobs', '-hset');
  await expect(
    store.acquire({ name: 'job', token: 'token', ttl: 1_000, holder: 'here' }),
  ).rejects.toMatchObject({
    refused: true,
    message: expect.stringContaining('npx nestjs-scheduler-lock acl'),
  });
  await store.close();
});

test('a user as the command `acl` prints it can do all that there is, and the server logs no denial', async () => {
  await server.command('ACL', 'DELUSER', 'jobs');
  const [printed = ''] = aclText({ user: 'jobs' }).split('\n').slice(-1);
  const [command = '', ...args] = printed.replace('<password>', PASSWORD).split(' ');
  await server.command(command, ...args);
  const runs = new Runs();
  const app = await startApp({ connection: connection() });
  const holder = await hold(app, 'lock');
  const calls = await standing(runs, [app], 3);
  await holder.end();
  await Promise.all(calls);
  expect(await app.locks.inspect()).toMatchObject([{ name: 'lock' }]);
  expect(app.heard('outage-started')).toEqual([]);
  expect(await server.command('ACL', 'LOG')).toEqual([]);
});
