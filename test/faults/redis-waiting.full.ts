import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { LeaderElection, type LeaderHooks, SchedulerLeader, SchedulerLock } from '../../lib/index.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { ACL_CHANNELS, ACL_COMMANDS, ACL_KEYS } from './support/acl.js';
import { hold, logged, startApp, type TestApp } from './support/app.js';
import { faultSuite } from './support/suite.js';
import { inOrder, Runs, standing } from './support/turns.js';

faultSuite();

let server: LocalRedis;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(() => server.command('FLUSHALL'));
afterAll(() => server.stop());

const start = (more: object = {}): Promise<TestApp> =>
  startApp({ connection: server.url, ttl: '3s', ...more });

let runs: Runs;
beforeEach(() => void (runs = new Runs()));
afterEach(() => expect(runs.overlaps).toEqual([]));

test('a Redis that restarts empty grants nobody in line a lock that its holder has, and keeps their order', async () => {
  // Longer than a restart takes on a busy machine.
  const patient = { ttl: '30s', heartbeat: '3s' };
  const [one, two] = [await start(patient), await start(patient)];
  const holder = await hold(one, 'lock');
  const calls = await standing(runs, [one, two], 8);
  await server.kill();
  await server.restart();
  await until(() => one.heard('renewed', 'lock').some(({ restored }) => restored));
  expect(runs.order).toEqual([]);
  // All of them are in line again: each asks when its connection is back.
  await until(async () => (await server.command('ZCARD', '{scheduler:lock:lock}:state:line')) === 8);
  await holder.end();
  await Promise.all(calls);
  expect(runs.order).toEqual(inOrder(8));
});

test('a Redis that is frozen for longer than a call takes ends no wait', async () => {
  const [one, two] = [await start(), await start()];
  const holder = await hold(one, 'lock');
  const calls = await standing(runs, [one, two], 4);
  server.pause();
  await two.event('outage-started');
  server.resume();
  await two.event('outage-ended');
  await holder.end();
  await Promise.all(calls);
  expect(runs.order).toEqual(inOrder(4));
});

test('connections that break while the lock is handed over cost nobody a turn', async () => {
  const apps = [await start(), await start(), await start()];
  const holder = await hold(apps[0] as TestApp, 'lock');
  const calls = await standing(runs, apps, 20);
  // Each turn costs the time after which a call asks that hears nothing.
  const breaking = new AbortController();
  const breaks = (async () => {
    while (!breaking.signal.aborted) {
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await sleep(20);
    }
  })();
  await holder.end();
  const results = await Promise.all(calls);
  breaking.abort();
  await breaks;
  expect(results.filter(({ ran }) => ran)).toHaveLength(20);
  expect(runs.order).toEqual(inOrder(20));
});

test('a client that deletes the key of the lock lets the first in line run, and no other', async () => {
  const app = await start();
  const other = await start();
  // Another program, which follows the recipe of Redis.
  await server.command('SET', 'scheduler:lock:lock', 'a-token-of-its-own', 'PX', '60000');
  const calls = await standing(runs, [app, other], 3);
  await server.command('DEL', 'scheduler:lock:lock');
  await Promise.all(calls);
  expect(runs.order).toEqual(inOrder(3));
});

test('a user with the rights that the page on Redis lists can wait, and one who may not subscribe asks more often', async () => {
  const connection = { host: server.host, port: server.port, username: 'jobs', password: 'secret-enough' };
  const grant = (rights: readonly string[]) =>
    server.command('ACL', 'SETUSER', 'jobs', 'reset', 'on', '>secret-enough', ...ACL_KEYS, ...rights);
  await grant([...ACL_COMMANDS, ACL_CHANNELS]);
  const one = await startApp({ connection, insight: false });
  const holder = await hold(one, 'lock');
  const calls = await standing(runs, [one], 3);
  await holder.end();
  await Promise.all(calls);
  expect([runs.order, logged()]).toEqual([inOrder(3), [expect.stringMatching(/^log: /)].slice(1)]);
  expect(one.heard('outage-started')).toEqual([]);

  await grant(ACL_COMMANDS.filter((right) => !/subscribe|publish/.test(right)));
  const two = await startApp({ connection, insight: false });
  const again = await hold(two, 'lock');
  const later = [runs.call(two, 'a')];
  await two.event('waiting', 'lock');
  await until(async () => {
    later.push(runs.call(two, 'b'));
    await two.event('waiting', 'lock', later.length);
    return logged(/Calls in line|calls in line/).length > 0;
  });
  expect(logged(/calls in line/)).toEqual([expect.stringMatching(/^warn: .*NOPERM.*scheduler-lock acl/)]);
  await again.end();
  await Promise.all(later);
  expect(two.heard('outage-started')).toEqual([]);
});

