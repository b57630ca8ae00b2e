import { LOCKED_BY_LENGTH } from '../../contract/holder-text.js';
import type { Row, TableLook } from '../sql/dialect.js';
import { judge } from '../sql/sql-table.js';
import { postgresDdl } from './schema.js';
import { postgresStatements } from './statements.js';

/** Looks at a table: a row for each column, and none if there is no table. $1 its name, quoted */
export const LOOK_AT_TABLE = `
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull::int AS filled
FROM pg_attribute a WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped`;

/** A table that the store can use: its statements, and what its column `name` takes. */
export interface PostgresTableInfo extends ReturnType<typeof postgresStatements> {
  /** Characters. */
  readonly room: number;
  readonly widening: string;
}

/** Reads the answer to {@link LOOK_AT_TABLE}. */
export function readLook(table: string, rows: readonly Row[]): TableLook<PostgresTableInfo> {
  const columns = new Map(rows.map((row) => [String(row['name']), row]));
  const typeOf = (name: string): string => String(columns.get(name)?.['type']);
  const ddl = postgresDdl(table);
  const fault = judge(table, new Set(columns.keys()), ddl, () => {
    for (const name of ['lock_until', 'locked_at'])
      if (!/^timestamp(\(6\))? without time zone$/.test(typeOf(name)))
        return `its column ${name} is a ${typeOf(name)}, and has to be a TIMESTAMP`;
    if (lengthOf(typeOf('locked_by')) < LOCKED_BY_LENGTH)
      return `its column locked_by has to take ${LOCKED_BY_LENGTH} characters`;
    return ['1', 'true'].includes(String(columns.get('lock_until')?.['filled']))
      ? undefined
      : 'its column lock_until has to be NOT NULL';
  });
  if (fault !== undefined) return fault;
  const names = { room: lengthOf(typeOf('name')), widening: ddl.widening };
  return { table: { ...postgresStatements(table), ...names } };
}

function lengthOf(type: string): number {
  const [isText, length = Infinity] = /^(?:text|character varying)(?:\((\d+)\))?$/.exec(type) ?? [];
  return isText === undefined ? 0 : Number(length);
}
