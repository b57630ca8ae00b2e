import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { SchedulerLockService } from '../../lib/index.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { DATABASES } from '../support/database.js';
import { until } from '../support/until.js';
import { startApp } from './app.js';
import { useTable } from './support/sql-table.js';
import { kindOf } from '../support/events.js';

const missed = (column: string) => ({
  code: 'STORE_UNAVAILABLE',
  outcome: 'not-applied',
  message: expect.stringMatching(new RegExp(`is gone, or lacks a column: .*${column}`)),
});

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  const used = useTable(database, 'dropped');

  async function lease(name: string, job?: string): Promise<LeaseRef> {
    const request = { name, token: randomUUID(), ttl: 60_000, holder: 'host', ...(job && { job }) };
    const result = await used.store.acquire(request);
    if (!result.acquired) throw new Error(`refused: ${result.reason}`);
    return { ...request, fencingToken: result.fencingToken };
  }

  const drop = (column: string): Promise<unknown> =>
    used.pool.write(`ALTER TABLE ${used.table} DROP COLUMN ${column}`);
  const bringBack = (): Promise<void> => used.pool.store({ table: used.table, migrate: false }).migrate();

  test('a job that runs goes on without a column of ours that is dropped, while nobody else can start; its lock is free when its lease is over', async () => {
    const app = await startApp([], { store: used.store, ttl: 2_000, heartbeat: 50 });
    const locks = app.get(SchedulerLockService);
    const renewals = (): number => app.events.filter(({ type }) => type === 'renewed').length;
    const { ran } = await locks.run('job', async () => {
      await drop('version');
      for (let round = 0; round < 3; round++) {
        await expect(lease('another')).rejects.toMatchObject(missed('version'));
        const before = renewals();
        await until(() => renewals() >= before + 3, { message: 'renewals without the column' });
      }
    });
    expect(ran).toBe(true);
    expect(app.events.filter(({ type }) => type === 'lost')).toEqual([]);
    await bringBack();
    await until(async () => (await locks.run('job', () => undefined)).ran, {
      message: 'the lock to be free',
    });
  });

  test('a column that is missing is one outage until attempts succeed again, though a job that runs is renewed', async () => {
    const app = await startApp([], { store: used.store, ttl: 60_000, heartbeat: 50 });
    const locks = app.get(SchedulerLockService);
    const heard = (wanted: string): number => app.events.filter((event) => kindOf(event) === wanted).length;
    const run = (): Promise<{ ran: boolean }> => locks.run('another', () => undefined);
    await locks.run('job', async () => {
      await drop('version');
      for (let round = 0; round < 3; round++) {
        expect(await run()).toMatchObject({ reason: 'store-unavailable' });
        const before = heard('renewed');
        await until(() => heard('renewed') >= before + 2, { message: 'renewals without the column' });
      }
      expect([heard('outage-started'), heard('outage-ended')]).toEqual([1, 0]);
      await bringBack();
      await until(async () => (await run()).ran, { message: 'an attempt that succeeds' });
      expect([heard('outage-started'), heard('outage-ended')]).toEqual([1, 1]);
    });
  });

  test.each(['version', 'state'])(
    'leases that live are renewed without the column %s, and what needs it fails until it is back',
    async (column) => {
      const leases = [await lease('plain'), await lease('of-job', 'Jobs.report')];
      const [plain] = leases as [LeaseRef];
      await drop(column);
      for (let beats = 0; beats < 3; beats++) {
        await expect(lease('another')).rejects.toMatchObject(missed(column));
        await expect(used.store.inspect()).rejects.toMatchObject(missed(column));
        expect(await used.store.extend(leases)).toEqual([{ held: true }, { held: true }]);
      }
      await expect(used.store.release(plain)).rejects.toMatchObject(missed(column));
      await bringBack();
      const again = await lease('another');
      expect(await used.store.extend([again])).toEqual([{ held: true }]);
      expect(await used.store.release(again)).toEqual({ released: true });
      expect(await used.store.inspect()).toHaveLength(3);
    },
  );

  test('a lease in a table that is dropped is told so, and written back into the next one', async () => {
    const held = await lease('job');
    await used.pool.write(`DROP TABLE ${used.table}`);
    const message = expect.stringContaining('is gone');
    for (let beats = 0; beats < 2; beats++) {
      await expect(used.store.extend([held])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message });
      await expect(used.store.release(held)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message });
    }
    await bringBack();
    expect(await used.store.extend([held])).toEqual([{ held: true, restored: true }]);
    expect(await used.store.release(held)).toEqual({ released: true });
    await lease('job');
  });
});
