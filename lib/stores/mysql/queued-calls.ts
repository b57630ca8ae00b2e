import type { QueuedCallsDialect } from '../sql/queued-calls-dialect.js';
import { lockedBy } from '../sql/locked-by.js';
import type { TableNames } from '../sql/table-name.js';
import { type MysqlClient, read, write } from './client.js';
import { clockOf, endOf, EPOCH_MICROSECONDS, isNamed, nameOf, storedName } from './columns.js';
import { raw, sql } from './sql-text.js';
import type { MysqlTableInfo } from './table-look.js';

const MICROS = EPOCH_MICROSECONDS.text;

export function mysqlQueuedCalls(names: TableNames, client: MysqlClient): QueuedCallsDialect<MysqlTableInfo> {
  const sent = (text: string, values: readonly unknown[]) => ({
    text: text.replaceAll('{t}', () => queuedCalls.table),
    values: [...values],
  });
  const queuedCalls: QueuedCallsDialect<MysqlTableInfo> = {
    // Not in advance: with the suffix, the name may be too long.
    get table() {
      return names.quoted('_queued');
    },
    get creation() {
      return queuedCallsDdl(names);
    },
    now: `(${MICROS} DIV 1000)`,
    micros: MICROS,
    int: 'CAST(? AS SIGNED)',
    read: (text, values) => read(client, sent(text, values)),
    write: async (text, values) => Number((await write(client, sent(text, values))).affectedRows),
    stored: storedName,
    nameOf,
    async advance(locks, lease, ttl) {
      const { affectedRows, insertId } = await write(
        client,
        sql`UPDATE ${locks.table} SET lock_until = ${endOf(locks, ttl)},
  fencing_token = LAST_INSERT_ID(GREATEST(COALESCE(fencing_token, 0) + 1, ${EPOCH_MICROSECONDS}))
WHERE ${isNamed(locks, storedName(lease.name))} AND locked_by = ${lockedBy(lease)} AND lock_until > ${clockOf(locks)}
  AND fencing_token = ${lease.fencingToken} AND fencing_token < ${raw(String(Number.MAX_SAFE_INTEGER))}`,
      );
      return Number(affectedRows) > 0 ? Number(insertId) : undefined;
    },
  };
  return queuedCalls;
}

/** The statements that create the table. */
export const queuedCallsDdl = (names: TableNames, schema?: string): string[] => [
  `CREATE TABLE IF NOT EXISTS ${names.quoted('_queued', schema)} (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  job VARCHAR(255) NOT NULL,
  call_key VARCHAR(255) NULL,
  slot VARCHAR(64) NULL UNIQUE,
  place BIGINT NOT NULL,
  args TEXT NOT NULL,
  queued_at BIGINT NOT NULL,
  merged INT NOT NULL,
  redeliver INT NOT NULL,
  delivery INT NOT NULL,
  taken VARCHAR(36) NULL,
  dead VARCHAR(16) NULL,
  dead_at BIGINT NULL,
  INDEX by_place (name, dead, place)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
];
