import { describe, expect, jest, test } from '@jest/globals';
import { AlreadyCommittedError, CommitGuard, LockSupersededError } from '../../lib/guard/index.js';
import { type Lock, LockLostError, LockNotHeldError, SchedulerLockConfigError } from '../../lib/index.js';
import { until } from '../support/until.js';
import { GUARDED, type Session, useGuarded } from './support/guarded.js';
import { under } from './support/under.js';

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
  async function work(
    guard: CommitGuard | undefined,
    lease: Lease,
    what: string,
    step?: string,
  ): Promise<void> {
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

  test('an older lease commits nothing after a newer one has, whatever their ticks and jobs', async () => {
    const guard = await prepared();
    await work(guard, { tick: TICK, fencingToken: 6 }, 'newer');
    for (const [what, late] of Object.entries<Partial<Lock>>({
      'the same tick': { tick: TICK },
      'a later tick': { tick: TICK + HOUR },
      'a call by hand': { tick: undefined },
      'another job of the lock': { tick: TICK, job: 'Jobs.other' },
    })) {
      const refused = work(guard, { tick: TICK, fencingToken: 5, ...late }, what);
      await expect(refused).rejects.toThrow(LockSupersededError);
      await expect(refused).rejects.toMatchObject({ lock: 'invoices', fencingToken: 5, committedToken: 6 });
    }
    await work(guard, { tick: TICK, fencingToken: 5, name: 'other', job: 'Jobs.other' }, 'another lock');
    expect(await done()).toEqual(['another lock', 'newer']);
    // Without the guard each of them commits.
    await work(undefined, { tick: TICK, fencingToken: 5 }, 'without');
    expect(await done()).toContain('without');
  });

  test('jobs that share a lock have ticks of their own', async () => {
    const guard = await prepared();
    await work(guard, { tick: TICK, fencingToken: 5, job: 'Jobs.one' }, 'one');
    await work(guard, { tick: TICK, fencingToken: 6, job: 'Jobs.other' }, 'other');
    const again = work(guard, { tick: TICK, fencingToken: 7, job: 'Jobs.one' }, 'one again');
    await expect(again).rejects.toThrow(AlreadyCommittedError);
    expect(await done()).toEqual(['one', 'other']);
  });

  test('a tick that is older than one that has committed is refused as late, not taken for done', async () => {
    const guard = await prepared();
    await work(guard, { tick: TICK, fencingToken: 5 }, 'newer');
    const older = work(guard, { tick: TICK - HOUR, fencingToken: 6 }, 'older');
    await expect(older).rejects.toThrow(/a newer tick has committed, with fencing token 5/);
    await expect(older).rejects.toThrow(LockSupersededError);
    expect(await done()).toEqual(['newer']);
  });

  test('what is rolled back has not committed', async () => {
    const guard = await prepared();
    const session = await used.session();
    await session.query('START TRANSACTION');
    await under({ tick: TICK, fencingToken: 6 }, () => guard.commit(session.tx));
    await session.query('ROLLBACK');
    await work(guard, { tick: TICK, fencingToken: 5 }, 'an older one');
    expect(await done()).toEqual(['an older one']);
  });

  test('a refusal changes nothing, even if the transaction commits all the same', async () => {
    const guard = await prepared();
    await work(guard, { tick: TICK, fencingToken: 6 }, 'first');
    const before = await used.rows(`SELECT job, step, tick, fence FROM ${used.table} ORDER BY job`);
    const session = await used.session();
    for (const fencingToken of [5, 7]) {
      await session.query('START TRANSACTION');
      await under({ tick: TICK, fencingToken }, () => guard.commit(session.tx)).catch(() => undefined);
      await session.query('COMMIT');
    }
    const after = await used.rows(`SELECT job, step, tick, fence FROM ${used.table} ORDER BY job`);
    // But that a newer lease has been there.
    expect(after).toEqual(
      before.map((row) => (row['job'] === '' ? { ...row, fence: expect.anything() } : row)),
    );
  });

  test('steps of a run are committed once each, and the others go on', async () => {
    const guard = await prepared();
    const first = { tick: TICK, fencingToken: 5 };
    await work(guard, first, 'invoices', 'invoices');
    const second = { tick: TICK, fencingToken: 6 };
    const again = work(guard, second, 'invoices again', 'invoices');
    // A job that ends here has not done all: it has not completed.
    await expect(again).rejects.toMatchObject({ step: 'invoices', done: false });
    await work(guard, second, 'letters', 'letters');
    await expect(work(guard, first, 'late letters', 'letters')).rejects.toThrow(LockSupersededError);
    expect(await done()).toEqual(['invoices', 'letters']);
  });

  test('a second transaction of a run without a step is refused, and that is not taken for done', async () => {
    const guard = await prepared();
    const lease = { tick: TICK, fencingToken: 5 };
    await work(guard, lease, 'first');
    const second = work(guard, lease, 'second');
    await expect(second).rejects.toThrow(/give each of its transactions a step of its own/);
    await expect(second).rejects.toMatchObject({ code: 'ALREADY_COMMITTED', done: false });
    const session = await used.session();
    await session.query('START TRANSACTION');
    const mixed = under({ tick: TICK + HOUR, fencingToken: 6 }, async () => {
      await guard.commit(session.tx, { step: 'one' });
      await guard.commit(session.tx);
    });
    await expect(mixed).rejects.toThrow(/with a step and without one/);
    await session.query('ROLLBACK');
    expect(await done()).toEqual(['first']);
  });

  test('a run without a tick goes by its fencing token alone, and may commit several times', async () => {
    const guard = await prepared();
    await work(guard, { tick: undefined, fencingToken: 5 }, 'one');
    await work(guard, { tick: undefined, fencingToken: 5 }, 'two');
    await work(guard, { tick: undefined, fencingToken: 6 }, 'three');
    await expect(work(guard, { tick: undefined, fencingToken: 5 }, 'late')).rejects.toThrow(
      LockSupersededError,
    );
    // It takes no tick from the schedule.
    await work(guard, { tick: TICK, fencingToken: 7 }, 'tick');
    expect(await done()).toEqual(['one', 'three', 'tick', 'two']);
  });

  test.each([
    ['a lost lease', () => new LockLostError('invoices', 'deadline')],
    ['a job that has ended', () => new LockNotHeldError('Lock "invoices" is not held any more')],
  ])('under %s nothing is asked, and nothing is committed', async (_what, error) => {
    const guard = await prepared();
    const lost = error();
    const assertLocked = (): void => {
      throw lost;
    };
    await expect(work(guard, { tick: TICK, fencingToken: 5, assertLocked }, 'late')).rejects.toBe(lost);
    expect(await done()).toEqual([]);
    expect(await used.rows(`SELECT * FROM ${used.table}`)).toEqual([]);
  });

  test('outside of a job it says that no lock is held', async () => {
    const guard = await prepared();
    const session = await used.session();
    await session.query('START TRANSACTION');
    const commit = guard.commit(session.tx);
    await expect(commit).rejects.toThrow(LockNotHeldError);
    await expect(commit).rejects.toThrow(/^guard\.commit\(\): no lock is held here\./);
  });

  test('what commits each statement by itself is refused, and the tick is not taken for done', async () => {
    const guard = await prepared();
    const session = await used.session();
    const lease = { tick: TICK, fencingToken: 5 };
    const text = (answers: object) => async (statement: string, values: unknown[]) =>
      (answers as { query(text: string, values: unknown[]): Promise<unknown> }).query(statement, values);
    for (const tx of [used.pool, session.tx, text(used.pool), text(session.tx)]) {
      for (const tick of [TICK, undefined]) {
        const commit = under({ ...lease, tick }, () => guard.commit(tx));
        await expect(commit).rejects.toThrow(SchedulerLockConfigError);
        await expect(commit).rejects.toThrow(/no open transaction/);
      }
    }
    await work(guard, lease, 'in a transaction');
    expect(await done()).toEqual(['in a transaction']);
  });

  test('the table is made once, by as many as want it, where its name says', async () => {
    const guards = Array.from({ length: 8 }, () => prepared());
    await Promise.all(guards);
    expect(await used.rows(`SELECT * FROM ${used.table}`)).toEqual([]);
    const [place] = await used.rows(
      guarded.dialect === 'mysql' ? 'SELECT DATABASE() AS place' : 'SELECT current_schema() AS place',
    );
    const options = { dialect: guarded.dialect, table: `${String(place?.['place'])}.${used.table}` };
    await work(new CommitGuard(options), { tick: TICK, fencingToken: 5 }, 'by its full name');
    expect(await used.rows(`SELECT * FROM ${used.table}`)).toHaveLength(2);
  });

  test('where tokens have restarted, runs are refused until somebody says so, and ticks stay known', async () => {
    const guard = await prepared();
    await work(guard, { tick: TICK, fencingToken: 1_795_263_020_003_123 }, 'before');
    await expect(work(guard, { tick: TICK + HOUR, fencingToken: 1 }, 'restarted')).rejects.toThrow(
      /tokens that restart/,
    );
    await used.rows(`UPDATE ${used.table} SET fence = 0 WHERE job = ''`);
    await expect(work(guard, { tick: TICK, fencingToken: 2 }, 'again')).rejects.toThrow(
      AlreadyCommittedError,
    );
    await work(guard, { tick: TICK + HOUR, fencingToken: 3 }, 'after');
    expect(await done()).toEqual(['after', 'before']);
  });

  const levels = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'];
  describe.each(
    levels.flatMap((level) => [
      { level, first: true, where: 'as the first statement' },
      { level, first: false, where: 'after a SELECT' },
    ]),
  )('at $level, $where', ({ level, first }) => {
    /** The later lease comes while the transaction of the earlier one is open. */
    async function race(guard: CommitGuard, later: Lease, end: 'COMMIT' | 'ROLLBACK'): Promise<unknown> {
      const [one, two] = [await used.session(), await used.session()];
      for (const session of [one, two]) {
        await session.query(
          `SET SESSION ${guarded.dialect === 'mysql' ? '' : 'CHARACTERISTICS AS '}TRANSACTION ISOLATION LEVEL ${level}`,
        );
        await session.query('START TRANSACTION');
        // The snapshot of the second one is older than what the first one commits.
        if (!first) await session.query(`SELECT what FROM ${used.work} WHERE what = 'nothing'`);
      }
      await under({ tick: TICK, fencingToken: 5 }, () => guard.commit(one.tx));
      const second = settled(work2(guard, later, two));
      await waits(second);
      await one.query(end);
      return second.result;
    }

    async function work2(guard: CommitGuard, lease: Lease, session: Session): Promise<string> {
      await under(lease, () => guard.commit(session.tx));
      await session.query(`INSERT INTO ${used.work} VALUES ('later')`);
      await session.query('COMMIT');
      return 'committed';
    }

    const errorOf = (result: unknown): unknown => (result as { code?: unknown }).code ?? result;

    /**
     * The code with which a database refuses what was changed after the snapshot, whoever changed it: nothing is committed twice, but
     * the cases are not told apart.
     */
    async function refusal(): Promise<string | undefined> {
      if (level === 'READ COMMITTED') return undefined;
      if (guarded.dialect === 'postgres') return '40001';
      const [variable] = await used.rows("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'");
      return variable?.['Value'] === 'ON' && (level === 'SERIALIZABLE' || !first)
        ? 'ER_CHECKREAD'
        : undefined;
    }

    test('the later one waits for the earlier one, whose tick is then known', async () => {
      const result = await race(await prepared(), { tick: TICK, fencingToken: 6 }, 'COMMIT');
      expect(errorOf(result)).toBe((await refusal()) ?? 'ALREADY_COMMITTED');
    });

    test('the later one waits for the earlier one, and goes on with another tick', async () => {
      const result = await race(await prepared(), { tick: TICK + HOUR, fencingToken: 6 }, 'COMMIT');
      expect(errorOf(result)).toBe((await refusal()) ?? 'committed');
    });

    test('the later one waits for a newer one, and is superseded', async () => {
      const result = await race(await prepared(), { tick: TICK, fencingToken: 4 }, 'COMMIT');
      expect(errorOf(result)).toBe((await refusal()) ?? 'LOCK_SUPERSEDED');
    });

    test('the later one goes on when the earlier one is rolled back', async () => {
      const result = await race(await prepared(), { tick: TICK, fencingToken: 4 }, 'ROLLBACK');
      expect(errorOf(result)).toBe('committed');
      expect(await done()).toEqual(['later']);
    });
  });
});

/** A promise, and whether it is settled. */
function settled<T>(promise: Promise<T>): { readonly result: Promise<T | Error>; isOver: boolean } {
  const state = {
    isOver: false,
    result: promise.catch((error: unknown) => error as Error).finally(() => (state.isOver = true)),
  };
  return state;
}

/** It has had time to go on, and has not. */
async function waits(state: { readonly isOver: boolean }): Promise<void> {
  const began = performance.now();
  await until(() => state.isOver || performance.now() - began > 300);
  expect(state.isOver).toBe(false);
}
