import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.js';
import type { LeaseRef, ReleaseOptions, ReleaseOutcome } from '../lock-store.js';
import { BY_PERSON, isOfPerson, mergedArguments } from '../queued-arguments.js';
import {
  DEAD_KEPT,
  type DeadLetter,
  type Enqueued,
  LOOK_FOR_QUEUED,
  type LeftCalls,
  type NewQueuedCall,
  type NextOptions,
  type NextResult,
  type QueuedCallStore,
} from '../queued-call-store.js';
import { isAttended, STEP_OF_PRIORITY } from '../rules.js';
import type { SqlDialect } from './dialect.js';
import { firstPlace } from './lines.js';
import type { SqlLocks } from './locks.js';
import { AGAIN, type Operations } from './operations.js';
import { COLUMNS, delivered, letterOf, marks, type StoredCall, storedCall } from './queued-call-row.js';
import { QueuedCallsTable } from './queued-calls-table.js';

/** How many locks a search for left queued calls returns at most. */
const MOST_LEFT = 1_000;

/**
 * Queued calls, in a table beside that of the locks. Only the holder of a lock takes its queued calls, so a few statements, one after
 * another, do what other stores need one operation for.
 */
export class SqlQueuedCalls<Table> implements QueuedCallStore {
  readonly #table: QueuedCallsTable<Table>;

  constructor(
    private readonly dialect: SqlDialect<Table>,
    operations: Operations<Table>,
    private readonly options: {
      readonly locks: SqlLocks;
      readonly migrate: boolean;
      readonly clock: Clock;
      /** Keeps the record of a run that has ended. */
      readonly ended: (lease: LeaseRef, how: Pick<ReleaseOptions, 'outcome' | 'record'>) => void;
    },
  ) {
    this.#table = new QueuedCallsTable(dialect, operations, options);
  }

  /** See {@link QueuedCallsTable.init}. */
  init(): Promise<void> {
    return this.#table.init();
  }

  enqueue(queuedCall: NewQueuedCall): Promise<Enqueued> {
    const { name, id, job, key, args, max } = queuedCall;
    const slot = key === undefined ? null : slotOf(name, job, key);
    let isFirst = true;
    return this.#table.run(async () => {
      // The same call, or another call with its key, was faster.
      const known = isFirst ? undefined : await this.#placeOf('id', id);
      if (known !== undefined) return known;
      isFirst = false;
      const merged = slot === null ? undefined : await this.#merge(slot, { id, args });
      if (merged !== undefined) return merged;
      const { count, last } = await this.#waiting(queuedCall);
      // If the call is one of these, it was sent twice.
      if (count >= max) return (await this.#placeOf('id', id)) ?? { queued: false };
      await this.#insert(queuedCall, slot, last);
      return (await this.#placeOf('id', id)) ?? AGAIN;
    }, name);
  }

