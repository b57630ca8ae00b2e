import type { Change, Renewal, Seen } from '../../store/port.js';
import {
  after,
  bytesOf,
  clockOf,
  endOf,
  EPOCH_MICROSECONDS,
  EPOCH_MS,
  freeOf,
  isNamed,
  isText,
  type MysqlTable,
  nowOf,
  remainingOf,
  storedName,
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
 * Aliases are quoted: some are names of functions, which sql_mode=ANSI reserves.
 *
 * UTC_TIMESTAMP is the beginning of the statement, even after it has waited. Then a lock that is free by now counts as taken, and a
 * lease counts from before it was granted. Both are on the safe side.
 */

/**
 * Makes a write fail instead of waiting for a row that another transaction has locked. Only a comment for MySQL, which has no such
 * option.
 */
const AT_ONCE = raw('/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */ ');

const columnsOf = (table: MysqlTable): Sql =>
  sql`name, version, locked_by AS \`by\`, ${remainingOf(table)} AS \`remaining\`,
  (${EPOCH_MICROSECONDS} - TIMESTAMPDIFF(MICROSECOND, locked_at, ${clockOf(table)})) / 1000 AS \`since\`, state, ${EPOCH_MS} AS \`now\``;

/** Reads the row of a lock, or one without a name if there is none. */
export const readOne = (table: MysqlTable, name: string): Sql =>
  sql`SELECT ${columnsOf(table)} FROM (SELECT 1 AS one) one LEFT JOIN ${table.table} ON name = ${storedName(name)}`;

/**
 * Reads the rows of these locks. If different names may count as equal: with the number of the name that was asked for.
 */
export function readSome(table: MysqlTable, names: readonly string[]): Sql {
  const stored = names.map(storedName);
  const asked = table.exact ? raw('') : sql`, FIELD(name, ${joined(stored)}) AS \`asked\``;
  return sql`SELECT ${columnsOf(table)}${asked} FROM ${table.table} WHERE name IN ${list(stored)}`;
}

export const readAll = (table: MysqlTable): Sql =>
  sql`SELECT ${columnsOf(table)} FROM ${table.table} ORDER BY name`;

export const READ_TIME = sql`SELECT ${EPOCH_MS} AS \`now\``;

/** Reads the newest versions. */
export const readVersions = (table: MysqlTable, names: readonly string[]): Sql =>
  sql`SELECT name, version FROM ${table.table} WHERE name IN ${list(names.map(storedName))}`;

/** Makes rows. Fails with a duplicate key if there is one; of many, leaves that one out. */
export function makeStatement(table: MysqlTable, changes: readonly Change[]): Sql {
  const rows = changes.map(({ name, end, version, by, state }) => {
    const until = end === undefined ? freeOf(table) : untilOf(table, end);
    return sql`(${storedName(name)}, ${until}, ${nowOf(table)}, ${by}, ${version}, ${state})`;
  });
  return sql`${AT_ONCE}INSERT ${raw(rows.length > 1 ? 'IGNORE ' : '')}INTO ${table.table}
  (name, lock_until, locked_at, locked_by, version, state) VALUES ${joined(rows)}`;
}

/** Changes a row if it is as it was seen. */
export function changeStatement(table: MysqlTable, { name, seen, ...change }: Change & { seen: Seen }): Sql {
  const { end, begins, version, by, state } = change;
  const until = end === undefined ? raw('') : sql`, lock_until = ${untilOf(table, end)}`;
  const since = begins === true ? sql`, locked_at = ${nowOf(table)}` : raw('');
  return sql`${AT_ONCE}UPDATE ${table.table} SET version = ${version}, locked_by = ${by}, state = ${state}${until}${since}
WHERE ${isNamed(table, storedName(name))} AND ${isAsSeen(table, seen)}`;
}

/**
 * Changes many rows, each if it is as it was seen. Forces the index of the names: for a list of about half of all names, a server would
 * read every row, and wait for locked ones.
 */
export function changeManyStatement(table: MysqlTable, changes: readonly (Change & { seen: Seen })[]): Sql {
  const each = (value: (change: Change & { seen: Seen }) => unknown): Sql =>
    sql`CASE name ${pieces(changes.map((change) => sql`WHEN ${storedName(change.name)} THEN ${value(change)} `))}END`;
  const until = each(({ end }) => (end === undefined ? raw('lock_until') : untilOf(table, end)));
  const since = each(({ begins }) => (begins === true ? nowOf(table) : raw('locked_at')));
  return sql`${AT_ONCE}UPDATE ${table.table} FORCE INDEX (${table.index}) SET lock_until = ${until}, locked_at = ${since},
  locked_by = ${each(({ by }) => by)}, state = ${each(({ state }) => state)}, version = ${each(({ version }) => version)}
WHERE name IN ${list(changes.map(({ name }) => storedName(name)))} AND ${each(({ seen }) => isAsSeen(table, seen))}`;
}

/** Lets rows that are taken end later. Forces the index, as above. */
export function renewStatement(table: MysqlTable, renewals: readonly Renewal[]): Sql {
  const wanted = renewals.map(({ name, by }) => sql`(${storedName(name)}, ${bytesOf(sql`${by}`)})`);
  return sql`${AT_ONCE}UPDATE ${table.table} FORCE INDEX (${table.index}) SET lock_until = ${endOf(table, ttlOf(renewals))}
WHERE name IN ${list(renewals.map(({ name }) => storedName(name)))} AND (name, ${bytesOf(raw('locked_by'))}) IN (${joined(wanted)})
  AND lock_until > ${clockOf(table)}`;
}

/**
 * Fails at once if another transaction has locked one of these rows. For MySQL, which has no write that does not wait. Selects more
 * than the name, or the server would lock all names of the index instead.
 */
export function unlockedStatement(table: MysqlTable, names: readonly string[]): Sql {
  return sql`SELECT name, lock_until FROM ${table.table} FORCE INDEX (${table.index})
WHERE name IN ${list(names.map(storedName))} FOR UPDATE NOWAIT`;
}

const untilOf = (table: MysqlTable, end: number): Sql =>
  end > 0 ? endOf(table, Math.ceil(end)) : after(table, end);

function isAsSeen(table: MysqlTable, { version, by, taken }: Seen): Sql {
  const isVersion = version === '' ? sql`COALESCE(version, '') = ''` : sql`version = ${version}`;
  return sql`${isVersion} AND ${isText('locked_by', by)} AND lock_until ${raw(taken ? '>' : '<=')} ${clockOf(table)}`;
}

/** The ttl of each; mostly all are the same. */
function ttlOf(renewals: readonly Renewal[]): number | Sql {
  const [{ ttl: first } = { ttl: 0 }] = renewals;
  const others = renewals.filter(({ ttl }) => ttl !== first);
  if (others.length === 0) return first;
  return sql`(CASE locked_by ${pieces(others.map(({ by, ttl }) => sql`WHEN ${by} THEN ${ttl} `))}ELSE ${first} END)`;
}

const pieces = (all: readonly Sql[]): Sql => joined(all, '');
