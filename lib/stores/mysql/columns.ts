import type { Room } from '../sql/sql-table.js';
import { raw, type Sql, sql } from './sql-text.js';

/** A table that the store can use, and what its column `name` takes. Without a strict `sql_mode`, longer names would be cut. */
export interface MysqlTable extends Room {
  /** Database and name, quoted. */
  readonly table: Sql;
  /** Whether `lock_until` and `locked_at` are TIMESTAMP, as in ShedLock's table, and not DATETIME, as in ours. */
  readonly zoned: boolean;
  /** Whether the server is a MariaDB. */
  readonly mariadb: boolean;
  /** Whether `name` takes every character. */
  readonly unicode: boolean;
}

/** The time of the database in the form of the columns, rounded down to whole milliseconds. */
export const nowOf = (table: MysqlTable): Sql => asStored(table, 'UTC_TIMESTAMP(3)');
/** The time of the database in the form of the columns, with microseconds. */
export const clockOf = (table: MysqlTable): Sql => asStored(table, 'UTC_TIMESTAMP(6)');

/** Microseconds since 1970. */
export const EPOCH_MICROSECONDS = raw("TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))");

/** `lock_until` this many microseconds from now. */
export const afterMicroseconds = (table: MysqlTable, microseconds: unknown): Sql =>
  sql`TIMESTAMPADD(MICROSECOND, ${microseconds}, ${nowOf(table)})`;

/** For how long the statement has waited, microseconds. Only SYSDATE goes on meanwhile, unless the server runs with sysdate-is-now. */
const WAITED = 'TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))';

/**
 * The end of a lease that goes on. A later statement may have prolonged it while this one waited: that end stays. One that lies further
 * ahead comes from no such statement, but from a longer ttl, or a clock that was set back since.
 */
export function laterEnd(table: MysqlTable, microseconds: unknown): Sql {
  const end = afterMicroseconds(table, microseconds);
  return sql`GREATEST(${end}, LEAST(lock_until, TIMESTAMPADD(MICROSECOND, ${raw(WAITED)}, ${end})))`;
}

/**
 * `lock_until` of a released lock: a day ago, so that the lock stays free even if the clock is set back. Not longer ago: people
 * delete rows whose locks have been free for long.
 */
export const freeOf = (table: MysqlTable): Sql => asStored(table, 'UTC_TIMESTAMP(3) - INTERVAL 1 DAY');

/** A ttl, rounded up for the end of a lease. */
export const microsecondsOf = (ttl: number): number => (ttl + 1) * 1_000;

/** A column of times as microseconds since 1970. A TIMESTAMP shows a time of the session's zone, so it is compared with the clock there. */
export function microsecondsAt(table: MysqlTable, column: 'lock_until' | 'locked_at'): Sql {
  if (!table.zoned) return raw(`TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', ${column})`);
  return sql`${EPOCH_MICROSECONDS} - TIMESTAMPDIFF(MICROSECOND, ${raw(column)}, ${clockOf(table)})`;
}

/** A text as bytes: collations take different texts for equal. */
export const bytesOf = (text: Sql): Sql => sql`CAST(CONVERT(${text} USING utf8mb4) AS BINARY)`;

/**
 * Converts a time for TIMESTAMP columns. ShedLock writes UTC_TIMESTAMP into these columns, which the server takes for a time of the
 * session's zone. ShedLock's sessions have the zone of the server; our sessions may have another one.
 */
function asStored({ zoned }: MysqlTable, time: string): Sql {
  return raw(zoned ? `CONVERT_TZ(${time}, @@global.time_zone, @@session.time_zone)` : time);
}
