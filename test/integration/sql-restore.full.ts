import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { SchedulerLockService } from '../../lib/index.js';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';

const RESTORED = [{ held: true, restored: true }];
const EXPIRED = [{ held: false, reason: 'expired' }];
const JOB = { job: 'Jobs.report', schedule: '* * * * *' };
const TICK = 1_760_000_000_000;

/** What a failover to a replica that lags, or a restart from a snapshot, does to the table. */
describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  let server: DatabaseServer;
  let pool: TestPool;
  let table: string;
  let store: SqlStore;
  let another: SqlStore;

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
  }, 60_000);

  beforeEach(async () => {
    table = uniqueTable('restore');
    [store, another] = [pool.store({ table }), pool.store({ table })];
    await store.init();
    await another.init();
  });

  afterEach(async () => {
    await closeApps();
    await pool.write(`DROP TABLE IF EXISTS ${table}`);
    await pool.write(`DROP TABLE IF EXISTS ${table}_copy`);
  });

  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });

  async function lease(fields: Partial<AcquireRequest> = {}, by = store): Promise<LeaseRef> {
    const request = { name: 'job', token: randomUUID(), ttl: 60_000, holder: 'host', ...fields };
    const result = await by.acquire(request);
    if (!result.acquired) throw new Error(`refused: ${result.reason}`);
    return { ...request, fencingToken: result.fencingToken, ...(request.tick && { attempt: 1 }) };
  }

  const tries = (fields: Partial<AcquireRequest> = {}) =>
    another.acquire({ name: 'job', token: randomUUID(), ttl: 60_000, holder: 'another', ...fields });

  const snapshot = (): Promise<unknown> => pool.write(`CREATE TABLE ${table}_copy AS SELECT * FROM ${table}`);

  async function setBack(): Promise<void> {
    await pool.write(`DELETE FROM ${table}`);
    await pool.write(`INSERT INTO ${table} SELECT * FROM ${table}_copy`);
  }

  test('a job goes on, and stays alone, when the database is set back to where its lock was free', async () => {
    const app = await startApp([], { store, ttl: 60_000, heartbeat: 50 });
    const other = await startApp([], { store: another, ttl: 60_000 });
    const locks = app.get(SchedulerLockService);
    await locks.run('job', () => undefined);
    await snapshot();
    const { ran } = await locks.run('job', async () => {
      for (const lose of [setBack, () => pool.write(`DELETE FROM ${table}`)]) {
        const before = app.events.length;
        await lose();
        await until(() =>
          app.events.slice(before).some((event) => event.type === 'renewed' && event.restored),
        );
        const result = await other.get(SchedulerLockService).run('job', () => undefined);
        expect(result).toMatchObject({ ran: false, reason: 'held' });
      }
    });
    expect(ran).toBe(true);
    expect(app.events.filter(({ type }) => type === 'lost')).toEqual([]);
    expect(await other.get(SchedulerLockService).run('job', () => undefined)).toMatchObject({ ran: true });
  });

  test('fencing tokens go on growing, and the tick of a lease that was written back is not run again', async () => {
    await store.release(await lease({ ...JOB, tick: TICK }));
    await snapshot();
    const held = await lease({ ...JOB, tick: TICK + 1 });
    await setBack();
    expect(await store.extend([held])).toEqual(RESTORED);
    expect(await store.extend([held])).toEqual([{ held: true }]);
    expect(await store.inspect()).toMatchObject([
      { state: 'held', fencingToken: held.fencingToken, jobs: [{ tick: TICK + 1, attempt: 1 }] },
    ]);
    expect(await store.release(held)).toEqual({ released: true });
    expect(await tries({ ...JOB, tick: TICK + 1, rerun: 1 })).toMatchObject({
      reason: 'already-ran',
      finished: true,
    });
    expect((await lease()).fencingToken).toBeGreaterThan(held.fencingToken);
  });

  test('a release of a lease that was written back, and that ran nothing, brings the tick before it back', async () => {
    await store.release(await lease({ ...JOB, tick: TICK }));
    await snapshot();
    const held = await lease({ ...JOB, tick: TICK + 1 });
    await setBack();
    expect(await store.extend([held])).toEqual(RESTORED);
    expect(await store.release(held, { outcome: 'abandoned' })).toEqual({ released: true });
    expect(await tries({ ...JOB, tick: TICK })).toMatchObject({ reason: 'already-ran', tick: TICK });
    expect(await tries({ ...JOB, tick: TICK + 1 })).toMatchObject({ acquired: true });
  });

  test('a lease is written back over an older one that has the lock, with its tick', async () => {
    for (const keepFor of [undefined, 60_000]) {
      const older = await lease({ ...JOB, tick: TICK });
      if (keepFor !== undefined) await store.release(older, { keepFor });
      await snapshot();
      await pool.write(`DELETE FROM ${table}`);
      const held = await lease({ ...JOB, tick: TICK + 1, holder: 'another' }, another);
      await setBack();
      expect(await another.extend([held])).toEqual(RESTORED);
      expect(await store.extend([older])).toEqual([{ held: false, reason: 'taken', holder: 'another' }]);
      expect(await another.extend([held])).toEqual([{ held: true }]);
      expect(await tries({ ...JOB, tick: TICK + 1 })).toMatchObject({ reason: 'held', tick: TICK + 1 });
      await pool.write(`DROP TABLE ${table}_copy`);
      await pool.write(`DELETE FROM ${table}`);
    }
  });

  test('not so if the row knows none of ours: then the other lease may be the newer one', async () => {
    const held = await lease();
    await pool.write(`DELETE FROM ${table}`);
    const next = await lease({ holder: 'another' }, another);
    await pool.write(`UPDATE ${table} SET version = NULL, state = NULL`);
    const taken = { reason: 'taken' };
    expect(await store.extend([held])).toEqual([
      { held: false, ...taken, holder: expect.stringMatching(/^another/) },
    ]);
    expect(await store.release(held)).toEqual({ released: false, ...taken });
    expect(await another.extend([next])).toEqual([{ held: true }]);
  });

  test('nor over a ShedLock that has the lock, and whose row has the fencing token of an older lease', async () => {
    await store.release(await lease());
    await pool.write(`UPDATE ${table} SET locked_by = 'spring-host', lock_until = '2100-01-01'`);
    await snapshot();
    await pool.write(`DELETE FROM ${table}`);
    const held = await lease();
    await setBack();
    expect(await store.extend([held])).toEqual([{ held: false, reason: 'taken', holder: 'spring-host' }]);
    expect(await store.release(held)).toEqual({ released: false, reason: 'taken' });
    const [row] = await pool.rows(`SELECT locked_by AS holder FROM ${table}`);
    expect(row).toEqual({ holder: 'spring-host' });
  });

  test('a lease is never written back over a row that a ShedLock wrote last, whenever that was', async () => {
    await store.release(await lease());
    await pool.write(`UPDATE ${table} SET locked_by = 'spring-host'`);
    await snapshot();
    const held = await lease();
    await setBack();
    expect(await store.extend([held])).toEqual(EXPIRED);
    expect(await store.release(held)).toEqual({ released: false, reason: 'expired' });
    const [row] = await pool.rows(`SELECT locked_by AS holder FROM ${table}`);
    expect(row).toEqual({ holder: 'spring-host' });
  });

  test('neither over a newer lease, nor over its own end', async () => {
    const older = await lease();
    await pool.write(`DELETE FROM ${table}`);
    await store.release(await lease({}, another));
    expect(await store.extend([older])).toEqual(EXPIRED);
    for (const ended of [true, false]) {
      const held = await lease();
      if (ended) expect(await store.release(held)).toEqual({ released: true });
      await pool.write(ended ? `UPDATE ${table} SET lock_until = '2000-01-01'` : `DELETE FROM ${table}`);
      if (!ended) expect(await store.release(held)).toEqual({ released: false, reason: 'expired' });
      expect(await store.extend([held])).toEqual(EXPIRED);
      expect(await store.release(held)).toEqual({ released: false, reason: 'ended' });
      expect(await tries()).toMatchObject({ acquired: true });
      await pool.write(`DELETE FROM ${table}`);
    }
  });

  test('of a batch those that were lost are written back, and the others are judged as ever', async () => {
    const [kept, lost, taken] = [
      await lease({ name: 'a' }),
      await lease({ name: 'b' }),
      await lease({ name: 'c' }),
    ];
    await pool.write(`DELETE FROM ${table} WHERE name IN ('b', 'c')`);
    await lease({ name: 'c', holder: 'another' }, another);
    expect(await store.extend([kept, lost, taken])).toEqual([
      { held: true },
      { held: true, restored: true },
      { held: false, reason: 'taken', holder: 'another' },
    ]);
  });

  test('a lease that cannot be written back now, as somebody is at its row, does not hold up the others', async () => {
    const [kept, lost] = [await lease({ name: 'kept' }), await lease({ name: 'lost' })];
    await pool.write(`DELETE FROM ${table} WHERE name = 'lost'`);
    const stranger = database.pool(server.url, { max: 1 });
    try {
      await stranger.write('START TRANSACTION');
      await stranger.write(`INSERT INTO ${table} (name, lock_until, locked_at, locked_by)
        VALUES ('lost', '2000-01-01', '2000-01-01', 'somebody')`);
      expect(await store.extend([kept, lost])).toMatchObject([{ held: true }, { held: null }]);
    } finally {
      await stranger.write('ROLLBACK');
      await stranger.end();
    }
    expect(await store.extend([kept, lost])).toEqual([{ held: true }, { held: true, restored: true }]);
  });

  test('the end of an acquire that nobody saw granted is not noted, as that could hide a lease', async () => {
    const held = await lease();
    await pool.write(`DELETE FROM ${table}`);
    expect(await store.release({ ...held, fencingToken: 0 })).toEqual({ released: false, reason: 'expired' });
    expect(await store.extend([held])).toEqual(RESTORED);
  });
});
