import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { currentLock, SchedulerLock, SchedulerLockService } from '../../lib/index.js';
import { activeHandles, newHandles, until } from '../support/until.js';
import { startRedis, type LocalRedis } from '../support/local-redis.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { hold, job, startApp, type TestApp } from './support/app.js';
import { lockKey, userClient } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';
import { watchTimers, type TimerWatch } from './support/timers.js';

faultSuite();

let server: LocalRedis;
let proxy: TcpProxy;
let timers: TimerWatch;
let handles: string[];

beforeAll(async () => {
  server = await startRedis();
});
beforeEach(async () => {
  await server.command('FLUSHALL');
  proxy = await startProxy(server);
  // Connections of the helpers that are about to close must not make up for one of ours.
  await until(() => !activeHandles().includes('TCPSocketWrap'), { message: 'the helpers to disconnect' });
  handles = activeHandles();
  timers = watchTimers();
});
afterEach(async () => {
  timers.stop();
  await proxy.stop();
});
afterAll(() => server.stop());

/** Nothing is left of an application that has been closed: asked at once, not when timers have fired by themselves. */
async function expectNoTimer(): Promise<void> {
  // Node tells of a cancelled timer a turn later.
  await setImmediate();
  await setImmediate();
  expect(timers.pending()).toEqual([]);
}

/** The connection ends on both sides. */
const disconnected = (): Promise<unknown> =>
  until(() => proxy.connections === 0 && !newHandles(handles).includes('TCPSocketWrap'), {
    message: () => `all connections to be closed; open: ${newHandles(handles).join(', ')}`,
  });

const start = (): Promise<TestApp> =>
  startApp({ connection: proxy.url, ttl: '1m', heartbeat: 50, shutdownTimeout: 50 });

const FAULTS: [string, (app: TestApp) => Promise<unknown>][] = [
  ['has done nothing', async () => undefined],
  [
    'has run jobs',
    async (app) => {
      const { end } = await hold(app, 'job');
      await app.event('renewed');
      await end();
    },
  ],
  ['has a job that does not end', (app) => hold(app, 'job')],
  [
    'has lost its connection during a job',
    async (app) => {
      await hold(app, 'job');
      await proxy.refuse();
      await app.event('renewal-failed');
    },
  ],
  [
    'has a release to try again',
    async (app) => {
      const { end } = await hold(app, 'job');
      await proxy.refuse();
      await end();
      await app.event('outage-started');
    },
  ],
  [
    'has a frozen connection',
    async (app) => {
      proxy.freeze();
      await app.locks.run('job', () => undefined);
    },
  ],
];

test.each(FAULTS)(
  'an application that %s leaves no timer and no connection when it is closed',
  async (_, happen) => {
    const app = await start();
    await happen(app);
    await app.close();
    await expectNoTimer();
    proxy.thaw();
    await proxy.refuse(false);
    await disconnected();
  },
);

test('an application that cannot start leaves no timer and no connection', async () => {
  await server.command('CONFIG', 'SET', 'requirepass', 'secret');
  await until(() => timers.pending().length === 0, { message: 'the helper to disconnect' });
  try {
    await expect(start()).rejects.toThrow('Redis asks for a password');
    await expectNoTimer();
    await disconnected();
  } finally {
    const admin = new Redis(server.port, server.host, { password: 'secret' });
    await admin.config('SET', 'requirepass', '');
    await admin.quit();
  }
});

test("a user's client is as it was when the application is closed: open, with the listeners it had", async () => {
  const client = userClient(proxy.url);
  await until(() => client.status === 'ready');
  const before = client.eventNames().map((name) => [name, client.listenerCount(name)]);
  const app = await startApp({ connection: client, ttl: '1m', heartbeat: 50 });
  const { end } = await hold(app, 'job');
  await app.event('renewed');
  proxy.cut();
  await until(() => app.heard('renewed').length > 1);
  await end();
  await app.close();
  await expectNoTimer();
  expect(client.eventNames().map((name) => [name, client.listenerCount(name)])).toEqual(before);
  await expect(client.ping()).resolves.toBe('PONG');
  client.disconnect();
  await disconnected();
});

@Injectable()
class Jobs {
  readonly ran: string[] = [];
  readonly gate = job();

  constructor(readonly locks: SchedulerLockService) {}

  @SchedulerLock('job')
  async work(): Promise<string> {
    this.ran.push(currentLock().holder);
    await this.gate.body();
    return currentLock().holder;
  }
}

test('two applications in one process with the same class and two stores do not see each other', async () => {
  const [first, second] = await Promise.all([
    startApp({ connection: proxy.url, instanceId: 'first', heartbeat: 50, ttl: '1m' }, [Jobs]),
    startApp({ store: 'memory', instanceId: 'second', heartbeat: 50, ttl: '1m' }, [Jobs]),
  ]);
  const [one, two] = [first.context.get(Jobs), second.context.get(Jobs)];
  const runs = [one.work(), two.work()];
  await Promise.all([one.gate.started, two.gate.started]);
  await Promise.all([first.event('renewed'), second.event('renewed')]);
  for (const [app, id] of [
    [first, 'first'],
    [second, 'second'],
  ] as const)
    expect(new Set(app.events.map(({ instance }) => instance))).toEqual(new Set([id]));
  two.gate.end();
  await expect(runs[1]).resolves.toBe('second');
  await second.close();
  // The other goes on, with its heartbeat and its connection.
  const renewals = first.heard('renewed').length;
  await until(() => first.heard('renewed').length > renewals);
  expect(await server.command('EXISTS', lockKey('job'))).toBe(1);
  one.gate.end();
  await expect(runs[0]).resolves.toBe('first');
  expect(first.heard('released')).toMatchObject([{ confirmed: true }]);
  expect([one.ran, two.ran]).toEqual([['first'], ['second']]);
  await expect(two.work()).resolves.toBeUndefined();
  expect(two.ran).toEqual(['second']);
});

test('a job of one application that calls another one takes the lock there: the lease is not theirs', async () => {
  const [first, second] = await Promise.all([
    startApp({ store: 'memory', instanceId: 'first' }),
    startApp({ store: 'memory', instanceId: 'second' }),
  ]);
  const nested = await first.locks.run('job', (outer) =>
    second.locks.run('job', (inner) => [outer.holder, inner.holder]),
  );
  expect(nested).toEqual({ ran: true, value: { ran: true, value: ['first', 'second'] } });
  expect(second.heard('acquired')).toHaveLength(1);
});

test('two applications on one Redis exclude each other, though they share a process', async () => {
  const [first, second] = await Promise.all([start(), start()]);
  const { end } = await hold(first, 'job');
  expect(await second.locks.run('job', () => 'ran')).toMatchObject({
    ran: false,
    reason: 'held',
    holder: first.locks.instanceId,
  });
  await end();
  await expect(second.locks.run('job', () => 'ran')).resolves.toMatchObject({ ran: true });
});
