import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { until } from '../support/until.js';
import { type ShedLock, shedLock } from './support/shedlock.js';

const HOUR = 3_600_000;
const TICK = 1_760_000_000_000;
const FAR_FROM_UTC = {
  PostgreSQL: "SET timezone = 'Asia/Kolkata'",
  MySQL: "SET SESSION time_zone = '+05:30'",
};

function attempt(fields: Partial<AcquireRequest> = {}): AcquireRequest {
  return { name: 'job', token: randomUUID(), ttl: HOUR, holder: 'host:1:nest', ...fields };
}

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  let server: DatabaseServer;
  const pools: TestPool[] = [];
  const pool = (settings?: Parameters<typeof database.pool>[1]): TestPool => {
    const made = database.pool(server.url, settings);
    pools.push(made);
    return made;
  };

  beforeAll(async () => {
    server = await database.provide();
  }, 60_000);

  afterAll(async () => {
    await Promise.all(pools.map((each) => each.end()));
    await server?.stop();
  });

  describe.each([
    ['a table that the store has made', 'ours', []],
    ['a table that ShedLock has made', 'shedlock', []],
    [
      'a table that ShedLock has made, our sessions far from UTC',
      'shedlock',
      [FAR_FROM_UTC[database.name as keyof typeof FAR_FROM_UTC]],
    ],
  ])('with %s', (_what, maker, session) => {
    let ours: TestPool;
    let theirs: TestPool;
    let table: string;
    let store: SqlStore;
    let spring: ShedLock;

    beforeAll(() => {
      ours = pool({ session });
      theirs = pool();
    });

    beforeEach(async () => {
      table = uniqueTable('shedlock');
      if (maker === 'shedlock') await theirs.write(database.shedlock(table));
      store = ours.store({ table });
      await store.init();
      spring = shedLock(database, theirs, table);
    });

    afterEach(() => theirs.write(`DROP TABLE ${table}`));

    const take = async (fields: Partial<AcquireRequest> = {}): Promise<LeaseRef> => {
      const request = attempt(fields);
      const result = await store.acquire(request);
      if (!result.acquired) throw new Error(`refused: ${JSON.stringify(result)}`);
      return { ...request, fencingToken: result.fencingToken };
    };

    test('a lock that ShedLock holds is refused to us, with the name of its host', async () => {
      expect(await spring.lock('job', HOUR)).toBe(true);
      const refusal = await store.acquire(attempt());
      expect(refusal).toMatchObject({ acquired: false, reason: 'held', holder: 'spring-host' });
      const { expiresIn = 0 } = refusal as { expiresIn?: number };
      expect(expiresIn).toBeGreaterThan(HOUR - 60_000);
      expect(expiresIn).toBeLessThanOrEqual(HOUR);
      await spring.unlock('job');
      await take();
    });

    test('a lock that we hold is refused to ShedLock, also after a renewal, until we give it back', async () => {
      const lease = await take();
      expect(await spring.lock('job', HOUR)).toBe(false);
      expect(await store.extend([lease])).toEqual([{ held: true }]);
      expect(await spring.lock('job', HOUR)).toBe(false);
      expect(await store.release(lease)).toEqual({ released: true });
      expect(await spring.lock('job', HOUR)).toBe(true);
    });

    test('of both at once, again and again, one gets the lock', async () => {
      for (let round = 0; round < 10; round++) {
        const requests = Array.from({ length: 5 }, () => attempt());
        const springs = Array.from({ length: 5 }, (_, i) => shedLock(database, theirs, table, `spring-${i}`));
        const [ourResults, theirResults] = await Promise.all([
          Promise.all(requests.map((request) => store.acquire(request))),
          // Its statements can end each other in a deadlock on MySQL; ShedLock takes that for a lock that it did not get.
          Promise.all(springs.map((each) => each.lock('job', HOUR).catch(() => false))),
        ]);
        const winners = [...ourResults.map(({ acquired }) => acquired), ...theirResults].filter(Boolean);
        expect(winners).toHaveLength(1);
        await Promise.all(springs.map((each) => each.unlock('job')));
        await Promise.all(requests.map((request) => store.release({ ...request, fencingToken: 0 })));
      }
    });

    test("a lease of ours that ran out is ShedLock's for the taking, and our late calls free nothing of it", async () => {
      const lease = await take({ ttl: 1, job: 'job', tick: TICK });
      await until(() => spring.lock('job', HOUR), { message: 'ShedLock to take over' });
      expect(await store.extend([lease])).toEqual([{ held: false, reason: 'taken', holder: 'spring-host' }]);
      expect(await store.release(lease)).toEqual({ released: false, reason: 'taken' });
      expect(await spring.extend('job', HOUR)).toBe(true);
      await spring.unlock('job');
      const next = await take();
      expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    });

    test('a lock of ShedLock that ran out is ours for the taking, and its late calls free nothing of it', async () => {
      expect(await spring.lock('job', 1)).toBe(true);
      const lease = await until(() => take(), { message: 'us to take over' });
      expect(await spring.extend('job', HOUR)).toBe(false);
      await spring.unlock('job');
      expect(await store.acquire(attempt())).toMatchObject({ acquired: false, holder: 'host:1:nest' });
      expect(await store.extend([lease])).toEqual([{ held: true }]);
    });

    test("ShedLock's lockAtLeastFor keeps us out after its run", async () => {
      await spring.lock('job', 2 * HOUR);
      await spring.unlock('job', HOUR);
      const refusal = await store.acquire(attempt());
      expect(refusal).toMatchObject({ acquired: false, reason: 'held', holder: 'spring-host' });
      expect((refusal as { expiresIn?: number }).expiresIn).toBeLessThanOrEqual(HOUR);
      await theirs.write(`UPDATE ${table} SET lock_until = '2000-01-01'`);
      await take();
    });

    test('our atLeast keeps ShedLock out after our run', async () => {
      const lease = await take({ ttl: 2 * HOUR });
      expect(await store.release(lease, { keepFor: HOUR })).toEqual({ released: true });
      expect(await spring.lock('job', HOUR)).toBe(false);
      expect(await store.acquire(attempt())).toMatchObject({ reason: 'cooling-down', holder: 'host:1:nest' });
      await theirs.write(`UPDATE ${table} SET lock_until = '2000-01-01'`);
      expect(await spring.lock('job', HOUR)).toBe(true);
    });

    test('runs of ShedLock in between leave our ticks and fencing tokens alone', async () => {
      const lease = await take({ job: 'job', tick: TICK, schedule: '0 * * * *' });
      await store.release(lease);
      expect(await spring.lock('job', HOUR)).toBe(true);
      await spring.unlock('job');
      expect(await store.acquire(attempt({ job: 'job', tick: TICK }))).toEqual({
        acquired: false,
        reason: 'already-ran',
        tick: TICK,
        finished: true,
      });
      const next = await take({ job: 'job', tick: TICK + 1 });
      expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    });

    test('what ShedLock calls itself is never taken for an end of ours', async () => {
      for (const host of ['a/b/completed', 'host/completed', '/', 'x']) {
        const other = shedLock(database, theirs, table, host);
        expect(await other.lock(host, HOUR)).toBe(true);
        expect(await store.acquire(attempt({ name: host }))).toMatchObject({ reason: 'held', holder: host });
        expect(await other.extend(host, HOUR)).toBe(true);
      }
    });
  });

  test('rows that are in the table of ShedLock stay, and count, when our columns are added', async () => {
    const theirs = pool();
    const table = uniqueTable('shedlock');
    await theirs.write(database.shedlock(table));
    const spring = shedLock(database, theirs, table);
    expect(await spring.lock('running', HOUR)).toBe(true);
    expect(await spring.lock('over', HOUR)).toBe(true);
    await spring.unlock('over');
    const before = await theirs.rows(`SELECT * FROM ${table} ORDER BY name`);
    const store = theirs.store({ table });
    await store.init();
    const after = await theirs.rows(`SELECT * FROM ${table} ORDER BY name`);
    expect(after).toEqual(before.map((row) => ({ ...row, version: null, state: null })));
    expect(await store.acquire(attempt({ name: 'running' }))).toMatchObject({
      reason: 'held',
      holder: 'spring-host',
    });
    expect(await store.acquire(attempt({ name: 'over' }))).toMatchObject({ acquired: true });
    expect(await spring.extend('running', HOUR)).toBe(true);
    await theirs.write(`DROP TABLE ${table}`);
  });

  test("a name that has no room in ShedLock's column is refused with what to do, and takes no other lock", async () => {
    const theirs = pool();
    const table = uniqueTable('shedlock');
    await theirs.write(database.shedlock(table));
    const store = theirs.store({ table });
    await store.init();
    const name = 'x'.repeat(65);
    await expect(store.acquire(attempt({ name }))).rejects.toMatchObject({
      code: 'SCHEDULER_LOCK_CONFIG',
      message: expect.stringMatching(
        /"x+": it has 65 characters, and the column name of .* 64\..*ALTER TABLE/s,
      ),
    });
    expect(await store.acquire(attempt({ name: 'x'.repeat(64) }))).toMatchObject({ acquired: true });
    await theirs.write(`DROP TABLE ${table}`);
  });
});
