import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { DATABASES } from '../support/database.js';
import { useTable } from './support/sql-table.js';

/* Rows that a person has written, or a program that is neither ShedLock nor ours. */

const HOUR = 3_600_000;
const NULLABLE = {
  PostgreSQL: 'ALTER COLUMN locked_at DROP NOT NULL, ALTER COLUMN locked_by DROP NOT NULL',
  MySQL: 'MODIFY locked_at DATETIME(6) NULL, MODIFY locked_by VARCHAR(255) NULL',
};

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  const used = useTable(database, 'strange');
  const request = (name: string, fields: Partial<AcquireRequest> = {}): AcquireRequest => ({
    name,
    token: randomUUID(),
    ttl: HOUR,
    holder: 'host',
    ...fields,
  });
  const put = (
    name: string,
    columns: Readonly<Record<'lock_until' | 'locked_at' | 'locked_by', string | null>>,
  ) =>
    used.pool.write(
      `INSERT INTO ${used.table} (name, lock_until, locked_at, locked_by) VALUES (?, ?, ?, ?)`,
      [name, columns.lock_until, columns.locked_at, columns.locked_by],
    );
  const acquireAll = async (names: readonly string[]): Promise<PromiseSettledResult<AcquireResult>[]> =>
    Promise.allSettled(names.map((name) => used.store.acquire(request(name))));

  describe('a column of which is NULL', () => {
    beforeEach(() =>
      used.pool.write(`ALTER TABLE ${used.table} ${NULLABLE[database.name as keyof typeof NULLABLE]}`),
    );

    test.each([1, 3])('are locks as any if it is locked_by or locked_at (%d at once)', async (count) => {
      const requests = Array.from({ length: count }, (_, i) => request(`job-${i}`));
      for (const { name } of requests)
        await put(name, { lock_until: '2000-01-01', locked_at: null, locked_by: null });
      const grants = await Promise.all(requests.map((each) => used.store.acquire(each)));
      const leases = requests.map((each, i): LeaseRef => {
        const { fencingToken = 0 } = grants[i] as { fencingToken?: number };
        return { ...each, fencingToken };
      });
      expect(grants.every(({ acquired }) => acquired)).toBe(true);
      expect(await used.store.extend(leases)).toEqual(leases.map(() => ({ held: true })));
      expect(await Promise.all(leases.map((lease) => used.store.release(lease)))).toEqual(
        leases.map(() => ({ released: true })),
      );
    });

    test.each([1, 3])(
      'keep their lock until they end, and let calls stand in line (%d at once)',
      async (count) => {
        const names = Array.from({ length: count }, (_, i) => `job-${i}`);
        for (const name of names)
          await put(name, { lock_until: '2500-01-01', locked_at: null, locked_by: null });
        const wait = { limit: HOUR, priority: 0, process: 'process' };
        const held = { acquired: false, reason: 'held' };
        const results = await Promise.all(names.map((name) => used.store.acquire(request(name, { wait }))));
        expect(results).toMatchObject(names.map(() => ({ ...held, waiting: { ahead: 0 } })));
      },
    );
  });

  if (database.name === 'MySQL')
    test.each([
      ['alone', ['strange']],
      ['among others', ['first', 'strange', 'other']],
    ])('a row whose name is that of another lock but for a blank is told (%s)', async (_how, names) => {
      await put('strange ', { lock_until: '2000-01-01', locked_at: '2000-01-01', locked_by: 'somebody' });
      const reason = {
        code: 'LOCK_STATE',
        message: expect.stringMatching(/"strange": .*"strange ".*Rename/),
      };
      const results = await acquireAll(names);
      for (const [i, name] of names.entries())
        expect(results[i]).toMatchObject(
          name === 'strange' ? { status: 'rejected', reason } : { value: { acquired: true } },
        );
    });

  if (database.name === 'MySQL')
    test('a name with a blank at its end is refused', async () => {
      expect(used.store.nameProblem('strange ')).toMatch(/blanks at the end/);
      await expect(used.store.acquire(request('strange '))).rejects.toThrow(/blanks at the end/);
    });
});
