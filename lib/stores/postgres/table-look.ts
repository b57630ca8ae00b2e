import type { TableLook } from '../sql/dialect.js';
import { judgeTable, type NameColumn } from '../sql/table-judgement.js';
import { postgresDdl } from './schema.js';
import { postgresStatements } from './statements.js';
import type { Row } from '../sql/strange-rows.js';

/** Drivers turn booleans into numbers or texts, and numbers into booleans. */
export const isTrue = (value: unknown): boolean => ['true', 't', '1'].includes(String(value));

/**
 * Looks at a table. $1 its name, quoted
 *
 * Answers a row for each column, and none if there is no table: name, type; and, the same in each row, whether `name` is unique by
 * itself, whether this user may read the table, whether the user may write it, and the encoding of the database.
 */
export const LOOK_AT_TABLE = `
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
  current_setting('server_encoding') AS encoding, has_table_privilege(a.attrelid, 'SELECT') AS readable,
  has_table_privilege(a.attrelid, 'INSERT') AND has_table_privilege(a.attrelid, 'UPDATE') AS writable,
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid AND i.indimmediate
    AND i.indpred IS NULL AND i.indnatts = 1 AND i.indkey[0] = a.attnum) AS "unique"
FROM pg_attribute a WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped`;

/** A table that the store can use: its statements, and the column of its names. */
export interface PostgresTableInfo extends ReturnType<typeof postgresStatements> {
  readonly names: NameColumn;
  /** Of the database. */
  readonly encoding: string;
}

/** The digits of a type that holds times, and its zone. */
const TIME = /^timestamp(?:\((\d)\))? (with|without) time zone$/;

/** Reads the answer to {@link LOOK_AT_TABLE}. */
export function readLook(table: string, rows: readonly Row[]): TableLook<PostgresTableInfo> {
  const types = new Map(rows.map(({ name, type }) => [String(name), String(type)]));
  const columns = new Map(
    [...types].map(([name, type]) => [name, { type, ...digitsOf(type), ...lengthOf(type) }]),
  );
  const { unique, readable, encoding } = rows.find(({ name }) => name === 'name') ?? {};
  const problem = isTrue(readable) ? undefined : notAllowed(table);
  const ddl = postgresDdl(table);
  const fault = judgeTable({ table, columns, unique: isTrue(unique), problem, setsUp: true }, ddl);
  if (fault !== undefined) return fault;
  const [, digits = '6', zone] = TIME.exec(types.get('lock_until') ?? '') ?? [];
  const statements = postgresStatements({ sql: table, zoned: zone === 'with', exact: digits === '6' });
  const [, room = Infinity] = /^character(?: varying)?\((\d+)\)$/.exec(types.get('name') ?? '') ?? [];
  // A text in SQL_ASCII is as long as its bytes.
  const unit = encoding === 'SQL_ASCII' ? 'bytes' : 'characters';
  const names = { length: Number(room), unit, unicode: true, widening: ddl.widening } as const;
  return { table: { ...statements, names, encoding: String(encoding) } };
}

/** Why the database cannot keep a name. Of other encodings than these, it is not known here which characters they have. */
export function encodingProblem({ encoding }: PostgresTableInfo, name: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- what is not in LATIN1 is looked for
  if (encoding !== 'LATIN1' || !/[^\u0000-\u00ff]/.test(name)) return undefined;
  return 'the database has the encoding LATIN1, which lacks a character of it. Give it another name, or use a database with the encoding UTF8.';
}

/** Whether this user may only read the table, by the answer to {@link LOOK_AT_TABLE}. */
export const isReadOnly = (rows: readonly Row[]): boolean => rows.some(({ writable }) => !isTrue(writable));

export const notAllowed = (table: string): string =>
  `The user may not read and write the table ${table}. Run this as a user who may:`;

function digitsOf(type: string): { digits?: number } {
  const [isTime, digits = 6] = TIME.exec(type) ?? [];
  return isTime === undefined ? {} : { digits: Number(digits) };
}

function lengthOf(type: string): { length?: number } {
  const [isText, length = Infinity] = /^(?:text|character varying)(?:\((\d+)\))?$/.exec(type) ?? [];
  return isText === undefined ? {} : { length: Number(length) };
}
