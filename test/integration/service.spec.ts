import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type Duration,
  currentLock,
  LockNotAcquiredError,
  SchedulerLockConfigError,
  SchedulerLockService,
  StoreUnavailableError,
} from '../../lib/index.js';
import { provideRedis, uniquePrefix, type RedisServer } from '../support/redis-server.js';
import { closeApps, NotedStore, startApp } from './app.js';

// Servers start slowly on a busy machine.
jest.setTimeout(60_000);

let redis: RedisServer;
beforeAll(async () => {
  redis = await provideRedis();
});
afterEach(closeApps);
afterAll(() => redis.stop());

/** The services of two instances that share a Redis. */
async function twoInstances() {
  const options = { connection: redis.url, keyPrefix: uniquePrefix() };
  const blue = await startApp([], { ...options, instanceId: 'blue' });
  const green = await startApp([], { ...options, instanceId: 'green' });
  return { blue: blue.get(SchedulerLockService), green: green.get(SchedulerLockService), blueApp: blue };
}

describe('SchedulerLockService.run()', () => {
  it('answers the value of what it ran', async () => {
    const { blue } = await twoInstances();
    expect(await blue.run('import', () => 42)).toEqual({ ran: true, value: 42 });
    expect(await blue.run('import', { ttl: '5m', job: 'Imports' }, async (lock) => lock)).toMatchObject({
      ran: true,
      value: { name: 'import', job: 'Imports', holder: 'blue' },
    });
  });

  it('answers who holds the lock, and for how long, if it did not run', async () => {
    const { blue, green } = await twoInstances();
    await blue.run('import', { ttl: 30_000 }, async () => {
      const result = await green.run('import', () => 'never');
      expect(result).toEqual({ ran: false, reason: 'held', holder: 'blue', expiresIn: expect.any(Number) });
      const { expiresIn } = result as { expiresIn: number };
      expect(expiresIn).toBeGreaterThan(0);
      expect(expiresIn).toBeLessThanOrEqual(30_000);
    });
    expect(await green.run('import', () => 'now')).toEqual({ ran: true, value: 'now' });
  });

  it('answers cooling-down within atLeast', async () => {
    const { blue, green } = await twoInstances();
    await blue.run('import', { ttl: '10m', atLeast: '10m' }, () => undefined);
    for (const locks of [blue, green]) {
      expect(await locks.run('import', () => 'never')).toMatchObject({ ran: false, reason: 'cooling-down' });
    }
  });

  it('answers disabled, invalid-name and shutting-down', async () => {
    const { blue, blueApp } = await twoInstances();
    expect(await blue.run('import', { enabled: false }, () => 1)).toEqual({ ran: false, reason: 'disabled' });
    expect(await blue.run('a}b', () => 1)).toMatchObject({ ran: false, reason: 'invalid-name' });
    await blueApp.close();
    expect(await blue.run('import', () => 1)).toEqual({ ran: false, reason: 'shutting-down' });
    await expect(blue.acquire('import')).rejects.toMatchObject({ reason: 'shutting-down' });
  });

  it('answers store-unavailable with the error', async () => {
    const store = new NotedStore();
    const error = new StoreUnavailableError('not connected', { outcome: 'not-applied' });
    store.acquire = () => Promise.reject(error);
    const locks = (await startApp([], { store })).get(SchedulerLockService);
    expect(await locks.run('import', () => 1)).toEqual({ ran: false, reason: 'store-unavailable', error });
    await expect(locks.acquire('import')).rejects.toMatchObject({
      message: 'Lock "import" was not acquired (store-unavailable): the store failed, or did not answer.',
      cause: error,
    });
  });

  it('rejects with what the job throws, and frees the lock', async () => {
    const { blue, green } = await twoInstances();
    const error = new Error('no paper');
    await expect(blue.run('import', () => Promise.reject(error))).rejects.toBe(error);
    await expect(
      blue.run('import', () => {
        throw error;
      }),
    ).rejects.toBe(error);
    expect(await green.run('import', () => 1)).toMatchObject({ ran: true });
  });

  it('rejects bad options with all that is wrong, before it asks the store', async () => {
    const store = new NotedStore();
    const locks = (await startApp([], { store })).get(SchedulerLockService);
    const failure = await locks
      .run('import', { ttl: 'soon' as Duration, timeout: -1, job: '' }, () => 1)
      .catch((error: unknown) => error);
    const give =
      "Give positive milliseconds, or a text of a positive number and a unit (ms, s, m, h, d), such as '30s' or '10m'.";
    expect(failure).toBeInstanceOf(SchedulerLockConfigError);
    expect((failure as Error).message).toBe(
      [
        'nestjs-scheduler-lock is misconfigured, 3 problems:',
        `  - lock "import": ttl: 'soon' is no duration. ${give}`,
        `  - lock "import": timeout: -1 is no duration. ${give}`,
        '  - lock "import": job: "" is not valid: it is empty.',
      ].join('\n'),
    );
    expect(store.calls).toEqual(['init']);
  });

  it('takes no option that it does not know, such as one of decorators', async () => {
    const { blue } = await twoInstances();
    const options = { tll: '1m', onSkip: 'throw', group: 'a' } as object;
    for (const call of [blue.run('import', options, () => 1), blue.acquire('import', options)]) {
      await expect(call).rejects.toMatchObject({
        problems: [
          'lock "import": tll: there is no such option here. Did you mean `ttl`?',
          'lock "import": onSkip: there is no such option here. ' +
            'There are job, history, tick, signal, ttl, heartbeat, timeout, atLeast, wait, priority, enabled, onStoreError.',
          'lock "import": group: there is no such option here. ' +
            'There are job, history, tick, signal, ttl, heartbeat, timeout, atLeast, wait, priority, enabled, onStoreError.',
        ],
      });
    }
  });

  it('reads an explicit undefined as the default', async () => {
    const { blue } = await twoInstances();
    const result = await blue.run(
      'import',
      { ttl: undefined, heartbeat: undefined, job: undefined },
      () => 1,
    );
    expect(result).toEqual({ ran: true, value: 1 });
  });
});

