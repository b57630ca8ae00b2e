import { describe, expect, jest, test } from '@jest/globals';
import { AlreadyCommittedError, CommitGuard, LockSupersededError } from '../../lib/guard/index.js';
import { type Lock, LockLostError, LockNotHeldError, SchedulerLockConfigError } from '../../lib/index.js';
import { until } from '../support/until.js';
import { GUARDED, type Session, under, useGuarded } from './support/guarded.js';

jest.setTimeout(60_000);

const TICK = 1_795_263_000_000;
const HOUR = 3_600_000;

type Lease = Parameters<typeof under>[0];

describe.each(GUARDED.map((each) => [each.database.name, each] as const))('on %s', (_name, guarded) => {
  const used = useGuarded(guarded);

  async function prepared(): Promise<CommitGuard> {
    const guard = new CommitGuard({ dialect: guarded.dialect, table: used.table });
    await guard.createTable(used.pool);
    return guard;
  }

  /** The work of a run, in a transaction with the guard. */
  async function work(guard: CommitGuard | undefined, lease: Lease, what: string, step?: string): Promise<void> {
    const session = await used.session();
    await session.query('START TRANSACTION');
    try {
      await under(lease, () => guard?.commit(session.tx, { step }));
      await session.query(`INSERT INTO ${used.work} VALUES ('${what}')`);
      await session.query('COMMIT');
    } catch (error) {
      await session.query('ROLLBACK');
      throw error;
    }
  }

  const done = async (): Promise<unknown[]> =>
    (await used.rows(`SELECT what FROM ${used.work} ORDER BY what`)).map(({ what }) => what);

  test('the work of a tick is committed once, however often its run is repeated', async () => {
    const guard = await prepared();
    await work(guard, { tick: TICK, fencingToken: 5 }, 'first');
    const again = work(guard, { tick: TICK, fencingToken: 6 }, 'second');
    await expect(again).rejects.toThrow(AlreadyCommittedError);
    await expect(again).rejects.toMatchObject({ job: 'Jobs.invoices', tick: TICK, step: '', done: true });
    await work(guard, { tick: TICK + HOUR, fencingToken: 7 }, 'third');
    expect(await done()).toEqual(['first', 'third']);
    // Without the guard it is not.
    await work(undefined, { tick: TICK, fencingToken: 8 }, 'without');
    expect(await done()).toEqual(['first', 'third', 'without']);
  });
});
