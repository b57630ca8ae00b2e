import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SchedulerLockConfigError } from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { projectRoot } from '../support/machine.js';
import { startRedis, type LocalRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { hold, startApp, type TestApp } from './support/app.js';
import { ACL_CHANNELS, ACL_COMMANDS, ACL_KEYS } from './support/acl.js';
import { look } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

const PASSWORD = 'correct-horse-battery';
/** ioredis asks for the first one; a look at all locks needs the second, hints the others, and without them there are neither. */
const UNTRIED = new Set(['+info', '+scan', '+publish', '+subscribe', '+unsubscribe']);

let server: LocalRedis;
let warnings: jest.SpiedFunction<typeof console.warn>;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(async () => {
  await server.command('FLUSHALL');
  await server.command('SCRIPT', 'FLUSH');
  await server.command('ACL', 'LOG', 'RESET');
  warnings = jest.spyOn(console, 'warn').mockReturnValue();
});
afterEach(() => warnings.mockRestore());
afterAll(() => server.stop());

const user = (commands: readonly string[], keys: readonly string[] = ACL_KEYS): Promise<unknown> =>
  server.command('ACL', 'SETUSER', 'jobs', 'reset', 'on', `>${PASSWORD}`, ...keys, ...commands);

const start = (password = PASSWORD): Promise<TestApp> =>
  startApp({
    connection: { host: server.host, port: server.port, username: 'jobs', password },
    ttl: '1m',
    heartbeat: 50,
  });

/** The whole life of a lease, with every script in both of its forms. Resolves if nothing was refused. */
async function cycle(): Promise<void> {
  const app = await start();
  const refusals = (): Error[] => app.heard('outage-started').map(({ error }) => error);
  const { end } = await hold(app, 'job');
  await app.event('renewed');
  const second = await start();
  expect(await second.locks.run('job', () => 'ran')).toMatchObject({
    reason: 'held',
    expiresIn: expect.any(Number),
  });
  await server.command('FLUSHALL');
  await server.command('SCRIPT', 'FLUSH');
  await until(() => app.heard('renewed').some(({ restored }) => restored));
  await end();
  expect(app.heard('released')).toMatchObject([{ confirmed: true }]);
  const kept = await app.locks.run('kept', { atLeast: '30s' }, () => 'ran');
  expect(kept).toEqual({ ran: true, value: 'ran' });
  expect(await second.locks.run('kept', () => 'ran')).toMatchObject({ reason: 'cooling-down' });
  expect(refusals()).toEqual([]);
  await Promise.all([app.close(), second.close()]);
}

const refused = async (starting: Promise<unknown>): Promise<SchedulerLockConfigError> => {
  const error: unknown = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SchedulerLockConfigError);
  return error as SchedulerLockConfigError;
};

test('a user with the commands and keys that the page on Redis lists can do all that is needed', async () => {
  await user(ACL_COMMANDS);
  await cycle();
  expect(warnings.mock.calls).toEqual([]);
  // With a fresh connection and a server that has lost its scripts.
  await cycle();
});

test.each(ACL_COMMANDS.filter((command) => !UNTRIED.has(command)))(
  'a user without %s stops the start, with an error that names the command',
  async (missing) => {
    await user(ACL_COMMANDS.filter((command) => command !== missing));
    const { message } = await refused(start());
    expect(message.toLowerCase()).toContain(missing.slice(1));
    expect(message).toContain('docs/stores/redis.md');
    expect(message).not.toContain(PASSWORD);
    expect(await server.command('DBSIZE')).toBe(0);
  },
);

test('a user without some commands is told all of them, and what prints the rule', async () => {
  await user(ACL_COMMANDS.filter((command) => command !== '+pttl' && command !== '+hset'));
  const { message } = await refused(start());
  expect(message).toContain('may not run PTTL, HSET');
  expect(message).toContain('npx nestjs-scheduler-lock acl');
});

test('a user without +info is told by ioredis that it cannot see whether the server is ready', async () => {
  await user(ACL_COMMANDS.filter((command) => command !== '+info'));
  await start();
  expect(warnings.mock.calls).toEqual([[expect.stringContaining('Skipping the ready check')]]);
});

test('a user with what that page lists for inspect() sees every lock, and one without is told what is missing', async () => {
  await user(ACL_COMMANDS);
  const app = await start();
  const { end } = await hold(app, 'job');
  expect(await app.locks.inspect()).toMatchObject([{ name: 'job', state: 'held' }]);
  for (const missing of ['+scan', '+hgetall']) {
    await server.command('ACL', 'SETUSER', 'jobs', missing.replace('+', '-'));
    await expect(app.locks.inspect()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('npx nestjs-scheduler-lock acl'),
    });
    await server.command('ACL', 'SETUSER', 'jobs', missing);
  }
  await end();
  expect(app.heard('outage-started')).toEqual([]);
});

