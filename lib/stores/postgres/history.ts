import type { HistoryDialect } from '../sql/history-dialect.js';
import { historyProblem } from '../sql/history-names.js';
import type { TableNames } from '../sql/table-name.js';
import { postgresNames } from './schema.js';
import type { Row } from '../sql/row.js';

type Rows = readonly Row[];

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** The end of an INSERT of an ended run: the end of a run replaces the interruption of the run, but no earlier end. */
const OVER_INTERRUPTION = `ON CONFLICT (name, entry) DO UPDATE SET kind = excluded.kind, noted_at = excluded.noted_at,
  expires_at = excluded.expires_at, data = excluded.data WHERE r.kind = 'interrupted'`;

/**
 * Writes the row of an instance. $1 id  $2 id of its list of jobs  $3 data, JSON
 *
 * Answers the time, and whether the list is known.
 */
const beat = (instances: string): string => `
WITH told AS (INSERT INTO ${instances} (id, catalogue, seen_at, data) VALUES ($1, $2, ${NOW}, $3)
  ON CONFLICT (id) DO UPDATE SET catalogue = excluded.catalogue, seen_at = excluded.seen_at, data = excluded.data)
SELECT ${NOW} AS time, EXISTS (SELECT FROM ${instances} WHERE id = $2) AS known`;

/** @param send runs a statement */
export function postgresHistory(
  names: TableNames,
  send: (statement: string, values: unknown[]) => Promise<Rows>,
): HistoryDialect {
  const numbered = (text: string): string => {
    let number = 0;
    return text
      .replaceAll('?', () => `$${++number}`)
      .replaceAll('{runs}', () => history.runs)
      .replaceAll('{instances}', () => history.instances);
  };
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
    int: '?::text::bigint',
    unlessKnown: ['INSERT INTO', 'ON CONFLICT DO NOTHING'],
    overInterruption: OVER_INTERRUPTION.replace('r.kind', '{runs}.kind'),
    overList: 'ON CONFLICT (id) DO UPDATE SET data = excluded.data WHERE {instances}.data <> excluded.data',
    read: (text, values) => send(numbered(text), [...values]),
    write: async (text, values) => (await send(`${numbered(text)} RETURNING 1 AS one`, [...values])).length,
    beat: async ({ id, catalogue, data }) => (await send(beat(history.instances), [id, catalogue, data]))[0],
    stored: (name) => name,
  };
  return history;
}

/** The statements that create the tables. */
export function historyDdl(names: TableNames, schema?: string): string[] {
  const [runs, instances] = [names.quoted('_runs', schema), names.quoted('_instances', schema)];
  // PostgreSQL cuts names of indexes that are too long.
  const index = (what: string): string => names.quotedName(`${names.table}_runs_${what}`);
  return [
    `CREATE TABLE IF NOT EXISTS ${runs} (
  name VARCHAR(255) NOT NULL,
  entry VARCHAR(64) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  noted_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (name, entry)
)`,
    `CREATE INDEX IF NOT EXISTS ${index('of')} ON ${runs} (name, kind, noted_at)`,
    `CREATE INDEX IF NOT EXISTS ${index('old')} ON ${runs} (expires_at)`,
    `CREATE TABLE IF NOT EXISTS ${instances} (
  id VARCHAR(64) NOT NULL PRIMARY KEY,
  catalogue VARCHAR(64),
  seen_at BIGINT NOT NULL,
  data TEXT NOT NULL
)`,
  ];
}

/**
 * The SQL that creates the tables of histories, `shedlock_runs` and `shedlock_instances`, for teams with their own migrations
 * (`migrate: false`). It can be repeated.
 */
export const HISTORY_SCHEMA: string = historyDdl(postgresNames({}))
  .map((statement) => `${statement};\n`)
  .join('');
