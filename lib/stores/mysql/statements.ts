import type { AcquireRequest, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { NOTHING_RAN } from '../rules.js';
import type { LineChange } from '../sql/dialect.js';
import { endedBy, type Ending, lockedBy, OUTCOMES } from '../sql/locked-by.js';
import {
  after,
  afterMicroseconds,
  clockOf,
  EPOCH_MICROSECONDS,
  EPOCH_MS,
  endOf,
  freeOf,
  isExactly,
  isNamed,
  microsecondsOf,
  type MysqlTable,
  nowOf,
  ranOutOf,
  remainingOf,
  storedName,
} from './columns.js';
import { isSeen, NOBODY_IN_LINE, withLine } from './lines.js';
import { list, raw, type Sql, sql } from './sql-text.js';
import { endedState, fieldOf, isOwnStart, restoredState, type StartSql } from './starts.js';

/*
 * What the statements have in common
 *
 * One row per lock: ShedLock's name, lock_until, locked_at, locked_by, and two nullable columns of ours. ShedLock's statements
 * leave these alone: fencing_token, of the newest lease of ours, and job_state, see starts.ts.
 *
 * 1. They run on MySQL and on MariaDB, which have no RETURNING in common. So a write returns its result as the argument of
 *    LAST_INSERT_ID(), which the driver answers as `insertId`.
 * 2. A grant, a renewal and a release are one statement each. To explain a refusal takes another statement, a read. If a refusal is
 *    likely, the dialect begins with the read, and often needs no other statement.
 *
 * Aliases are quoted: some are names of functions, which sql_mode=ANSI reserves.
 *
 * 1. UPDATE evaluates from left to right, and later columns see the new values of earlier ones.
 * 2. UTC_TIMESTAMP is the beginning of the statement, even after the statement has waited for a locked row. Then a lease that is just over
 *    counts as live, and a granted lease counts from before the grant. Both are on the safe side.
 */

/**
 * Takes the lock if it is free and the job may start: `insertId` is the fencing token.
 *
 * @param condition whether the job may start
 * @param change of the line, by its first call; without a change, nobody may stand in line
 */
export function takeStatement(
  table: MysqlTable,
  request: AcquireRequest,
  start: StartSql,
  { attempt, condition, change }: { attempt: number; condition: Sql; change?: LineChange | undefined },
): Sql {
  const state = start.state(attempt);
  return sql`UPDATE ${table.table} SET
  job_state = ${change === undefined ? state : withLine(state, change.line)},
  fencing_token = LAST_INSERT_ID(GREATEST(COALESCE(fencing_token, 0) + 1, ${EPOCH_MICROSECONDS})),
  lock_until = ${endOf(table, request.ttl)}, locked_at = ${nowOf(table)}, locked_by = ${lockedBy(request)}
WHERE ${isNamed(table, storedName(request.name))} AND lock_until <= ${clockOf(table)}
  AND COALESCE(fencing_token, 0) < ${raw(String(Number.MAX_SAFE_INTEGER))} AND ${condition}
  AND ${change === undefined ? NOBODY_IN_LINE : isSeen(change)}`;
}

/**
 * The first lease of a name. Fails with a duplicate key if another instance was first. The old state is a NULL with a character
 * type, which MySQL takes for JSON: an untyped NULL would be binary.
 */
export function firstStatement(table: MysqlTable, request: AcquireRequest, start: StartSql): Sql {
  return sql`INSERT INTO ${table.table} (name, lock_until, locked_at, locked_by, fencing_token, job_state)
SELECT ${storedName(request.name)}, ${endOf(table, request.ttl)}, ${nowOf(table)}, ${lockedBy(request)},
  LAST_INSERT_ID(${EPOCH_MICROSECONDS}), ${start.state(1)} FROM (SELECT CAST(NULL AS CHAR) AS job_state) nothing`;
}

/** Whether the last lease of a row was released. */
export const WAS_RELEASED = sql`SUBSTRING_INDEX(locked_by, '/', -1) IN ${list(OUTCOMES)}`;
/** One more column: job_state if the last lease was not released. */
const UNENDED = sql`, IF(${WAS_RELEASED}, NULL, COALESCE(job_state, '{}')) AS \`unended\``;

/** Explains the refusal of an attempt: one row, as AttemptAnswer, even if the lock has no row. */
export function refusalStatement(table: MysqlTable, request: AcquireRequest, start: StartSql): Sql {
  const { job = '', name } = request;
  return sql`SELECT locked_by AS \`by\`, ${remainingOf(table)} AS \`remaining\`, fencing_token AS \`recorded\`,
  ${isExactly(storedName(name))} AS \`same\`, ${start.startable} AS \`startable\`, ${start.ahead} AS \`ahead\`, ${start.wait} AS \`wait\`,
  ${EPOCH_MS} AS \`now\`, ${fieldOf(job, 'tick')} AS \`tick\`, ${fieldOf(job, 'outcome')} AS \`outcome\`,
  ${fieldOf(job, 'attempt')} AS \`attempts\`, ${fieldOf(job, 'schedule')} AS \`schedule\`,
  JSON_EXTRACT(job_state, '$.line') AS \`line\`${request.history === true ? UNENDED : raw('')}
FROM (SELECT 1 AS one) one LEFT JOIN ${table.table} ON name = ${storedName(name)}`;
}

/**
 * Makes a write fail instead of waiting for a row that another transaction has locked. For MySQL, which has no such option, this is a
 * comment.
 */
const AT_ONCE = raw('/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */');

/**
 * Renews live leases in one statement; the number of affected rows says how many.
 *
 * 1. On MariaDB the statement fails at once if another transaction has locked one of the rows: waiting would cost the others their leases.
 * 2. It forces the index of the names: for a list of about half of all names, a server would read every row, and wait for locked ones.
 */
export function extendStatement(table: MysqlTable, leases: readonly LeaseRef[], fenced: boolean): Sql {
  return sql`${AT_ONCE} UPDATE ${table.table} FORCE INDEX (${table.index}) SET lock_until = ${endOf(table, ttlOf(leases, fenced))}
WHERE name IN ${list(leases.map(({ name }) => storedName(name)))} AND ${isOneOf(leases, fenced)}
  AND lock_until > ${clockOf(table)}`;
}

/*
 * A lease is its locked_by and its fencing token: the queued calls of one lock have leases with one locked_by. Only the locked_by counts
 * if a migration has dropped the column of the fencing tokens (`fenced` is false), or if the column is NULL.
 */

function isOneOf(leases: readonly LeaseRef[], fenced: boolean): Sql {
  if (!fenced) return sql`locked_by IN ${list(leases.map(lockedBy))}`;
  const [first, ...others] = leases.map(
    (lease) => sql`(${lockedBy(lease)}, ${lease.fencingToken === 0 ? null : lease.fencingToken})`,
  );
  const all = others.reduce((some, one) => sql`${some}, ${one}`, first ?? raw('(NULL, NULL)'));
  return sql`COALESCE((locked_by, fencing_token) IN (${all}), TRUE)`;
}

/** Whether a row is of this lease. The fencing token 0, of a grant that was never answered, stands for every lease with the token. */
function isOf(lease: LeaseRef, fenced: boolean): Sql {
  const isBy = sql`locked_by = ${lockedBy(lease)}`;
  if (!fenced || lease.fencingToken === 0) return isBy;
  return sql`(${isBy} AND COALESCE(fencing_token = ${lease.fencingToken}, TRUE))`;
}

/**
 * Fails at once if another transaction has locked one of these rows. For MySQL, whose writes always wait. Selects more than the name:
 * otherwise the server would lock all names of the index instead.
 */
export function unlockedStatement(table: MysqlTable, names: readonly string[]): Sql {
  return sql`SELECT name, lock_until FROM ${table.table} FORCE INDEX (${table.index})
WHERE name IN ${list(names.map(storedName))} FOR UPDATE NOWAIT`;
}

/** Reads the rows of these locks. */
export function seenStatement(table: MysqlTable, names: readonly string[]): Sql {
  return sql`SELECT name, locked_by AS \`by\`, ${remainingOf(table)} AS \`remaining\`, fencing_token AS \`recorded\`
FROM ${table.table} WHERE name IN ${list(names.map(storedName))}`;
}

/**
 * Releases a lease, and records how its run ended. `insertId` says what happened:
 *
 * - 2: the lease was live.
 * - 1: the lease had run out, and no other holder took the lock over. Its end is recorded nevertheless: an ended run is not repeated.
 * - 0: another holder has or had the lock since. The start of an abandoned lease is taken back nevertheless.
 */
export function releaseStatement(
  table: MysqlTable,
  lease: LeaseRef,
  { outcome, keepFor, fenced }: Ending & { readonly fenced: boolean },
): Sql {
  const [by, isIts] = [lockedBy(lease), isOf(lease, fenced)];
  const ended = sql`UPDATE ${table.table} SET job_state = ${endedState(lease, outcome)},
  lock_until = CASE LAST_INSERT_ID(IF(${isIts}, IF(lock_until > ${nowOf(table)}, 2, 1), 0))
    WHEN 2 THEN ${keepFor > 0 ? after(table, keepFor) : freeOf(table)} WHEN 1 THEN ${ranOutOf(table)} ELSE lock_until END,
  locked_by = IF(${isIts}, ${endedBy(by, outcome)}, locked_by)
WHERE ${isNamed(table, storedName(lease.name))}`;
  if (outcome !== NOTHING_RAN) return sql`${ended} AND ${isIts}`;
  return sql`${ended} AND (${isIts} OR ${isOwnStart(lease)})`;
}

/** The facts about a lost lease. */
interface Lost {
  /** locked_by in the row. */
  readonly seen: string;
  /** How the lease ended, if it has ended: then only the end is recorded. */
  readonly outcome: ReleaseOutcome | undefined;
}

/**
 * Writes a lost lease back, over its own remains or over an older lease: the database went back to a snapshot, or to a replica that
 * lacks the last writes.
 *
 * 1. `seen` is never the locked_by of a ShedLock.
 * 2. An older lease, with a smaller fencing token, loses the lock: it was over when this lease was granted.
 * 3. On MariaDB the statement does not wait for locked rows: other leases wait for the answer.
 */
export function writeBackStatement(table: MysqlTable, lease: LeaseRef, { seen, outcome }: Lost): Sql {
  const { by, until, state } = lostLease(table, lease, outcome);
  return sql`${AT_ONCE} UPDATE ${table.table} SET
  job_state = IF(locked_by = ${by}, job_state, ${state}), locked_at = IF(locked_by = ${by}, locked_at, ${nowOf(table)}),
  fencing_token = GREATEST(COALESCE(fencing_token, 0), ${lease.fencingToken}), lock_until = ${until}, locked_by = ${by}
WHERE ${isNamed(table, storedName(lease.name))} AND locked_by = ${seen} AND (fencing_token < ${lease.fencingToken}
  OR lock_until <= ${clockOf(table)} AND (${isOf(lease, true)} OR fencing_token IS NULL))`;
}

/** The same if there is no row. Fails with a duplicate key if another client has made the row meanwhile. */
export function writeBackFirstStatement(
  table: MysqlTable,
  lease: LeaseRef,
  outcome: ReleaseOutcome | undefined,
): Sql {
  const { by, until, state } = lostLease(table, lease, outcome);
  return sql`${AT_ONCE} INSERT INTO ${table.table} (name, lock_until, locked_at, locked_by, fencing_token, job_state)
SELECT ${storedName(lease.name)}, ${until}, ${nowOf(table)}, ${by}, ${lease.fencingToken}, ${state}
FROM (SELECT CAST(NULL AS CHAR) AS job_state) nothing`;
}

function lostLease(
  table: MysqlTable,
  lease: LeaseRef,
  outcome: ReleaseOutcome | undefined,
): Record<'by' | 'until' | 'state', unknown> {
  const by = lockedBy(lease);
  if (outcome === undefined) return { by, until: endOf(table, lease.ttl), state: restoredState(lease) };
  return { by: endedBy(by, outcome), until: ranOutOf(table), state: raw('job_state') };
}

/** Reads these locks, or every lock, ordered by name. */
export function rowsStatement(table: MysqlTable, names?: readonly string[]): Sql {
  const which =
    names === undefined ? raw('ORDER BY name') : sql`WHERE name IN ${list(names.map(storedName))}`;
  return sql`SELECT name, locked_by AS \`by\`, ${remainingOf(table)} AS \`remaining\`, fencing_token AS \`fence\`, job_state AS \`state\`,
  (${EPOCH_MICROSECONDS} - TIMESTAMPDIFF(MICROSECOND, locked_at, ${clockOf(table)})) / 1000 AS \`since\`, ${EPOCH_MS} AS \`now\`
FROM ${table.table} ${which}`;
}

/** The ttl of each lease of a batch. Mostly all leases have the same ttl. */
function ttlOf(leases: readonly LeaseRef[], fenced: boolean): number | Sql {
  const byTtl = new Map<number, LeaseRef[]>();
  for (const lease of leases) byTtl.set(lease.ttl, [...(byTtl.get(lease.ttl) ?? []), lease]);
  const [[first = 0] = [], ...others] = [...byTtl];
  if (others.length === 0) return first;
  let cases: Sql = raw('CASE');
  for (const [ttl, some] of others) cases = sql`${cases} WHEN ${isOneOf(some, fenced)} THEN ${ttl}`;
  return sql`(${cases} ELSE ${first} END)`;
}

/** The statements for calls without a tick or an interval. They are short, and their texts are made once per table. */
export interface PlainStatements {
  /** Takes a free lock whose row exists and has a fencing token: `insertId` is the new one. */
  take(request: AcquireRequest): Sql;
  /** Releases a live lease without a job, so that its lock is free at once. */
  release(lease: LeaseRef, outcome: ReleaseOutcome): Sql;
}

/** Stands for any value while a text is made. */
const SOME = '';

export function plainStatements(table: MysqlTable): PlainStatements {
  const named = isNamed(table, SOME);
  const take = sql`UPDATE ${table.table} SET
  fencing_token = LAST_INSERT_ID(GREATEST(fencing_token + 1, ${EPOCH_MICROSECONDS})),
  lock_until = ${afterMicroseconds(table, SOME)}, locked_at = ${nowOf(table)}, locked_by = ${SOME}
WHERE ${named} AND lock_until <= ${clockOf(table)} AND fencing_token < ${raw(String(Number.MAX_SAFE_INTEGER))}
  AND ${NOBODY_IN_LINE}`;
  const release = sql`UPDATE ${table.table} SET lock_until = ${freeOf(table)}, locked_by = ${SOME}
WHERE ${named} AND locked_by = ${SOME} AND COALESCE(fencing_token = ${SOME}, TRUE) AND lock_until > ${nowOf(table)}`;
  const nameOf = (name: string): string[] => named.values.map(() => storedName(name));
  return {
    take: (request) => ({
      text: take.text,
      values: [microsecondsOf(request.ttl), lockedBy(request), ...nameOf(request.name)],
    }),
    release(lease, outcome) {
      const by = lockedBy(lease);
      const values = [endedBy(by, outcome), ...nameOf(lease.name), by, lease.fencingToken];
      return { text: release.text, values };
    },
  };
}
