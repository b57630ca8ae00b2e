import { afterAll, afterEach, beforeAll, describe, expect, it, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  LeaderElection,
  type LeaderHooks,
  type LockStore,
  type RunResult,
  SchedulerLock,
  SchedulerLockService,
  StoreUnavailableError,
} from '../../lib/index.js';
import { DATABASES, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { freePort } from '../support/machine.js';
import { closeApps, NotedStore, startApp, startFailure } from './app.js';
import { isEvent } from '../support/events.js';

afterEach(closeApps);

const LONG = 'n'.repeat(65);

@Injectable()
class Mail {
  @SchedulerLock('n'.repeat(64))
  async fits() {}
  @SchedulerLock({ name: LONG })
  async send() {}
  @SchedulerLock({ name: (customer: string) => `statement:${customer}` })
  async statement(_customer: string) {}
}

/** Keeps names of up to 64 characters, once it has looked. */
class NarrowStore extends NotedStore implements LockStore {
  limit: number | undefined;

  constructor(private readonly start: () => Promise<void> = async () => undefined) {
    super();
  }

  override async init(): Promise<void> {
    await super.init();
    await this.start();
    this.limit = 64;
  }

  nameProblem(name: string): string | undefined {
    if (this.limit === undefined || name.length <= this.limit) return undefined;
    return `it has ${name.length} characters, at most ${this.limit} are kept.`;
  }
}

describe('a name that the store cannot keep', () => {
  it('stops the start, with all others, and says whose it is', async () => {
    @Injectable()
    class Reports {
      @SchedulerLock()
      async thisMethodHasANameThatIsAlsoTheOneOfItsLockAndLongerThanItsStoreCanKeep() {}
    }
    @Injectable()
    @LeaderElection(`feed-${LONG}`)
    class Feed implements LeaderHooks {
      onElected(): void {}
      onRevoked(): void {}
    }
    const store = new NarrowStore();
    const leader = { name: `scheduler-${LONG}` };
    const message = await startFailure(startApp([Mail, Reports, Feed], { store, leader }));
    const method = 'Reports.thisMethodHasANameThatIsAlsoTheOneOfItsLockAndLongerThanItsStoreCanKeep';
    expect(message).toBe(
      [
        'nestjs-scheduler-lock is misconfigured, 4 problems:',
        `  - Mail.send: name: "${LONG}" is a name that the store cannot keep: it has 65 characters, at most 64 are kept.`,
        `  - ${method}: name: "${method}" is a name that the store cannot keep: it has ${method.length} characters, at most 64 are kept.`,
        `  - election of forRoot(): name: "scheduler-${LONG}" is a name that the store cannot keep: it has 75 characters, at most 64 are kept.`,
        `  - election of Feed: name: "feed-${LONG}" is a name that the store cannot keep: it has 70 characters, at most 64 are kept.`,
      ].join('\n'),
    );
    expect(store.calls).toEqual(['init', 'close']);
  });

  it('does not stop the start while the store is away and cannot say so', async () => {
    const away = new NarrowStore(() =>
      Promise.reject(new StoreUnavailableError('away', { outcome: 'not-applied' })),
    );
    const app = await startApp([Mail], { store: away });
    expect(away.calls).toEqual(['init']);
    expect(app.logs.own).toContainEqual(
      expect.stringMatching(/^error: The lock store is not available.*away/),
    );
  });

  it('stops the start also if the store fails while it is asked, with what it failed with', async () => {
    class Failing extends NarrowStore {
      override nameProblem(name: string): string | undefined {
        if (name === LONG) throw new Error('no idea');
        return undefined;
      }
    }
    await expect(startApp([Mail], { store: new Failing() })).rejects.toThrow('no idea');
  });
});

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  let server: DatabaseServer;
  let pool: TestPool;
  const table = uniqueTable('names');

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
    await pool.write(database.shedlock(table));
  }, 60_000);

  afterAll(async () => {
    await pool.write(`DROP TABLE IF EXISTS ${table}`);
    await pool.end();
    await server?.stop();
  });

  test('a name that is too long for the table of ShedLock stops the start until the column is wider', async () => {
    const message = await startFailure(startApp([Mail], { store: pool.store({ table }) }));
    expect(message).toContain(
      `is misconfigured: Mail.send: name: "${LONG}" is a name that the store cannot keep: it has 65 characters, and the column name of `,
    );
    expect(message).toContain(
      ' has room for 64. Give a shorter name, or run this, and start all instances again: ALTER TABLE ',
    );
    const [, statement = ''] = /run this, and start all instances again: (.*?);?$/.exec(message) ?? [];
    await pool.write(statement);
    const app = await startApp([Mail], { store: pool.store({ table }) });
    await app.get(Mail).send();
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'acquired', lock: LONG }));
  });

  test.each(['skip', 'run'] as const)(
    'a dynamic name that is too long is skipped as invalid-name with onStoreError: %s, until the column is wider and the instances are started again, and is no outage',
    async (onStoreError) => {
      const narrow = uniqueTable('narrow');
      await pool.write(database.shedlock(narrow));
      const app = await startApp([], { store: pool.store({ table: narrow }), onStoreError });
      const run = (): Promise<RunResult<string>> => app.get(SchedulerLockService).run(LONG, () => 'ran');
      const skipped = await run();
      expect(skipped).toMatchObject({ ran: false, reason: 'invalid-name' });
      const { message = '' } = (skipped as { error?: Error }).error ?? {};
      expect(message).toContain(`"${LONG}"`);
      expect(app.events.filter(isEvent('outage-started'))).toEqual([]);
      const [, statement = ''] = /run this, and start all instances again: (.*?);?$/.exec(message) ?? [];
      await pool.write(statement);
      await app.close();
      const again = await startApp([], { store: pool.store({ table: narrow }), onStoreError });
      expect(await again.get(SchedulerLockService).run(LONG, () => 'ran')).toEqual({
        ran: true,
        value: 'ran',
      });
      await again.close();
      await pool.write(`DROP TABLE ${narrow}`);
    },
  );

  test('a database that is away does not stop the start because of a name', async () => {
    const url = new URL(server.url);
    url.port = String(await freePort());
    const nowhere = database.pool(url.href);
    const app = await startApp([Mail], { store: nowhere.store({ table }) });
    expect(app.logs.own).toContainEqual(expect.stringMatching(/^error: The lock store is not available/));
    await app.close();
    await nowhere.end();
  });
});