test.each(['waits', 'is queued'])(
  'a user who may not subscribe is told so with the first call that %s',
  async (what) => {
    @Injectable()
    class Webhooks {
      ran = 0;
      @SchedulerLock({ name: 'lock', onHeld: 'queue' })
      async came(): Promise<void> {
        this.ran += 1;
      }
    }
    const rights = ACL_COMMANDS.filter((right) => !/subscribe/.test(right));
    const user = ['jobs', 'reset', 'on', '>secret-enough', ...ACL_KEYS, ACL_CHANNELS];
    await server.command('ACL', 'SETUSER', ...user, ...rights);
    const connection = { host: server.host, port: server.port, username: 'jobs', password: 'secret-enough' };
    const app = await startApp({ connection, insight: false }, [Webhooks]);
    const webhooks = app.context.get(Webhooks);
    const holder = await hold(app, 'lock');
    const call = what === 'waits' ? runs.call(app, 'a') : webhooks.came();
    await until(() => logged(/calls in line/).length > 0);
    expect(logged(/calls in line/)).toEqual([expect.stringMatching(/^warn: .*NOPERM.*scheduler-lock acl/)]);
    await holder.end();
    await call;
    await until(() => what === 'waits' || webhooks.ran === 1);
    expect(logged(/calls in line/)).toHaveLength(1);
  },
);

@Injectable()
@LeaderElection('feed', { ttl: '1h' })
class Feed implements LeaderHooks {
  onElected(): void {}
  onRevoked(): void {}
}

test('a leader that resigns is followed at once, however long its ttl is', async () => {
  const startFeed = (): Promise<TestApp> => startApp({ connection: server.url }, [Feed]);
  const leads = (app: TestApp): boolean => app.context.get(SchedulerLeader).isLeader('feed');
  const one = await startFeed();
  await until(() => leads(one));
  const two = await startFeed();
  await until(async () => (await server.command('ZCARD', '{scheduler:feed:lock}:state:line')) === 1);
  await one.context.get(SchedulerLeader).resign('feed');
  await until(() => leads(two));
});

test('a call of greater priority has the next turn, however many others keep coming', async () => {
  const apps = [await start(), await start()];
  const coming = new AbortController();
  const others: Promise<unknown>[] = [];
  const stream = (async () => {
    for (let i = 0; !coming.signal.aborted; i++) {
      const { signal } = coming;
      others.push(
        runs.call(apps[i % 2] as TestApp, 'webhook', { signal }).catch((error: unknown) => {
          if (error !== signal.reason) throw error;
        }),
      );
      await sleep(5);
    }
  })();
  await until(() => runs.order.length > 20);
  for (let turn = 0; turn < 20; turn++) await runs.call(apps[turn % 2] as TestApp, 'cron', { priority: 1 });
  coming.abort();
  await Promise.all([stream, ...others]);
  const all = apps.flatMap((app) => app.heard('acquired', 'lock'));
  const began = all.toSorted((a, b) => a.fencingToken - b.fencingToken).map(({ at }) => at);
  const waited = apps.flatMap((app) => app.heard('waiting')).filter(({ priority }) => priority === 1);
  const overtaken = waited.map(({ at: since }) => {
    const turn = runs.order.findIndex((who, index) => who === 'cron' && (began[index] ?? 0) >= since);
    return began.filter((at, index) => at > since && index < turn).length;
  });
  expect(overtaken.length).toBeGreaterThan(10);
  // One that was called before it came may still begin.
  expect(Math.max(...overtaken)).toBeLessThanOrEqual(1);
});

test('ten thousand calls of one process wait, and leave', async () => {
  const patient = { ttl: '3m', storeTimeout: '1m' };
  const [many, one] = [await start(patient), await start(patient)];
  const holder = await hold(one, 'lock');
  const calls = new AbortController();
  const waits = Array.from({ length: 10_000 }, () =>
    many.locks.run('lock', { wait: '1h', signal: calls.signal }, () => undefined),
  );
  const ended = Promise.allSettled(waits);
  const inLine = (): Promise<unknown> => server.command('ZCARD', '{scheduler:lock:lock}:state:line');
  // On a machine that does other things, this process computes for a while.
  await until(async () => (await inLine()) === 10_000, { timeout: 90_000, message: '10,000 calls in line' });
  const last = runs.call(one, 'last');
  await one.event('waiting');
  calls.abort();
  expect(new Set((await ended).map((end) => (end.status === 'rejected' ? end.reason : end)))).toEqual(
    new Set([calls.signal.reason]),
  );
  await until(async () => (await inLine()) === 1, { timeout: 90_000, message: 'all but one to leave' });
  await holder.end();
  expect(await last).toMatchObject({ ran: true });
}, 240_000);