describe('SchedulerLockService.acquire()', () => {
  it('says what is wrong with a name', async () => {
    const { blue } = await twoInstances();
    await expect(blue.acquire('im{p')).rejects.toThrow(
      'Lock "im{p" was not acquired (invalid-name): the lock name "im{p" is not valid: it holds "{", "}" or a control character. Nothing was run.',
    );
  });

  it('holds the lock until the scope of `await using` ends', async () => {
    const { blue, green } = await twoInstances();
    {
      await using lock = await blue.acquire('import', { ttl: '5m' });
      expect(lock.fencingToken).toBeGreaterThan(0);
      await expect(green.acquire('import')).rejects.toMatchObject({ reason: 'held', holder: 'blue' });
    }
    await using lock = await green.acquire('import');
    expect(lock.holder).toBe('green');
  });

  it('gives the lock back when the scope is left by an error', async () => {
    const { blue, green } = await twoInstances();
    const work = async (): Promise<void> => {
      await using _lock = await blue.acquire('import');
      throw new Error('no paper');
    };
    await expect(work()).rejects.toThrow('no paper');
    await (await green.acquire('import')).release();
  });

  it('makes no context: currentLock() is for what runs inside run()', async () => {
    const { blue } = await twoInstances();
    await using _lock = await blue.acquire('import');
    expect(currentLock).toThrow('outside of a lock');
    await expect(blue.acquire('import')).rejects.toBeInstanceOf(LockNotAcquiredError);
  });

  it('inside a job that holds the lock is part of that job', async () => {
    const { blue, green } = await twoInstances();
    await blue.run('import', async (outer) => {
      const lock = await blue.acquire('import');
      expect(lock.fencingToken).toBe(outer.fencingToken);
      await lock.release();
      expect(() => outer.assertLocked()).not.toThrow();
      expect(await green.run('import', () => 1)).toMatchObject({ ran: false });
    });
  });
});
