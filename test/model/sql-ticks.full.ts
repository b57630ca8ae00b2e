import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { array, assert, asyncProperty, constantFrom, oneof, record } from 'fast-check';
import type { LockStore, ReleaseOutcome } from '../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { DurableReferenceStore } from '../contract/support/reference-store.js';
import { DATABASES, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { parameters } from './support/parameters.js';

/*
 * What may start is written in SQL, twice, and plainly in the reference store: random ticks, intervals, reruns and ends have
 * to be judged alike by all three.
 */

/** Long ago, so that no clock has a say in it; and far in the future. */
const TICK = 1_760_000_000_000;
const FAR = 8_000_000_000_000;
const DAY = 86_400_000;

type Step = { fields: Partial<AcquireRequest> } | { end: ReleaseOutcome } | { expire: true };

/** Few of each, so that many are about the same start, and most of what is asked may be granted. */
const tickStart = record({
  job: constantFrom('A.quick', 'A.quick', 'A.slow "é\\%s\''),
  tick: constantFrom(TICK, TICK, TICK + 1, TICK + 1, TICK + 2, FAR),
  maxClockSkew: constantFrom(60_000),
  schedule: constantFrom('* * * * *', '* * * * *', '0 * * * *'),
  rerun: constantFrom(undefined, 1, 1, 2, 3),
  only: constantFrom(...Array.from({ length: 6 }, () => undefined), 'known' as const, 'interrupted' as const),
});
const intervalStart = record({ job: constantFrom('A.interval'), interval: constantFrom(DAY) });
const otherStart = record({ job: constantFrom('A.quick', 'A.interval', 'A.other') });

const steps = array(
  oneof(
    { weight: 6, arbitrary: tickStart.map((fields): Step => ({ fields: compact(fields) })) },
    { weight: 1, arbitrary: intervalStart.map((fields): Step => ({ fields })) },
    { weight: 1, arbitrary: otherStart.map((fields): Step => ({ fields })) },
    {
      weight: 5,
      arbitrary: constantFrom<ReleaseOutcome>(
        'completed',
        'failed',
        'timed-out',
        'aborted',
        'aborted',
        'abandoned',
      ).map((end): Step => ({ end })),
    },
    { weight: 1, arbitrary: constantFrom<Step>({ expire: true }) },
  ),
  { maxLength: 30, size: 'max' },
);

/** Options that are not given are absent. */
function compact(fields: Record<string, unknown>): Partial<AcquireRequest> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** What both have to say alike: all but times and fencing tokens. */
function essence(result: AcquireResult): object {
  if (result.acquired) {
    const { attempt = 1, previousSchedule } = result;
    return { acquired: true, attempt, previousSchedule };
  }
  const { reason, tick, finished, holder } = result;
  return {
    reason,
    holder,
    tick,
    finished: tick === undefined ? undefined : finished,
    timed: result.expiresIn !== undefined,
  };
}

interface Subject {
  store: LockStore;
  expire(name: string): Promise<void>;
}

async function play(subject: Subject, name: string, sequence: readonly Step[]): Promise<object[]> {
  const said: object[] = [];
  let lease: LeaseRef | undefined;
  for (const step of sequence) {
    if ('fields' in step) {
      const request = { name, token: randomUUID(), ttl: 3_600_000, holder: 'host', ...step.fields };
      const result = await subject.store.acquire(request);
      said.push({ ...step.fields, ...essence(result) });
      if (result.acquired) lease = { ...request, fencingToken: result.fencingToken };
    } else if ('end' in step) {
      if (lease !== undefined)
        said.push({ ...step, ...(await subject.store.release(lease, { outcome: step.end })) });
    } else {
      await subject.expire(name);
    }
  }
  return said;
}

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  let server: DatabaseServer;
  let pool: TestPool;
  let subject: Subject;
  const table = uniqueTable('ticks');

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
    const store = pool.store({ table });
    await store.init();
    const expire = async (name: string): Promise<void> => {
      await pool.write(`UPDATE ${table} SET lock_until = '2000-01-01' WHERE name = ?`, [name]);
    };
    subject = { store, expire };
  }, 60_000);

  afterAll(async () => {
    await pool.write(`DROP TABLE ${table}`);
    await pool.end();
    await server.stop();
  });

  test('every start is judged as the reference judges it', async () => {
    let run = 0;
    await assert(
      asyncProperty(steps, async (sequence) => {
        const reference = new DurableReferenceStore(new ManualClock());
        const expire = async (name: string): Promise<void> => void reference.locks.delete(name);
        const name = `lock-${(run += 1)}`;
        const expected = await play({ store: reference, expire }, name, sequence);
        expect(await play(subject, name, sequence)).toEqual(expected);
      }),
      parameters(120),
    );
  });
});
