import type { AcquireRequest, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { endedBy, lockedBy } from '../sql/locked-by.js';
import {
  afterMicroseconds,
  clockOf,
  EPOCH_MICROSECONDS,
  freeOf,
  isNamed,
  microsecondsOf,
  type MysqlTable,
  nowOf,
  storedName,
} from './columns.js';
import { raw, type Sql, sql } from './sql-text.js';

/** The statements for calls without a tick or an interval: short, with texts that are made once per table. */
export interface PlainStatements {
  /** Takes a free lock whose row exists and has a fencing token: `insertId` is the new one. */
  take(request: AcquireRequest): Sql;
  /** Releases a live lease without a job, so that its lock is free at once. */
  release(lease: LeaseRef, outcome: ReleaseOutcome): Sql;
}

/** Stands for a value in a text. */
const SOME = '';

export function plainStatements(table: MysqlTable): PlainStatements {
  const named = isNamed(table, SOME);
  const take = sql`UPDATE ${table.table} SET
  fencing_token = LAST_INSERT_ID(GREATEST(fencing_token + 1, ${EPOCH_MICROSECONDS})),
  lock_until = ${afterMicroseconds(table, SOME)}, locked_at = ${nowOf(table)}, locked_by = ${SOME}
WHERE ${named} AND lock_until <= ${clockOf(table)} AND fencing_token < ${raw(String(Number.MAX_SAFE_INTEGER))}`;
  const release = sql`UPDATE ${table.table} SET lock_until = ${freeOf(table)}, locked_by = ${SOME}
WHERE ${named} AND locked_by = ${SOME} AND lock_until > ${nowOf(table)}`;
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
