import 'reflect-metadata';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { CommitGuard } from '../../lib/guard/index.js';
import {
  currentLock,
  LockNotHeldError,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockInsight,
  SchedulerLockService,
} from '../../lib/index.js';
import { runUnlocked } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';
import { under } from './support/under.js';
import { daily, dieIn, request } from './tick-support.js';

/* What an application sees of the guard: locks in memory, work in a PostgreSQL in this process. */

jest.setTimeout(60_000);

const TTL = 300;

let db: PGlite;
beforeAll(async () => {
  db = await PGlite.create();
});
beforeEach(async () => {
  await db.query('DROP TABLE IF EXISTS scheduler_lock_commits, invoices');
  await db.query('CREATE TABLE invoices (fence BIGINT NOT NULL)');
});
afterEach(closeApps);
afterAll(() => db.close());

/** Whether the transactions around the runs were committed. */
const wrapped: boolean[] = [];

/** A transaction of a user around each run: it has to roll back what the job has written before it asked. */
function inTransaction<T>(proceed: () => Promise<T>): Promise<T> {
  return proceed().then(
    (value) => {
      wrapped.push(true);
      return value;
    },
    (error: unknown) => {
      wrapped.push(false);
      throw error;
    },
  );
}

/** An application with the job `nightly`, whose last run committed, and died before it gave its lock back. */
async function rerunOf(job: 'whole' | 'wrapped' | 'steps' | 'twice'): Promise<TestApp> {
  const { expression, tick } = daily();
  @Injectable()
  class Jobs {
    constructor(@Inject(CommitGuard) private readonly guard: CommitGuard) {}

    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ name: 'night', job: 'nightly', ttl: TTL, rerun: 1 })
    async nightly(): Promise<void> {
      if (job === 'steps') return this.invoice('invoices');
      await this.invoice();
      if (job === 'twice') await this.invoice();
    }

    invoice(step?: string): Promise<void> {
      return db.transaction(async (tx) => {
        await this.guard.commit(tx, { step });
        await tx.query('INSERT INTO invoices VALUES ($1)', [currentLock().fencingToken]);
      });
    }
  }
  const store = new MemoryLockStore();
  const guard = {
    provide: CommitGuard,
    useFactory: async () => {
      const made = new CommitGuard({ dialect: 'postgres' });
      await made.createTable(db);
      return made;
    },
  };
  const app = await startApp([Jobs, guard], { store, instanceId: 'api-1' });
  if (job !== 'twice') {
    // What the run that died has left behind.
    const dead = { name: 'night', job: 'nightly', tick, fencingToken: 1 };
    await under(dead, () => app.get(Jobs).invoice(job === 'steps' ? 'invoices' : undefined));
    await dieIn(store, request('night', tick, { job: 'nightly', ttl: TTL }));
  }
  if (job === 'wrapped') app.get(SchedulerLockService).around((_lock, proceed) => inTransaction(proceed));
  await app.fire('nightly');
  await until(() => app.events.some(({ type }) => type === 'released'));
  return app;
}

const invoices = async (): Promise<number> => (await db.query('SELECT fence FROM invoices')).rows.length;

const released = (app: TestApp): object[] => app.events.filter(({ type }) => type === 'released');

test.each(['whole', 'wrapped'] as const)(
  'a rerun whose tick has committed ends as completed, and does nothing again: %s job',
  async (job) => {
    const app = await rerunOf(job);
    expect(released(app)).toMatchObject([{ outcome: 'completed', attempt: 2, confirmed: true }]);
    expect(released(app)[0]).not.toHaveProperty('error');
    expect(await invoices()).toBe(1);
    expect(wrapped.splice(0)).toEqual(job === 'wrapped' ? [false] : []);
    const insight = app.get(SchedulerLockInsight);
    await until(async () => (await insight.runs({ job: 'nightly' })).length > 0);
    const [run] = await insight.runs({ job: 'nightly' });
    expect(run).toMatchObject({ outcome: 'completed', attempt: 2 });
    expect(run).not.toHaveProperty('error');
    expect((await insight.why('nightly')).sentence).toContain('completed');
    expect(app.logs.own.filter((line) => /^(warn|error)/.test(line) && line.includes('failed'))).toEqual([]);
  },
);

test('a rerun that ends at a step that has committed has failed: the other steps may be missing', async () => {
  const app = await rerunOf('steps');
  expect(released(app)).toMatchObject([{ outcome: 'failed', error: { code: 'ALREADY_COMMITTED' } }]);
  expect(await invoices()).toBe(1);
});

test('a run that commits twice without steps has failed, and is told to name them', async () => {
  const app = await rerunOf('twice');
  expect(released(app)).toMatchObject([
    { outcome: 'failed', error: { message: expect.stringContaining('commit(tx, { step })') } },
  ]);
  expect(await invoices()).toBe(1);
});

test('a job without a lock, by onStoreError, commits nothing', async () => {
  @Injectable()
  class Jobs {
    @SchedulerLock('job')
    async job(): Promise<void> {
      await db.transaction(async (tx) => {
        await new CommitGuard({ dialect: 'postgres' }).commit(tx);
      });
    }
  }
  class Away extends MemoryLockStore {
    override acquire(): Promise<never> {
      return Promise.reject(new Error('away'));
    }
  }
  const app = await startApp([Jobs], { store: new Away(), onStoreError: 'run' });
  await expect(app.get(Jobs).job()).rejects.toThrow(LockNotHeldError);
});

test('in a unit test of a job, runUnlocked() is enough', async () => {
  const guard = new CommitGuard({ dialect: 'postgres' });
  await guard.createTable(db);
  class Jobs {
    @SchedulerLock('job')
    async job(): Promise<void> {
      await db.transaction((tx) => guard.commit(tx));
    }
  }
  await runUnlocked(() => new Jobs().job());
  await runUnlocked(() => new Jobs().job(), { tick: 1 });
  await expect(runUnlocked(() => new Jobs().job(), { tick: 1, fencingToken: 2 })).rejects.toMatchObject({
    code: 'ALREADY_COMMITTED',
  });
});
