import type { Change, SeenDocument } from '../../contract/port.js';

/** How long a single row waits for another transaction that makes or changes it, ms: some commits long, and it holds no connection for long. */
const ROW_WAIT = 100;
/** Sets that limit for this transaction. Costs half as much as to look for a locked row first. */
const BRIEFLY = `set_config('lock_timeout', '${ROW_WAIT}ms', true) IS NOT NULL`;

/*
 * What the statements have in common, in which `{locks}` is the table
 *
 * One row per lock: ShedLock's name, lock_until, locked_at, locked_by, and two nullable columns of ours, which its statements leave
 * alone: version, and state, a text. See LockDocuments.
 *
 * Each is one statement in a transaction of its own: none keeps anything in the session, none is prepared by name. Of many rows, those that
 * other transactions have locked are left out. A single one fails if another transaction keeps it locked.
 *
 * Which time is which: clock_timestamp() goes on while a statement waits for its table, so it decides whether a lock is taken. A lease
 * counts from statement_timestamp(), when the statement arrived: the holder counts from before that, and a statement that waited for
 * long must not grant a longer lease. CURRENT_TIMESTAMP would be the start of a transaction that a user has begun.
 *
 * Every parameter is a text, and is cast: drivers differ in the types that they send.
 */

/** A time as the columns have it: in UTC. */
const utc = (time: string): string => `(${time} AT TIME ZONE 'utc')`;
/** When the statement arrived, and the time of now. */
const now = utc('statement_timestamp()');
const clock = utc('clock_timestamp()');
const epoch = (time: string): string => `extract(epoch FROM ${time}) * 1000`;
const after = (time: string, ms: string): string => `${time} + ${ms} * interval '1 millisecond'`;
/** The end of a lease, so many milliseconds from now. */
const newEnd = (ms: string): string => after(now, ms);
/**
 * The end of a lease that goes on. The statement may have waited, and a later one has prolonged the lease meanwhile: that end stays.
 * One that lies further ahead comes from no such statement, but from a longer ttl, or a clock that was set back since.
 */
const laterEnd = (ms: string): string =>
  `greatest(${after(now, ms)}, least(l.lock_until, ${after(clock, ms)}))`;

const COLUMNS = `l.name, l.version, l.locked_by AS by, ${epoch('l.lock_until')} AS until, ${epoch('l.locked_at')} AS since, l.state,
  ${epoch('clock_timestamp()')} AS now`;

/** The rows of these locks, or one without a name if there is none. $1 names, a list in JSON. Answers the time with each. */
export const READ_SOME = `
SELECT ${COLUMNS} FROM json_array_elements_text($1::text::json) w(name) LEFT JOIN {locks} l ON l.name = w.name`;

/** The row of one lock, or one without a name. $1 its name. Answers the time with it. */
export const READ_ONE = `
SELECT ${COLUMNS} FROM (SELECT) one LEFT JOIN {locks} l ON l.name = $1::text`;

/** The rows of all locks, in the order of their names, or one without a name. Answers the time with each. */
export const READ_ALL = `
SELECT ${COLUMNS} FROM (SELECT) one LEFT JOIN {locks} l ON true ORDER BY l.name`;

/**
 * Changes a row if it is as it was seen, at half of what the statement for many costs. $1 name  $2 version
 * $3 locked_by  $4 state  $5 the version that was seen  $6 the locked_by that was seen  $7 ms from now to lock_until, if it has an `end`
 */
export const changeOne = ({ by, end, begins }: Change, seen: SeenDocument): string => `
UPDATE {locks} l SET version = $2::text, locked_by = $3::text, state = $4::text${
  end === undefined ? '' : `, lock_until = ${(seen.by === by ? laterEnd : newEnd)('$7::text::bigint')}`
}${begins === true ? `, locked_at = ${now}` : ''}
WHERE name = $1::text AND coalesce(version, '') = $5::text AND coalesce(locked_by, '') = $6::text
  AND lock_until ${seen.taken ? '>' : '<='} ${clock} AND ${BRIEFLY}`;

/** Changes many rows. $1 a list in JSON, see below  Answers `i` of each that was changed. */
export const CHANGE_MANY = `
WITH wanted AS (
  SELECT * FROM json_to_recordset($1::text::json) AS w(i int, name text, seen json, "end" bigint, begins boolean, version text,
    by text, state text)
), free AS (
  SELECT w.i FROM wanted w JOIN {locks} l ON l.name = w.name
  WHERE coalesce(l.version, '') = w.seen ->> 'version' AND coalesce(l.locked_by, '') = w.seen ->> 'by'
    AND (l.lock_until > ${clock}) = (w.seen ->> 'taken')::boolean
  ORDER BY l.name FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE {locks} l SET version = w.version, locked_by = w.by, state = w.state,
  lock_until = coalesce(CASE WHEN l.locked_by = w.by THEN ${laterEnd('w."end"')} ELSE ${newEnd('w."end"')} END, l.lock_until),
  locked_at = CASE WHEN w.begins THEN ${now} ELSE l.locked_at END
FROM wanted w JOIN free f ON f.i = w.i WHERE l.name = w.name
RETURNING w.i`;

/** Lets rows that are taken end later. $1 a list in JSON: [{ "i": index, "name", "by": locked_by, "ttl": ms }]  Answers `i` of each that was. */
export const RENEW = `
WITH wanted AS (
  SELECT * FROM json_to_recordset($1::text::json) AS w(i int, name text, by text, ttl bigint)
), free AS (
  SELECT w.i FROM wanted w JOIN {locks} l ON l.name = w.name
  WHERE l.locked_by = w.by AND l.lock_until > ${clock} ORDER BY l.name FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE {locks} l SET lock_until = ${laterEnd('w.ttl')} FROM wanted w JOIN free f ON f.i = w.i WHERE l.name = w.name
RETURNING w.i`;

/**
 * Makes rows where there are none. $1 a list in JSON, as above. Answers the names of those that were made. Fails rather than wait
 * for long for another transaction that makes the same one.
 */
export const MAKE = `
INSERT INTO {locks} (name, lock_until, locked_at, locked_by, version, state)
SELECT w.name, coalesce(${newEnd('w."end"')}, ${now} - interval '1 day'), ${now}, w.by, w.version, w.state
FROM json_to_recordset($1::text::json) AS w(name text, "end" bigint, version text, by text, state text)
WHERE ${BRIEFLY} ORDER BY w.name
ON CONFLICT (name) DO NOTHING
RETURNING name`;
