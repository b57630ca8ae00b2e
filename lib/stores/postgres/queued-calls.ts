import type { QueuedCallsDialect } from '../sql/queued-calls-dialect.js';
import { COMMON } from './notifications.js';
import type { TableNames } from '../sql/table-name.js';
import type { Row } from '../sql/row.js';

type Rows = readonly Row[];

const EPOCH = 'extract(epoch FROM clock_timestamp())';

/** @param send runs a statement */
export function postgresQueuedCalls(
  names: TableNames,
  send: (statement: string, values: unknown[]) => Promise<Rows>,
): QueuedCallsDialect {
  const numbered = (text: string): string => {
    let number = 0;
    return text.replaceAll('?', () => `$${++number}`).replaceAll('{t}', () => queuedCalls.table);
  };
  const queuedCalls: QueuedCallsDialect = {
    // Not in advance: with the suffix, the name may be too long.
    get table() {
      return names.quoted('_queued');
    },
    get creation() {
      return queuedCallsDdl(names);
    },
    now: `(${EPOCH} * 1000)::bigint`,
    micros: `(${EPOCH} * 1000000)::bigint`,
    int: '?::text::bigint',
    read: (text, values) => send(numbered(text), [...values]),
    write: async (text, values) => (await send(`${numbered(text)} RETURNING id`, [...values])).length,
    stored: (name) => name,
    nameOf: (stored) => stored,
    announce: (text) => send('SELECT pg_notify($1::text, $2::text)', [COMMON, text]),
  };
  return queuedCalls;
}

/** The statements that create the table. PostgreSQL cuts a name of an index that is too long. */
export const queuedCallsDdl = (names: TableNames, schema?: string): string[] => [
  `CREATE TABLE IF NOT EXISTS ${names.quoted('_queued', schema)} (
  id VARCHAR(36) NOT NULL PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  job VARCHAR(255) NOT NULL,
  call_key VARCHAR(255),
  slot VARCHAR(64) UNIQUE,
  place BIGINT NOT NULL,
  args TEXT NOT NULL,
  queued_at BIGINT NOT NULL,
  merged INTEGER NOT NULL,
  redeliver INTEGER NOT NULL,
  delivery INTEGER NOT NULL,
  taken VARCHAR(36),
  dead VARCHAR(16),
  dead_at BIGINT
)`,
  `CREATE INDEX IF NOT EXISTS ${names.quotedName(`${names.table}_queued_place`)} ON ${names.quoted('_queued', schema)} (name, place) WHERE dead IS NULL`,
];
