import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LockEntries } from '../../lib/index.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import type { NewQueuedCall } from '../../lib/contract/queued-call-store.js';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { projectRoot } from '../support/machine.js';
import { gate } from './app.js';

/* Rows of queued calls, where one statement comes late, or calls are old. */

const DAY = 86_400_000;
const idOf = (id: string): string => JSON.stringify(['call', id]);
const TAKES = [{ job: 'job', ttl: 60_000 }];

describe.each(DATABASES)('in $name', (database) => {
  const table = uniqueTable('queued');
  let server: DatabaseServer;
  let pool: TestPool;
  let store: SqlStore;
  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
    store = pool.store({ table });
    await store.init();
  });
  afterAll(async () => {
    for (const each of [table, `${table}_entries`]) await pool.write(`DROP TABLE IF EXISTS ${each}`);
    await pool.end();
    await server.stop();
  });

  async function take(name: string, from = store): Promise<LeaseRef> {
    const request = { name, token: randomUUID(), ttl: 60_000, holder: 'host:1:abc' };
    const result = await from.acquire(request);
    if (!result.acquired) throw new Error(`not acquired: ${result.reason}`);
    return { ...request, fencingToken: result.fencingToken };
  }

  /** The lease with which the first call of a lock was taken. */
  async function taken(lease: LeaseRef): Promise<LeaseRef> {
    const answer = await store.queuedCalls.next(lease, { takes: TAKES });
    expect(answer).toMatchObject({ queuedCall: { delivery: 1 } });
    return { ...lease, fencingToken: 'fencingToken' in answer ? answer.fencingToken : 0 };
  }

  async function keep(
    name: string,
    priority = 0,
    fields: Partial<NewQueuedCall> = {},
  ): Promise<NewQueuedCall> {
    const own = { name, id: randomUUID(), job: 'job', args: '[]', priority, max: 10, redeliver: 0 };
    const queuedCall = { ...own, ...fields };
    await store.queuedCalls.enqueue(queuedCall);
    return queuedCall;
  }

  /** Lets the time for which a call is kept be almost over, or over. */
  const age = (id: string, by: number) =>
    pool.write(`UPDATE ${table}_entries SET expires_at = expires_at - ${by} WHERE id = ?`, [idOf(id)]);

  test('a dead letter that is put back is kept for its time once more, whenever its call was made', async () => {
    const { id } = await keep('old');
    const lease = await taken(await take('old'));
    await store.queuedCalls.next({ ...lease, queuedCall: id }, { takes: TAKES, outcome: 'failed' });
    await age(id, 6 * DAY);
    expect(await store.queuedCalls.redeliver('old')).toBe(1);
    await age(id, 6 * DAY);
    expect(await store.queuedCalls.next(lease, { takes: TAKES })).toMatchObject({
      queuedCall: { id, delivery: 1 },
    });
  });

  test('what was kept for seven days is deleted', async () => {
    const { id } = await keep('forgotten');
    await age(id, 8 * DAY);
    expect(await store.queuedCalls.left(['job'])).not.toMatchObject([{ name: 'forgotten' }]);
    expect(
      (await store.queuedCalls.next(await take('forgotten'), { takes: TAKES })).queuedCall,
    ).toBeUndefined();
  });

  test('the statement of docs/production/security.md deletes the calls of one job and key, and no others', async () => {
    const lock = 'deleted';
    const key = 'customer_7%';
    // One becomes a dead letter, one is taken, and one waits.
    const first = await keep(lock, 0, { key });
    const lease = await taken(await take(lock));
    await keep(lock, 0, { key });
    const ended = { takes: TAKES, outcome: 'failed' } as const;
    expect(await store.queuedCalls.next({ ...lease, queuedCall: first.id }, ended)).toMatchObject({
      queuedCall: { key },
    });
    await keep(lock, 0, { key });
    const others = [
      await keep(lock, 0, { key: 'customer-77' }),
      await keep(lock, 0, { key, job: 'other' }),
      await keep(lock, 0, { args: JSON.stringify([{ job: 'job', key }]) }),
    ];
    const page = readFileSync(join(projectRoot, 'docs/production/security.md'), 'utf8');
    const [, start = '', more = ''] =
      /its queued calls +\| `([^`]+)` \(of one key: `([^`]+)`/.exec(page) ?? [];
    const statement = `${start} ${more}`
      .replace('shedlock', table)
      .replace('<lock>', lock)
      .replace('<job>', 'job')
      .replace('<key>', key);
    expect(await pool.write(statement)).toBe(3);
    const left = await pool.rows(`SELECT id FROM ${table}_entries WHERE name = ? ORDER BY place`, [lock]);
    expect(left).toEqual(others.map(({ id }) => ({ id: idOf(id) })));
  });

  test('queued calls run in the order in which they were made, also when the clock of the database is set back meanwhile', async () => {
    const before = await keep('set-back');
    await pool.write(`UPDATE ${table}_entries SET place = place + 60000000 WHERE id = ?`, [idOf(before.id)]);
    const late = await keep('set-back', -1);
    const after = [await keep('set-back'), await keep('set-back')];
    const urgent = await keep('set-back', 1);
    let lease = await take('set-back');
    for (const { id } of [urgent, before, ...after, late]) {
      const answer = await store.queuedCalls.next(lease, { takes: TAKES, outcome: 'completed' });
      expect(answer).toMatchObject({ queuedCall: { id } });
      lease = { ...lease, queuedCall: id, fencingToken: 'fencingToken' in answer ? answer.fencingToken : 0 };
    }
  });

  test('a holder whose lease has run out takes no queued call from the next one, which runs it already', async () => {
    const slow = pool.store({ table });
    const [reached, goOn] = [gate(), gate()];
    const entries = Reflect.get(slow.queuedCalls, 'entries') as LockEntries;
    const put = entries.put.bind(entries);
    entries.put = async (all) => {
      if (all.some(({ version }) => version.startsWith('taken '))) {
        reached.open();
        await goOn.opened;
      }
      return put(all);
    };
    const lease = await take('slow', slow);
    const { id } = await keep('slow');
    const late = slow.queuedCalls.next(lease, { takes: TAKES });
    await reached.opened;
    await pool.write(`UPDATE ${table} SET lock_until = lock_until - INTERVAL '1' HOUR WHERE name = 'slow'`);
    const next = await take('slow');
    const own = await taken(next);
    goOn.open();
    expect(await late).toMatchObject({ held: false });
    const after = await store.queuedCalls.next(
      { ...own, queuedCall: id },
      { takes: TAKES, outcome: 'completed' },
    );
    expect(after).toEqual({ held: true, dead: [] });
  });
});
