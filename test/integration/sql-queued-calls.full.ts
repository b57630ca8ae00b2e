import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LeaseRef, NewEvent } from '../../lib/index.js';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { gate } from './app.js';

/* Rows of kept calls, where one statement comes late, or calls are old. */

const DAY = 86_400_000;
const TAKES = [{ job: 'job', ttl: 60_000 }];

/** What its statements go through. */
interface Dialect {
  readonly events: { write(text: string, values: readonly unknown[]): Promise<number> };
}

describe.each(DATABASES)('in $name', (database) => {
  const table = uniqueTable('events');
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
    for (const each of [table, `${table}_events`]) await pool.write(`DROP TABLE IF EXISTS ${each}`);
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
    const answer = await store.events.next(lease, { takes: TAKES });
    expect(answer).toMatchObject({ event: { delivery: 1 } });
    return { ...lease, fencingToken: 'fencingToken' in answer ? answer.fencingToken : 0 };
  }

  async function keep(name: string): Promise<NewEvent> {
    const event = { name, id: randomUUID(), job: 'job', args: '[]', priority: 0, max: 10, redeliver: 0 };
    await store.events.enqueue(event);
    return event;
  }

  test('a dead letter that is put back is kept for its time once more, whenever its call was made', async () => {
    const { id } = await keep('old');
    const lease = await taken(await take('old'));
    await store.events.next({ ...lease, event: id }, { takes: TAKES, outcome: 'failed' });
    await pool.write(`UPDATE ${table}_events SET queued_at = queued_at - ${8 * DAY} WHERE id = ?`, [id]);
    expect(await store.events.redeliver('old')).toBe(1);
    // A store that has just started looks for what is too old.
    await pool.store({ table }).events.left(['job']);
    expect(await store.events.next(lease, { takes: TAKES })).toMatchObject({ event: { id, delivery: 1 } });
  });

  test('what was kept for seven days is deleted', async () => {
    const { id } = await keep('forgotten');
    await pool.write(`UPDATE ${table}_events SET queued_at = queued_at - ${8 * DAY} WHERE id = ?`, [id]);
    await pool.store({ table }).events.left(['job']);
    expect((await store.events.next(await take('forgotten'), { takes: TAKES })).event).toBeUndefined();
  });

  test('a holder whose lease has run out takes no event from the next one, which runs it already', async () => {
    const slow = pool.store({ table });
    const [reached, goOn] = [gate(), gate()];
    const { events } = Reflect.get(slow.events, 'dialect') as Dialect;
    const write = events.write.bind(events);
    events.write = async (text, values) => {
      if (text.startsWith('UPDATE {t} SET taken = ?, ')) {
        reached.open();
        await goOn.opened;
      }
      return write(text, values);
    };
    const lease = await take('slow', slow);
    const { id } = await keep('slow');
    const late = slow.events.next(lease, { takes: TAKES });
    await reached.opened;
    await pool.write(`UPDATE ${table} SET lock_until = lock_until - INTERVAL '1' HOUR WHERE name = 'slow'`);
    const next = await take('slow');
    const own = await taken(next);
    goOn.open();
    expect(await late).toMatchObject({ held: false });
    const after = await store.events.next({ ...own, event: id }, { takes: TAKES, outcome: 'completed' });
    expect(after).toEqual({ held: true, dead: [] });
  });
});
