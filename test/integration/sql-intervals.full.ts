import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { AcquireResult } from '../../lib/contract/lock-store.js';
import { DATABASES } from '../support/database.js';
import { useTable } from './support/sql-table.js';

const DAY = 86_400_000;
const JOB = 'Jobs.report';

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  const used = useTable(database, 'intervals');

  /** A run of the job, if it may start. */
  async function run(interval = DAY): Promise<AcquireResult> {
    const request = { name: 'lock', token: randomUUID(), ttl: 60_000, holder: 'host', job: JOB, interval };
    const result = await used.store.acquire(request);
    if (result.acquired) await used.store.release({ ...request, fencingToken: result.fencingToken });
    return result;
  }

  async function due(): Promise<number> {
    const [info] = await used.store.inspect();
    return info?.jobs.find(({ job }) => job === JOB)?.due ?? NaN;
  }

  /** As if the clock had been so much further when the job started last. */
  async function clockWasAhead(ms: number): Promise<void> {
    const at = await due();
    const [set] = await used.pool.rows(`SELECT state FROM ${used.table}`);
    const state = String(set?.['state']).replace(String(at), String(at + ms));
    await used.pool.write(`UPDATE ${used.table} SET state = ?, version = ?`, [state, randomUUID()]);
    expect(await due()).toBe(at + ms);
  }

  test('an interval whose due time lies further ahead than it can was set by a clock that was set back, and may start', async () => {
    expect(await run()).toMatchObject({ acquired: true });
    const first = await due();
    await clockWasAhead(30 * DAY);
    expect(await run()).toMatchObject({ acquired: true });
    // It counts from this start on.
    const next = await due();
    expect(next).toBeGreaterThanOrEqual(first);
    expect(next).toBeLessThan(first + DAY);
    expect(await run()).toMatchObject({ acquired: false, reason: 'already-ran' });
  });

  test('an interval that started as early as it may is not run once more', async () => {
    expect(await run()).toMatchObject({ acquired: true });
    // A start at the beginning of the allowance puts it a tenth further ahead.
    await clockWasAhead(0.09 * DAY);
    expect(await run()).toMatchObject({ acquired: false, reason: 'already-ran' });
    await clockWasAhead(0.02 * DAY);
    expect(await run()).toMatchObject({ acquired: true });
  });

  test('a due time is judged by the interval of today', async () => {
    expect(await run(30 * DAY)).toMatchObject({ acquired: true });
    expect(await run()).toMatchObject({ acquired: false, reason: 'already-ran' });
    expect(await run(60 * DAY)).toMatchObject({ acquired: false, reason: 'already-ran' });
  });
});
