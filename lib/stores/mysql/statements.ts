import type { Change, Renewal, SeenDocument } from '../../contract/port.js';
import {
  afterMicroseconds,
  bytesOf,
  clockOf,
  EPOCH_MICROSECONDS,
  freeOf,
  laterEnd,
  microsecondsAt,
  microsecondsOf,
  type MysqlTable,
  nowOf,
} from './columns.js';
import { joined, list, raw, type Sql, sql } from './sql-text.js';

/*
 * What the statements have in common
 *
 * One row per lock: ShedLock's name, lock_until, locked_at, locked_by, and two nullable columns of ours, which its statements leave
 * alone: version, and state, a text. See LockDocuments.
 *
 * They run on MySQL and on MariaDB, which have no RETURNING in common: a write only answers how many rows it has found.
 *
 * Each write sets both times, to themselves if they stay: a TIMESTAMP column that ShedLock's documentation has one make gets ON UPDATE
 * current_timestamp on servers with explicit_defaults_for_timestamp=OFF, and would end another holder's lease.
 *
 * Aliases are quoted: some are names of functions, which sql_mode=ANSI reserves.
 *
 * UTC_TIMESTAMP is the beginning of the statement, even after it has waited. Then a lock that is free by now counts as taken, and a
 * lease counts from before it was granted. Both are on the safe side.
 */

/**
 * Makes a write fail instead of waiting for a row that another transaction has locked. Only a comment for MySQL, which has no such
 * option.
 */
const WITHOUT_WAITING = raw('/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */ ');

/**
 * The beginning of a write of these rows that fails instead of waiting for one. MySQL locks them first, in a table of its own that is made
 * before anything is written. Forces the index of the names: for a list of about half of all names, a server would read every row, and
 * wait for locked ones. So it does without a second column.
 */
function update(table: MysqlTable, names: readonly string[]): Sql {
  const target = sql`${table.table} FORCE INDEX (PRIMARY)`;
  if (table.mariadb) return sql`${WITHOUT_WAITING}UPDATE ${target}`;
  return sql`UPDATE (SELECT name AS \`locked\`, lock_until AS \`ends\` FROM ${target} WHERE name IN ${list(names)}
  LIMIT ${raw(String(names.length))} FOR UPDATE NOWAIT) \`rows\` STRAIGHT_JOIN ${target} ON name = \`locked\``;
}

const columnsOf = (table: MysqlTable): Sql =>
  sql`name, version, locked_by AS \`by\`, (${microsecondsAt(table, 'lock_until')}) / 1000 AS \`until\`,
  (${microsecondsAt(table, 'locked_at')}) / 1000 AS \`since\`, state, ${EPOCH_MICROSECONDS} / 1000 AS \`now\``;

/** Reads the rows of these locks, or of all. */
export function readRows(table: MysqlTable, names: readonly string[] | 'all'): Sql {
  const which = names === 'all' ? raw('') : sql`WHERE name IN ${list(names)}`;
  return sql`SELECT ${columnsOf(table)} FROM ${table.table} ${which} ORDER BY name`;
}

export const READ_TIME = sql`SELECT ${EPOCH_MICROSECONDS} / 1000 AS \`now\``;

/** Makes rows. Fails with a duplicate key if there is one; of many, leaves that one out. */
export function makeStatement(table: MysqlTable, changes: readonly Change[]): Sql {
  const rows = changes.map(({ name, end, version, by, state }) => {
    const until = end === undefined ? freeOf(table) : afterMicroseconds(table, untilMicroseconds(end));
    return sql`(${name}, ${until}, ${nowOf(table)}, ${by}, ${version}, ${state})`;
  });
  return sql`${WITHOUT_WAITING}INSERT ${raw(rows.length > 1 ? 'IGNORE ' : '')}INTO ${table.table}
  (name, lock_until, locked_at, locked_by, version, state) VALUES ${joined(rows)}`;
}

export type SeenChange = Change & { readonly seen: SeenDocument };

/** Changes rows, each if it is as it was seen. */
export function changeStatement(table: MysqlTable, changes: readonly SeenChange[]): Sql {
  const names = changes.map(({ name }) => name);
  return sql`${update(table, names)} SET
  lock_until = ${each(changes, (change) => untilAfter(table, change))}, locked_at = ${each(changes, (change) => sinceAfter(table, change))},
  locked_by = ${each(changes, ({ by }) => by)}, state = ${each(changes, ({ state }) => state)}, version = ${each(changes, ({ version }) => version)}
WHERE name IN ${list(names)} AND ${each(changes, ({ seen }) => isAsSeen(table, seen))}`;
}

/** Lets rows that are taken end later. */
export function renewStatement(table: MysqlTable, renewals: readonly Renewal[]): Sql {
  const names = renewals.map(({ name }) => name);
  const wanted = renewals.map(({ name, by }) => sql`(${name}, ${bytesOf(sql`${by}`)})`);
  return sql`${update(table, names)} SET lock_until = ${laterEnd(
    table,
    each(renewals, ({ ttl }) => microsecondsOf(ttl)),
  )}, locked_at = locked_at
WHERE name IN ${list(names)} AND (name, ${bytesOf(raw('locked_by'))}) IN (${joined(wanted)})
  AND lock_until > ${clockOf(table)}`;
}

/** Fails at once if one of these rows, which are to be made, is there and locked: an INSERT would wait for it. For MySQL alone. */
export function unlockedStatement(table: MysqlTable, names: readonly string[]): Sql {
  return sql`SELECT name, lock_until FROM ${table.table} FORCE INDEX (PRIMARY)
WHERE name IN ${list(names)} FOR UPDATE NOWAIT`;
}

const untilMicroseconds = (end: number): number => (end > 0 ? microsecondsOf(Math.ceil(end)) : end * 1_000);

/** What becomes of `lock_until`. */
function untilAfter(table: MysqlTable, { seen, by, end }: SeenChange): Sql {
  if (end === undefined) return raw('lock_until');
  return (seen.by === by ? laterEnd : afterMicroseconds)(table, untilMicroseconds(end));
}

/** What becomes of `locked_at`. */
const sinceAfter = (table: MysqlTable, { begins }: SeenChange): Sql =>
  begins === true ? nowOf(table) : raw('locked_at');

function isAsSeen(table: MysqlTable, { version, by, taken }: SeenDocument): Sql {
  const isVersion = version === '' ? sql`COALESCE(version, '') = ''` : sql`version = ${version}`;
  const isBy = sql`${bytesOf(raw("COALESCE(locked_by, '')"))} = ${bytesOf(sql`${by}`)}`;
  return sql`${isVersion} AND ${isBy} AND lock_until ${raw(taken ? '>' : '<=')} ${clockOf(table)}`;
}

/** A value for each of these rows; mostly all are the same. */
function each<T extends { readonly name: string }>(
  rows: readonly T[],
  valueOf: (row: T) => unknown,
): unknown {
  const values = rows.map(valueOf);
  if (values.every((value) => value === values[0])) return values[0];
  const cases = rows.map(({ name }, i) => sql`WHEN ${name} THEN ${values[i]} `);
  return sql`CASE name ${joined(cases, '')}END`;
}
