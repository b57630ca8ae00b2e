import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SchedulerLockModule, SchedulerLockService } from '../../../lib/index.js';
import type { SqlStore, TestDatabase, TestPool } from '../../support/database.js';

/** A contender that acquires and releases a lock. */
export interface SqlContender {
  readonly name: 'raw' | 'store' | 'service';
  cycle(lock: string): Promise<void>;
  close(): Promise<void>;
}

const TTL = 60_000;

/** The minimum for a lock in a table: the two statements of ShedLock, with the token as `locked_by`. */
export function bareLocks(
  database: TestDatabase,
  pool: TestPool,
  table: string,
): {
  take(lock: string, token: string): Promise<boolean>;
  release(lock: string, token: string): Promise<unknown>;
} {
  const postgres = database.name === 'PostgreSQL';
  const now = postgres ? "timezone('utc', CURRENT_TIMESTAMP)" : 'UTC_TIMESTAMP(3)';
  const until = postgres ? `${now} + interval '60 seconds'` : `TIMESTAMPADD(SECOND, 60, ${now})`;
  const take = postgres
    ? `INSERT INTO ${table}(name, lock_until, locked_at, locked_by) VALUES(?, ${until}, ${now}, ?) ON CONFLICT (name) DO UPDATE
      SET lock_until = ${until}, locked_at = ${now}, locked_by = excluded.locked_by WHERE ${table}.lock_until <= ${now}`
    : `UPDATE ${table} SET lock_until = ${until}, locked_at = ${now}, locked_by = ? WHERE name = ? AND lock_until <= ${now}`;
  const release = `UPDATE ${table} SET lock_until = ${now} WHERE name = ? AND locked_by = ?`;
  return {
    take: async (lock, token) => (await pool.write(take, postgres ? [lock, token] : [token, lock])) > 0,
    release: (lock, token) => pool.write(release, [lock, token]),
  };
}

export function rawContender(database: TestDatabase, pool: TestPool, table: string): SqlContender {
  const { take, release } = bareLocks(database, pool, table);
  return {
    name: 'raw',
    async cycle(lock) {
      const token = randomUUID();
      // A row that was released within this millisecond is free only after the end of it.
      while (!(await take(lock, token)));
      await release(lock, token);
    },
    close: async () => undefined,
  };
}

export function storeContender(store: SqlStore): SqlContender {
  return {
    name: 'store',
    async cycle(name) {
      const request = { name, token: randomUUID(), ttl: TTL, holder: 'bench' };
      const result = await store.acquire(request);
      if (!result.acquired) throw new Error(`The lock ${name} was not free`);
      await store.release({ ...request, fencingToken: result.fencingToken });
    },
    close: async () => undefined,
  };
}

/** The whole of the library, renewals armed. */
export async function serviceContender(
  store: SqlStore,
): Promise<SqlContender & { locks: SchedulerLockService }> {
  class App {}
  Module({ imports: [SchedulerLockModule.forRoot({ store, ttl: TTL })] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const locks = app.get(SchedulerLockService);
  return {
    name: 'service',
    locks,
    async cycle(name) {
      const { ran } = await locks.run(name, () => undefined);
      if (!ran) throw new Error(`The lock ${name} was not free`);
    },
    close: () => app.close(),
  };
}
