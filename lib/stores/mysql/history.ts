import { isTrue } from '../sql/is-true.js';
import type { HistoryDialect } from '../sql/history-dialect.js';
import { historyProblem } from '../sql/history-names.js';
import type { TableNames } from '../sql/table-name.js';
import { type MysqlClient, read, write } from './client.js';
import { EPOCH_MICROSECONDS, storedName } from './columns.js';
import { mysqlNames } from './schema.js';

const NOW = `(${EPOCH_MICROSECONDS.text} DIV 1000)`;

/** The columns of an ended run replace those of its interruption: `kind` is the last, because the others depend on its old value. */
const OVER_INTERRUPTION = ['noted_at', 'expires_at', 'data', 'kind']
  .map((column) => `${column} = IF(kind = 'interrupted', VALUES(${column}), ${column})`)
  .join(', ');

export function mysqlHistory(names: TableNames, client: MysqlClient): HistoryDialect {
  const sent = (text: string, values: readonly unknown[]) => ({
    text: text.replaceAll('{runs}', () => history.runs).replaceAll('{instances}', () => history.instances),
    values: [...values],
  });
  const history: HistoryDialect = {
    unusable: historyProblem(names),
    get runs() {
      return names.quoted('_runs');
    },
    get instances() {
      return names.quoted('_instances');
    },
    get creation() {
      return historyDdl(names);
    },
    now: NOW,
    int: 'CAST(? AS SIGNED)',
    // Without IGNORE, a client may count a row that existed.
    unlessKnown: ['INSERT IGNORE INTO', ''],
    overInterruption: `ON DUPLICATE KEY UPDATE ${OVER_INTERRUPTION}`,
    overList: 'ON DUPLICATE KEY UPDATE data = VALUES(data)',
    read: (text, values) => read(client, sent(text, values)),
    write: async (text, values) => Number((await write(client, sent(text, values))).affectedRows),
    async beat({ id, catalogue, data }) {
      await history.write(
        `INSERT INTO {instances} (id, catalogue, seen_at, data) VALUES (?, ?, ${NOW}, ?)
ON DUPLICATE KEY UPDATE catalogue = VALUES(catalogue), seen_at = VALUES(seen_at), data = VALUES(data)`,
        [id, catalogue, data],
      );
      const [row] = await history.read(
        `SELECT ${NOW} AS time, EXISTS (SELECT 1 FROM {instances} WHERE id = ?) AS known`,
        [catalogue],
      );
      return row && { ...row, known: isTrue(row['known']) };
    },
    stored: storedName,
  };
  return history;
}

/** The statements that create the tables. */
export const historyDdl = (names: TableNames, schema?: string): string[] => [
  `CREATE TABLE IF NOT EXISTS ${names.quoted('_runs', schema)} (
  name VARCHAR(255) NOT NULL,
  entry VARCHAR(64) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  noted_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (name, entry),
  INDEX of_lock (name, kind, noted_at),
  INDEX old (expires_at)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  `CREATE TABLE IF NOT EXISTS ${names.quoted('_instances', schema)} (
  id VARCHAR(64) NOT NULL PRIMARY KEY,
  catalogue VARCHAR(64) NULL,
  seen_at BIGINT NOT NULL,
  data MEDIUMTEXT NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
];

/**
 * The SQL that creates the tables of histories, `shedlock_runs` and `shedlock_instances`, for teams with their own migrations
 * (`migrate: false`). It can be repeated.
 */
export const HISTORY_SCHEMA: string = historyDdl(mysqlNames({}))
  .map((statement) => `${statement};\n`)
  .join('');
