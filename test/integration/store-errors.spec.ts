import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  assertLocked,
  currentLock,
  LockNotHeldError,
  SchedulerLock,
  StoreUnavailableError,
} from '../../lib/index.js';
import { closeApps, NotedStore, startApp } from './app.js';

afterEach(closeApps);

describe('a decorated method without its store', () => {
  const broken = (): NotedStore => {
    const store = new NotedStore();
    store.acquire = () =>
      Promise.reject(new StoreUnavailableError('not connected', { outcome: 'not-applied' }));
    return store;
  };

  it('does not run with onStoreError: skip, the default', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('report')
      async report() {
        return 'ran';
      }
    }
    const app = await startApp([Jobs], { store: broken() });
    expect(await app.get(Jobs).report()).toBeUndefined();
    expect(app.events.at(-1)).toMatchObject({ type: 'skipped', reason: 'store-unavailable' });
  });

  it('rejects with onSkip: throw, with what the store said', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock({ name: 'report', onSkip: 'throw' })
      async report() {
        return 'ran';
      }
    }
    const app = await startApp([Jobs], { store: broken() });
    await expect(app.get(Jobs).report()).rejects.toMatchObject({
      reason: 'store-unavailable',
      cause: expect.any(StoreUnavailableError),
    });
  });

  it('runs with onStoreError: run, without a fencing token; assertLocked() throws, nested calls run inside', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock({ name: 'report', onStoreError: 'run' })
      async report(): Promise<unknown> {
        expect(assertLocked).toThrow(LockNotHeldError);
        return [currentLock().fencingToken, await this.nested()];
      }
      @SchedulerLock({ name: 'report', onStoreError: 'run' })
      async nested() {
        return 'inside';
      }
    }
    const app = await startApp([Jobs], { store: broken() });
    expect(await app.get(Jobs).report()).toStrictEqual([undefined, 'inside']);
    expect(app.events.filter(({ type }) => type === 'unlocked')).toHaveLength(1);
    expect(app.logs.own).toContain(
      "warn: Jobs.report [report]: runs WITHOUT its lock (onStoreError: 'run'): not connected",
    );
  });
});
