import { isTrue } from '../sql/answers.js';
import type { HistoryDialect } from '../sql/history-dialect.js';
import { historyTables } from '../sql/history-names.js';
import type { SqlStoreOptions } from '../sql/table-name.js';
import { type MysqlClient, read, write } from './client.js';
import { EPOCH_MICROSECONDS, storedName } from './columns.js';
import { mysqlTable } from './schema.js';

const NOW = `(${EPOCH_MICROSECONDS.text} DIV 1000)`;

/** The columns of a run that has ended take the place of those of its interruption: `kind` as the last, as the others look at it. */
const OVER_INTERRUPTION = ['noted_at', 'expires_at', 'data', 'kind']
  .map((column) => `${column} = IF(kind = 'interrupted', VALUES(${column}), ${column})`)
  .join(', ');

export function mysqlHistory(options: SqlStoreOptions, client: MysqlClient): HistoryDialect {
  const tables = historyTables(options, mysqlTable);
  const sent = (text: string, values: readonly unknown[]) => ({
    text: text.replaceAll('{runs}', () => tables.runs).replaceAll('{instances}', () => tables.instances),
    values: [...values],
  });
  const history: HistoryDialect = {
    ...tables,
    creation: creationOf(tables),
    inRelease: false,
    now: NOW,
    int: 'CAST(? AS SIGNED)',
    // Without IGNORE a client may count a row that was there.
    unlessKnown: ['INSERT IGNORE INTO', ''],
    overInterruption: `ON DUPLICATE KEY UPDATE ${OVER_INTERRUPTION}`,
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

const creationOf = ({ runs, instances }: Pick<HistoryDialect, 'runs' | 'instances'>): string[] => [
  `CREATE TABLE IF NOT EXISTS ${runs} (
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
  `CREATE TABLE IF NOT EXISTS ${instances} (
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
export const HISTORY_SCHEMA: string = creationOf(historyTables({}, mysqlTable))
  .map((statement) => `${statement};\n`)
  .join('');
