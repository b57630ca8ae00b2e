import type { QueuedCallsDialect } from '../sql/queued-calls-dialect.js';
import type { TableNames } from '../sql/table-name.js';
import { type MysqlClient, read, write } from './client.js';
import { EPOCH_MICROSECONDS, nameOf, storedName } from './columns.js';

const MICROS = EPOCH_MICROSECONDS.text;

export function mysqlQueuedCalls(names: TableNames, client: MysqlClient): QueuedCallsDialect {
  const sent = (text: string, values: readonly unknown[]) => ({
    text: text.replaceAll('{t}', () => queuedCalls.table),
    values: [...values],
  });
  const queuedCalls: QueuedCallsDialect = {
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
