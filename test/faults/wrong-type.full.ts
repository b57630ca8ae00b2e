import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startRedis, type LocalRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { hold, logged, startApp, type TestApp } from './support/app.js';
import { lockKey, stateKey } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

let server: LocalRedis;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(() => server.command('FLUSHALL'));
afterAll(() => server.stop());

const start = (): Promise<TestApp> => startApp({ connection: server.url, ttl: '1m', heartbeat: 50 });

const KEYS: [string, (name: string) => string, (key: string) => Promise<unknown>][] = [
  ['lock', lockKey, (key) => server.command('RPUSH', key, 'not', 'ours')],
  ['state', stateKey, (key) => server.command('SET', key, 'not ours')],
];

test.each(KEYS)(
  'a %s key of the wrong type keeps that lock alone from running, and is one log line for all its ticks',
  async (_, keyOf, occupy) => {
    const app = await start();
    const key = keyOf('broken');
    await occupy(key);
    const type = await server.command('TYPE', key);
    for (let tick = 0; tick < 5; tick++) {
      expect(await app.locks.run('broken', () => 'ran')).toMatchObject({
        reason: 'store-unavailable',
        error: { code: 'LOCK_STATE', lock: 'broken', message: expect.stringContaining(key) },
      });
      await expect(app.locks.run('fine', () => 'ran')).resolves.toMatchObject({ ran: true });
    }
    expect(logged()).toEqual([
      expect.stringMatching(
        /^error: Lock "broken" cannot be taken or renewed: Redis refused the call: (ERR Error running script .*: )?WRONGTYPE/,
      ),
    ]);
    // Nothing was changed: neither what was there nor the other key of the lock.
    expect(await server.command('TYPE', key)).toBe(type);
    expect(await server.command('EXISTS', lockKey('broken'), stateKey('broken'))).toBe(1);
    await server.command('DEL', key);
    await expect(app.locks.run('broken', () => 'ran')).resolves.toMatchObject({ ran: true });
    expect(logged()).toHaveLength(2);
    expect(logged()[1]).toMatch(/^log: Lock "broken" is available again after .*; 5 runs were skipped$/);
  },
);

/**
 * At once, as the heartbeat would write back what is gone for a moment. A lease that has its lock is renewed without a look at its state, but
 * for the first time and once an hour.
 */
const REPLACE = `
redis.call('RENAME', KEYS[1], KEYS[2])
if KEYS[2] ~= KEYS[3] then redis.call('DEL', KEYS[3]) end`;

test.each(KEYS)(
  'a %s key that gets the wrong type during a job is an error of that lease alone: the batch is renewed',
  async (_, keyOf, occupy) => {
    const app = await start();
    const names = ['one', 'broken', 'two'];
    const held = await Promise.all(names.map((name) => hold(app, name)));
    const key = keyOf('broken');
    await occupy('something else');
    await server.command('EVAL', REPLACE, '3', 'something else', key, lockKey('broken'));
    const failed = await app.event('renewal-failed', 'broken');
    expect(failed.error).toMatchObject({ code: 'LOCK_STATE', lock: 'broken' });
    const renewals = (name: string): number => app.heard('renewed', name).length;
    const before = {
      one: renewals('one'),
      two: renewals('two'),
      failures: app.heard('renewal-failed').length,
    };
    await until(
      () =>
        renewals('one') > before.one + 2 &&
        renewals('two') > before.two + 2 &&
        app.heard('renewal-failed', 'broken').length > before.failures,
    );
    expect(app.heard('renewal-failed').filter(({ lock }) => lock !== 'broken')).toEqual([]);
    expect(logged()).toEqual([
      expect.stringMatching(
        /^error: Lock "broken" cannot be taken or renewed: Redis refused the call: (ERR Error running script .*: )?WRONGTYPE/,
      ),
    ]);
    await Promise.all(held.map(({ end }) => end()));
    expect(
      app
        .heard('released')
        .filter(({ confirmed }) => confirmed)
        .map(({ lock }) => lock),
    ).toEqual(['one', 'two']);
    expect(logged()).toHaveLength(1);
    expect(await server.command('EXISTS', lockKey('one'), lockKey('two'))).toBe(0);
  },
);

test('a lease behind a key of the wrong type is lost by its deadline', async () => {
  const app = await startApp({ connection: server.url, ttl: 2_000 });
  const { end } = await hold(app, 'broken');
  await until(async () => {
    await server.command('DEL', lockKey('broken'));
    await server.command('RPUSH', lockKey('broken'), 'not ours');
    return true;
  });
  expect(await app.event('lost')).toMatchObject({ lock: 'broken', reason: 'deadline' });
  await end();
  expect(app.heard('released')).toMatchObject([{ outcome: 'aborted', confirmed: false }]);
  expect(await server.command('TYPE', lockKey('broken'))).toBe('list');
});
