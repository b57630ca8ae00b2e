import type { AcquireRequest, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { endedBy, lockedBy } from '../sql/holding.js';
import {
  afterMicroseconds,
  clockOf,
  EPOCH_MICROSECONDS,
  isNamed,
  microsecondsOf,
  type MysqlTable,
  nowOf,
  storedName,
} from './columns.js';
import { raw, type Sql, sql } from './sql-text.js';

/** The statements of calls that are neither of a tick nor of an interval: short, and their texts are made once for a table. */
export interface PlainStatements {
  /** Takes a lock whose row is there, with a fencing token of ours in it, if it is free: `insertId` is the new one. */
  take(request: AcquireRequest): Sql;
  /** Gives a live lease back whose start was not kept, and whose lock is to be free at once. */
  release(lease: LeaseRef, outcome: ReleaseOutcome): Sql;
}

/** What stands in a text for a value. */
const SOME = '';

export function plainStatements(table: MysqlTable): PlainStatements {
  const named = isNamed(table, SOME);
  const take = sql`UPDATE ${table.table} SET
  fencing_token = LAST_INSERT_ID(GREATEST(fencing_token + 1, ${EPOCH_MICROSECONDS})),
  lock_until = ${afterMicroseconds(table, SOME)}, locked_at = ${nowOf(table)}, locked_by = ${SOME}, job_state = JSON_REMOVE(job_state, '$.newest')
WHERE ${named} AND lock_until <= ${clockOf(table)} AND fencing_token < ${raw(String(Number.MAX_SAFE_INTEGER))}`;
  const release = sql`UPDATE ${table.table} SET lock_until = ${nowOf(table)}, locked_by = ${SOME}
WHERE ${named} AND locked_by = ${SOME} AND lock_until > ${nowOf(table)} AND JSON_EXTRACT(job_state, '$.newest') IS NULL`;
  const nameOf = (name: string): string[] => named.values.map(() => storedName(name));
  return {
    take: (request) => ({
      text: take.text,
      values: [microsecondsOf(request.ttl), lockedBy(request), ...nameOf(request.name)],
    }),
    release(lease, outcome) {
      const by = lockedBy(lease);
      return { text: release.text, values: [endedBy(by, outcome), ...nameOf(lease.name), by] };
    },
  };
}