  async next(lease: LeaseRef, { outcome, record, takes }: NextOptions): Promise<NextResult> {
    if (outcome !== undefined && record !== undefined) this.options.ended(lease, { outcome, record });
    const dead: DeadLetter[] = [];
    return this.#table.run(async (): Promise<NextResult | typeof AGAIN> => {
      const { fence, first } = await this.#held(lease);
      if (fence > lease.fencingToken) return this.#takenBefore(lease, fence);
      if (outcome !== undefined) await this.#end(lease, outcome);
      if (fence !== lease.fencingToken) return { held: false, dead };
      for (;;) {
        const queuedCall = await this.#first(
          lease.name,
          takes.map(({ job }) => job),
        );
        if (queuedCall === undefined) return { held: true, dead };
        if (queuedCall.taken !== lease.token && queuedCall.delivery > queuedCall.redeliver) {
          dead.push(...(await this.#bury(lease.name, queuedCall)));
          continue;
        }
        if (first < queuedCall.place) return { held: true, place: queuedCall.place, dead };
        const taken = await this.#take(lease, queuedCall, takes);
        return taken === AGAIN ? AGAIN : { ...taken, dead };
      }
    }, lease.name);
  }

  /** Ends a queued call whose lease is released. */
  end(lease: LeaseRef, outcome: ReleaseOutcome): Promise<void> {
    return this.#table.run(() => this.#end(lease, outcome), lease.name);
  }

  left(jobs: readonly string[]): Promise<LeftCalls[]> {
    const { queuedCalls } = this.dialect;
    return this.#table.run(async () => {
      await this.#table.tidy();
      const found = await queuedCalls.read(
        `SELECT name, min(place) AS place FROM {t} WHERE dead IS NULL AND job IN (${marks(jobs)}) GROUP BY name LIMIT ${MOST_LEFT}`,
        [...jobs],
      );
      const left = found.map((row) => ({
        name: queuedCalls.nameOf(String(row['name'])),
        place: Number(row['place']),
      }));
      if (left.length === 0) return left;
      const looked = await this.options.locks.look(left.map(({ name }) => name));
      return left.filter((call) => {
        const first = looked.isFree(call.name) ? undefined : firstPlace(looked.of(call.name));
        return !isAttended(call, first);
      });
    });
  }

  redeliver(name: string, id?: string): Promise<number> {
    const { queuedCalls } = this.dialect;
    // The time for which a call is kept begins anew: it counts from `dead_at`.
    const text = `UPDATE {t} SET dead = NULL, dead_at = ${queuedCalls.now}, delivery = 0, taken = NULL WHERE name = ? AND dead IS NOT NULL${id === undefined ? '' : ' AND id = ?'}`;
    const values = [queuedCalls.stored(name), ...(id === undefined ? [] : [id])];
    return this.#table.run(() => queuedCalls.write(text, values), name);
  }

  async announce(): Promise<void> {
    await this.dialect.queuedCalls.announce?.(LOOK_FOR_QUEUED).catch(() => undefined);
  }

  /**
   * How many calls wait for the lock, and the last place of those with this priority: the next one comes behind it, also after the clock
   * was set back.
   */
  async #waiting({ name, priority }: NewQueuedCall): Promise<{ count: number; last: number }> {
    const { queuedCalls } = this.dialect;
    const ahead = `place - (${queuedCalls.micros} - ${queuedCalls.int} * ${STEP_OF_PRIORITY})`;
    const [row] = await queuedCalls.read(
      `SELECT count(*) AS n, max(CASE WHEN abs(${ahead}) < ${STEP_OF_PRIORITY / 2} THEN place END) AS last FROM {t}
WHERE name = ? AND dead IS NULL`,
      [String(priority), queuedCalls.stored(name)],
    );
    return { count: Number(row?.['n']), last: Number(row?.['last'] ?? Number.MIN_SAFE_INTEGER) };
  }

  /** @param last the place of the call before it */
  async #insert(queuedCall: NewQueuedCall, slot: string | null, last: number): Promise<void> {
    const { queuedCalls } = this.dialect;
    const { id, job, key = null, args } = queuedCall;
    const name = queuedCalls.stored(queuedCall.name);
    const [priority, next, redeliver] = [queuedCall.priority, last + 1, queuedCall.redeliver].map(String);
    const place = `GREATEST(${queuedCalls.micros} - ${queuedCalls.int} * ${STEP_OF_PRIORITY}, ${queuedCalls.int})`;
    await queuedCalls.write(
      `INSERT INTO {t} (id, name, job, call_key, slot, place, args, queued_at, merged, redeliver, delivery)
VALUES (?, ?, ?, ?, ?, ${place}, ?, ${queuedCalls.now}, 0, ${queuedCalls.int}, 0)`,
      [id, name, job, key, slot, priority, next, args, redeliver],
    );
  }

  /** @returns `undefined` if no other call with its key waits */
  async #merge(
    slot: string,
    { id, args }: Pick<NewQueuedCall, 'id' | 'args'>,
  ): Promise<Enqueued | typeof AGAIN | undefined> {
    const { queuedCalls } = this.dialect;
    const [row] = await queuedCalls.read('SELECT id, args FROM {t} WHERE slot = ? AND id <> ?', [slot, id]);
    if (row === undefined) return undefined;
    const kept = String(row['id']);
    const before = String(row['args']);
    // Arguments that name a person keep the person. If these name none, a call with a person may come in between: then the caller asks again.
    const alone = isOfPerson(before) ? '' : ` AND args NOT LIKE '${BY_PERSON}%'`;
    const written = await queuedCalls.write(
      `UPDATE {t} SET args = ?, merged = merged + 1 WHERE id = ? AND slot = ?${alone}`,
      [mergedArguments(before, args), kept, slot],
    );
    const found = written > 0 ? await this.#placeOf('slot', slot) : undefined;
    // In between, a holder took the call, or a call with a person was merged into it.
    return found === undefined ? AGAIN : { ...found, id: kept };
  }

  async #placeOf(
    column: 'id' | 'slot',
    value: string,
  ): Promise<Extract<Enqueued, { queued: true }> | undefined> {
    const [row] = await this.dialect.queuedCalls.read(`SELECT place, merged FROM {t} WHERE ${column} = ?`, [
      value,
    ]);
    return row && { queued: true, place: Number(row['place']), merged: Number(row['merged']) };
  }

  async #first(name: string, jobs: readonly string[]): Promise<StoredCall | undefined> {
    if (jobs.length === 0) return undefined;
    const { queuedCalls } = this.dialect;
    const [row] = await queuedCalls.read(
      `SELECT ${COLUMNS} FROM {t} WHERE name = ? AND dead IS NULL AND job IN (${marks(jobs)}) ORDER BY place, id LIMIT 1`,
      [queuedCalls.stored(name), ...jobs],
    );
    return row && storedCall(row);
  }

  async #take(lease: LeaseRef, queuedCall: StoredCall, takes: NextOptions['takes']) {
    const { id, job, taken, delivery } = queuedCall;
    const { queuedCalls } = this.dialect;
    // Otherwise the answer was lost, and the holder asks again.
    if (taken !== lease.token) {
      const text = `UPDATE {t} SET taken = ?, delivery = delivery + 1, slot = NULL WHERE id = ? AND delivery = ${queuedCalls.int}`;
      // Another holder has taken the call meanwhile, so the lease has run out.
      if ((await queuedCalls.write(text, [lease.token, id, String(delivery)])) === 0) return AGAIN;
    }
    // Read only now: from here on no other call is merged into this one.
    const [row = {}] = await queuedCalls.read(`SELECT ${COLUMNS}, args FROM {t} WHERE id = ?`, [id]);
    const ttl = takes.find((each) => each.job === job)?.ttl ?? lease.ttl;
    const fencingToken = await this.options.locks.regrant(lease, { job, ttl });
    // The lease has run out meanwhile, and the next holder takes the queued call. Or the same was asked twice.
    if (fencingToken === undefined) return AGAIN;
    return { held: true as const, queuedCall: delivered(storedCall(row)), fencingToken };
  }

  /** The answer was lost, and the holder asks again: the lease has got another fencing token with its queued call. */
  async #takenBefore({ name, token }: LeaseRef, fencingToken: number): Promise<NextResult> {
    const { queuedCalls } = this.dialect;
    const [row] = await queuedCalls.read(
      `SELECT ${COLUMNS}, args FROM {t} WHERE name = ? AND dead IS NULL AND taken = ?`,
      [queuedCalls.stored(name), token],
    );
    if (row === undefined) return { held: false, dead: [] };
    return { held: true, queuedCall: delivered(storedCall(row)), fencingToken, dead: [] };
  }

  /** The fencing token of the live lease with the token of this one, NaN if there is none, and the place of the first call in line. */
  async #held({ name, token }: LeaseRef): Promise<{ fence: number; first: number }> {
    const looked = await this.options.locks.look([name]);
    const document = looked.of(name);
    const { lease, ended, stranger } = document ?? {};
    const isOurs = lease?.token === token && ended === undefined && stranger === undefined;
    if (!isOurs || looked.isFree(name)) return { fence: NaN, first: Infinity };
    return { fence: lease.fencingToken, first: firstPlace(document) ?? Infinity };
  }

  async #end({ name, queuedCall, token }: LeaseRef, outcome: ReleaseOutcome): Promise<void> {
    if (queuedCall === undefined) return;
    const { queuedCalls } = this.dialect;
    if (outcome === 'completed')
      await queuedCalls.write('DELETE FROM {t} WHERE id = ? AND taken = ?', [queuedCall, token]);
    else if (outcome === 'failed' || outcome === 'timed-out') {
      const text = `UPDATE {t} SET dead = ?, dead_at = ${queuedCalls.now}, taken = NULL WHERE id = ? AND taken = ?`;
      if ((await queuedCalls.write(text, [outcome, queuedCall, token])) > 0) await this.#trim(name);
    } else
      await queuedCalls.write('UPDATE {t} SET taken = NULL WHERE id = ? AND taken = ?', [queuedCall, token]);
  }

  /** Makes a queued call a dead letter. Returns nothing if another holder has done so. */
  async #bury(name: string, queuedCall: StoredCall): Promise<DeadLetter[]> {
    const { queuedCalls } = this.dialect;
    const text = `UPDATE {t} SET dead = 'interrupted', dead_at = ${queuedCalls.now}, taken = NULL, slot = NULL WHERE id = ? AND delivery = ${queuedCalls.int} AND dead IS NULL`;
    if ((await queuedCalls.write(text, [queuedCall.id, String(queuedCall.delivery)])) === 0) return [];
    await this.#trim(name);
    return [letterOf(queuedCall, 'interrupted', this.options.clock.now())];
  }

  /** Deletes all but the newest dead letters of a lock. */
  async #trim(name: string): Promise<void> {
    const { queuedCalls } = this.dialect;
    const old = await queuedCalls.read(
      `SELECT id FROM {t} WHERE name = ? AND dead IS NOT NULL ORDER BY dead_at DESC, id LIMIT 100 OFFSET ${DEAD_KEPT}`,
      [queuedCalls.stored(name)],
    );
    for (const { id } of old) await queuedCalls.write('DELETE FROM {t} WHERE id = ?', [id]);
  }
}

/** Unique among the queued calls that no lease has taken yet. */
const slotOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');