/** A store with this user, and a lease of it whose run is remembered. */
async function history() {
  const store = new RedisLockStore({
    host: server.host,
    port: server.port,
    username: 'jobs',
    password: PASSWORD,
  });
  await store.init();
  const request = { name: 'job', token: 'token', ttl: 60_000, holder: 'here', job: 'job', history: true };
  const kept = { count: 10, age: 60_000 };
  const run = async (): Promise<void> => {
    const grant = await store.acquire(request);
    if (!grant.acquired) throw new Error(grant.reason);
    const lease = { ...request, fencingToken: grant.fencingToken };
    expect(await store.release(lease, { record: { kept, duration: 1 } })).toEqual({ released: true });
  };
  const beat = { instance: 'here', startedAt: 0, every: 1, leads: [], catalogue: 'a', jobs: [], left: false };
  const all = async (): Promise<void> => {
    await run();
    await store.history.interrupted({ name: 'job', fencingToken: 1, holder: 'gone', job: 'job', kept });
    expect(await store.history.entries({ name: 'job', limit: 10 })).toHaveLength(2);
    const miss = { name: 'job', job: 'job', instance: 'here', reason: 'held', count: 1, kept, tick: 1 };
    expect(await store.history.miss(miss)).toMatchObject({ missed: true });
    expect(await store.history.beat(beat)).toMatchObject({ known: true });
    expect(await store.history.instances()).toMatchObject([{ instance: 'here' }]);
  };
  return { store, run, all };
}

test('a user with what that page lists for histories can keep and read them', async () => {
  await user(ACL_COMMANDS);
  const { store, all } = await history();
  const before = await server.command('DBSIZE');
  await all();
  expect(before).toBe(0);
  expect(await server.command('ACL', 'LOG')).toEqual([]);
  await store.close();
});

test('a user who may have the keys of locks only stops the start, with an error that names the others', async () => {
  await user(ACL_COMMANDS, ['~scheduler:*:lock', '~{scheduler:*:lock}:state']);
  const { message } = await refused(start());
  expect(message).toMatch(/NOPERM.*"\{scheduler:[^"]*:lock\}:state:history".*scheduler-lock acl/);
});

test('a user needs +select besides for another database than 0', async () => {
  const inDatabase1 = (): Promise<TestApp> =>
    startApp({
      connection: { host: server.host, port: server.port, username: 'jobs', password: PASSWORD, db: 1 },
    });
  await user([...ACL_COMMANDS, '+select']);
  const app = await inDatabase1();
  await expect(app.locks.run('job', () => 'ran')).resolves.toMatchObject({ ran: true });
  await user(ACL_COMMANDS);
  const { message } = await refused(inDatabase1());
  expect(message).toContain('select');
});

test('the page on Redis lists what these tests give', async () => {
  const text = await readFile(join(projectRoot, 'docs/stores/redis.md'), 'utf8');
  const page = text.replaceAll(/\s+/g, ' ');
  expect(page).toContain(`${ACL_KEYS.join(' ')} ${ACL_CHANNELS} ${ACL_COMMANDS.join(' ')}`);
});

test.each(ACL_KEYS)(
  'a user without the keys %s stops the start, with an error that names keys',
  async (missing) => {
    await user(
      ACL_COMMANDS,
      ACL_KEYS.filter((pattern) => pattern !== missing),
    );
    const { message } = await refused(start());
    expect(message).toMatch(/"scheduler:[^"]*:lock" and "\{scheduler:[^"]*:lock\}:state"/);
    expect(message).not.toContain(PASSWORD);
  },
);

test('a wrong password stops the start, with an error that does not show it', async () => {
  await user(ACL_COMMANDS);
  const { message } = await refused(start('wrong-staple'));
  expect(message).toMatch(/connection: Redis rejected the credentials: WRONGPASS/);
  expect(message).not.toContain('wrong-staple');
});

test('a wrong password in a URL stops the start, with an error that does not show it', async () => {
  await user(ACL_COMMANDS);
  const url = `redis://jobs:wrong-staple@${server.host}:${server.port}`;
  const error = await refused(startApp({ connection: url }));
  expect(error.message).toMatch(/connection: Redis rejected the credentials: WRONGPASS/);
  expect(`${error.stack} ${String(error.cause)}`).not.toContain('wrong-staple');
});

test('no password where one is needed stops the start', async () => {
  await server.command('ACL', 'SETUSER', 'default', 'off');
  try {
    const { message } = await refused(startApp({ connection: server.url }));
    expect(message).toMatch(/connection: Redis asks for a password and was given none, as in .* \(NOAUTH/);
  } finally {
    // The only way back in for a client without a name.
    await server.restart();
  }
});

test('a command that is taken away while jobs run is an outage, and leaves no half a grant', async () => {
  await user(ACL_COMMANDS);
  const app = await start();
  await server.command('ACL', 'SETUSER', 'jobs', '-get');
  expect(await app.locks.run('job', () => 'ran')).toMatchObject({ reason: 'store-unavailable' });
  expect(await look(server, 'job')).toMatchObject({ token: null, fence: 0 });
  await server.command('ACL', 'SETUSER', 'jobs', '+get');
  await expect(app.locks.run('job', () => 'ran')).resolves.toMatchObject({ ran: true });
});
