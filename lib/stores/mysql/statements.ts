import type { AcquireRequest, LeaseRef, ReleaseOptions } from '../lock-store.js';
import { lockedBy } from '../sql/holding.js';
import {
  after,
  clockOf,
  EPOCH_MICROSECONDS,
  EPOCH_MS,
  endOf,
  isExactly,
  isNamed,
  type MysqlTable,
  nowOf,
  remainingOf,
  storedName,
} from './columns.js';
import { list, raw, type Sql, sql } from './sql-text.js';
import { endedState, fieldOf, type Start } from './starts.js';

/*
 * What the statements have in common
 *
 * One row per lock: ShedLock's name, lock_until, locked_at, locked_by, and two nullable columns of ours, which its
 * statements leave alone: fencing_token, of the newest lease of ours, and job_state, see starts.ts.
 *
 * They run on MySQL and on MariaDB, which have no RETURNING in common. What a write has found goes back in its answer, as the
 * argument of LAST_INSERT_ID(): the driver has it as `insertId`. So a grant, a renewal and a release are one statement. What
 * is refused has to be read by another one; the dialect begins with that where a refusal is likely, and then it is all.
 *
 * Aliases are quoted, as some are names of functions, which sql_mode=ANSI reserves.
 *
 * UPDATE evaluates from left to right, and a column has its new value for those behind it. UTC_TIMESTAMP is when the statement
 * began, also after it has waited for a row that another one had locked: then a lease that is just over counts as live, and
 * one that is granted lives from before it was. Both are on the safe side.
 */

/** Takes the lock if it is free, and the job may start: `insertId` is the fencing token. @param condition what may start */
export function takeStatement(
  table: MysqlTable,
  request: AcquireRequest,
  start: Start,
  { attempt, condition }: { attempt: number; condition: Sql },
): Sql {
  return sql`UPDATE ${table.table} SET
  job_state = ${start.state(attempt)},
  fencing_token = LAST_INSERT_ID(GREATEST(COALESCE(fencing_token, 0) + 1, ${EPOCH_MICROSECONDS})),
  lock_until = ${endOf(table, request.ttl)}, locked_at = ${nowOf(table)}, locked_by = ${lockedBy(request)}
WHERE ${isNamed(table, storedName(request.name))} AND lock_until <= ${clockOf(table)}
  AND COALESCE(fencing_token, 0) < ${raw(String(Number.MAX_SAFE_INTEGER))} AND ${condition}`;
}

/**
 * The first lease of a name. Fails with a duplicate key if somebody else was first. There is no state to go on from, in a type
 * that MySQL takes for JSON: a NULL without one is binary there.
 */
export function firstStatement(table: MysqlTable, request: AcquireRequest, start: Start): Sql {
  return sql`INSERT INTO ${table.table} (name, lock_until, locked_at, locked_by, fencing_token, job_state)
SELECT ${storedName(request.name)}, ${endOf(table, request.ttl)}, ${nowOf(table)}, ${lockedBy(request)},
  LAST_INSERT_ID(${EPOCH_MICROSECONDS}), ${start.state(1)} FROM (SELECT CAST(NULL AS CHAR) AS job_state) nothing`;
}

/** Why an attempt was refused: one row, as AttemptRow, also if there is none for the lock. */
export function refusalStatement(table: MysqlTable, request: AcquireRequest, start: Start): Sql {
  const { job = '', name } = request;
  return sql`SELECT locked_by AS \`by\`, ${remainingOf(table)} AS \`remaining\`, fencing_token AS \`recorded\`,
  ${isExactly(storedName(name))} AS \`same\`, ${start.startable} AS \`startable\`, ${start.ahead} AS \`ahead\`, ${start.wait} AS \`wait\`,
  ${EPOCH_MS} AS \`now\`, ${fieldOf(job, 'tick')} AS \`tick\`, ${fieldOf(job, 'outcome')} AS \`outcome\`,
  ${fieldOf(job, 'attempt')} AS \`attempts\`, ${fieldOf(job, 'schedule')} AS \`schedule\`
FROM (SELECT 1 AS one) one LEFT JOIN ${table.table} ON name = ${storedName(name)}`;
}

/** Renews leases that are live, all in one statement; how many they were is the number of rows. */
export function extendStatement(table: MysqlTable, leases: readonly LeaseRef[]): Sql {
  return sql`UPDATE ${table.table} SET lock_until = ${endOf(table, ttlOf(leases))}
WHERE name IN ${list(leases.map(({ name }) => storedName(name)))} AND locked_by IN ${list(leases.map(lockedBy))}
  AND lock_until > ${clockOf(table)}`;
}

/** What the rows of these locks say. */
export function seenStatement(table: MysqlTable, names: readonly string[]): Sql {
  return sql`SELECT name, locked_by AS \`by\`, ${remainingOf(table)} AS \`remaining\` FROM ${table.table}
WHERE name IN ${list(names.map(storedName))}`;
}

/**
 * Gives a lease back, and notes how its run ended: `insertId` is 2 if it was live, 1 if it had run out and nobody took it
 * over. Then its end is noted all the same: a run that ended is not repeated.
 */
export function releaseStatement(
  table: MysqlTable,
  lease: LeaseRef,
  { outcome, keepFor }: Required<ReleaseOptions>,
): Sql {
  return sql`UPDATE ${table.table} SET job_state = ${endedState(outcome)},
  lock_until = IF(LAST_INSERT_ID(IF(lock_until > ${nowOf(table)}, 2, 1)) = 2, ${after(table, keepFor)}, lock_until),
  locked_by = CONCAT(locked_by, ${`/${outcome}`})
WHERE ${isNamed(table, storedName(lease.name))} AND locked_by = ${lockedBy(lease)}`;
}

/** Every lock. */
export function inspectStatement(table: MysqlTable): Sql {
  return sql`SELECT name, locked_by AS \`by\`, ${remainingOf(table)} AS \`remaining\`, fencing_token AS \`fence\`, job_state AS \`state\`,
  (${EPOCH_MICROSECONDS} - TIMESTAMPDIFF(MICROSECOND, locked_at, ${clockOf(table)})) / 1000 AS \`since\`
FROM ${table.table} ORDER BY name`;
}

/** The ttl of each lease of a batch: mostly they are all the same. */
function ttlOf(leases: readonly LeaseRef[]): number | Sql {
  const byTtl = new Map<number, string[]>();
  for (const lease of leases) byTtl.set(lease.ttl, [...(byTtl.get(lease.ttl) ?? []), lockedBy(lease)]);
  const [[first = 0] = [], ...others] = [...byTtl];
  if (others.length === 0) return first;
  let cases: Sql = raw('CASE');
  for (const [ttl, holders] of others) cases = sql`${cases} WHEN locked_by IN ${list(holders)} THEN ${ttl}`;
  return sql`(${cases} ELSE ${first} END)`;
}
