import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { SchedulerLock, type SchedulerLockModuleOptions, SchedulerLockService } from '../../lib/index.js';
import { ownRedis } from '../unit/stores/redis/support/own-redis.js';
import { closeApps, startApp, startFailure } from './app.js';
import { isEvent } from '../support/events.js';

let connection: Redis;

ownRedis((own) => (connection = own));
afterEach(closeApps);

/** One slot of a Cluster for all locks, and tenants that have to be known. */
const key = (name: string): string => {
  if (name === 'nobody') throw new Error('no such tenant');
  return name === 'none' ? (undefined as unknown as string) : `{jobs}:${name}`;
};

@Injectable()
class Imports {
  readonly ran: string[] = [];

  @SchedulerLock({ name: (name: string) => name })
  async run(name: string): Promise<string> {
    this.ran.push(name);
    return 'ran';
  }
}

const start = (options: SchedulerLockModuleOptions = {}) =>
  startApp([Imports], { connection, key, insight: false, ...options });

describe('a lock whose Redis key is that of the state of another lock', () => {
  it('stops the start', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('import')
      async import() {}
      @SchedulerLock('import:state')
      async importState() {}
    }
    expect(await startFailure(startApp([Jobs], { connection, key }))).toBe(
      'nestjs-scheduler-lock is misconfigured: Jobs.importState: name: "import:state" is a name that the store cannot keep: ' +
        'the Redis key "{jobs}:import:state" is where the state of a lock with the key "{jobs}:import" is kept. ' +
        'Let `key` end in another way, such as with ":lock", or change the name.',
    );
  });

  it('does not stop the start where Redis keys have no hash tag', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('import')
      async import() {
        return 'ran';
      }
      @SchedulerLock('import:state')
      async importState() {
        return 'ran';
      }
    }
    const app = await startApp([Jobs], { connection, key: (name) => name });
    expect(await Promise.all([app.get(Jobs).import(), app.get(Jobs).importState()])).toEqual(['ran', 'ran']);
  });
});

it('a function that knows the keys of its own locks only does not stop the start', async () => {
  const keys: Record<string, string> = { a: 'app:a', b: 'app:b' };
  const app = await startApp([Imports], { connection, key: (name) => keys[name] as string });
  expect(await app.get(Imports).run('a')).toBe('ran');
  expect(await app.get(Imports).run('c')).toBeUndefined();
  expect(await connection.exists('{app:a}:state')).toBe(1);
});

describe.each([
  ['import:state', /the Redis key "\{jobs\}:import:state" is where the state of a lock/],
  ['nobody', /key: it failed for the lock "nobody": Error: no such tenant/],
  ['none', /key: it gave undefined for the lock "none"/],
])('a call with the name %s, which has no key', (name, problem) => {
  it.each(['skip', 'run'] as const)(
    'is skipped as invalid-name with onStoreError: %s, and is no outage',
    async (onStoreError) => {
      const app = await start({ onStoreError });
      expect(await app.get(Imports).run(name)).toBeUndefined();
      expect(app.get(Imports).ran).toEqual([]);
      expect(app.events).toMatchObject([
        {
          type: 'skipped',
          reason: 'invalid-name',
          lock: name,
          error: { message: expect.stringMatching(problem) },
        },
      ]);
      await expect(app.get(SchedulerLockService).acquire(name)).rejects.toMatchObject({
        reason: 'invalid-name',
        message: expect.stringMatching(problem),
      });
      expect(await connection.keys('*')).toEqual([]);
    },
  );

  it('does not concern calls that are made at once', async () => {
    const app = await start();
    const names = ['a', name, 'b', 'c'];
    expect(await Promise.all(names.map((each) => app.get(Imports).run(each)))).toEqual([
      'ran',
      undefined,
      'ran',
      'ran',
    ]);
    expect(app.events.filter(isEvent('outage-started'))).toEqual([]);
  });
});
