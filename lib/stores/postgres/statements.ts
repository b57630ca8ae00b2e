import {
  ANY_START,
  ENDED,
  intervalStart,
  restoredState,
  type StartSql,
  tickStart,
  TO_BE_TAKEN_BACK,
} from './starts.js';
import { STEP_OF_PRIORITY } from '../rules.js';
import { OUTCOMES } from '../sql/locked-by.js';

/** How long a restore waits for other transactions that have locked the row, ms. */
const WRITE_BACK_WAIT = 100;

/** The facts about the table that the statements need. */
export interface PostgresTable {
  /** Schema and name, quoted. */
  readonly sql: string;
  /** Whether `lock_until` and `locked_at` are `timestamptz`. ShedLock documents `timestamp`, in which it keeps UTC. */
  readonly zoned: boolean;
  /** Whether these columns hold microseconds, as the clock does; columns with fewer digits round. */
  readonly exact: boolean;
}

/** The part of an attempt that concerns the line: SQL on the present row `l`. */
interface AcquireLine {
  readonly condition: string;
  /** job_state without the call that is granted the lock. */
  without(state: string): string;
}

/** Whether the last lease of a row was released. */
const WAS_RELEASED = `locked_by ~ '/(${OUTCOMES.join('|')})$'`;
/** The last lease of the row `s`, if it was not released. */
const LAST_LEASE = `(SELECT jsonb_build_object('by', locked_by, 'recorded', fencing_token, 'jobs', job_state -> 'jobs')
  FROM s WHERE NOT ${WAS_RELEASED})`;

const NOBODY_IN_LINE: AcquireLine = { condition: `l.job_state -> 'line' IS NULL`, without: (state) => state };

/** @param version of the line that was read @param rest the line without the call, JSON, or NULL */
const seenLine = (version: string, rest: string): AcquireLine => ({
  condition: `l.job_state #>> '{line,version}' = ${version}::text`,
  without: (state) => `(${state}) - 'line' || CASE WHEN ${rest}::text IS NULL THEN '{}'
    ELSE jsonb_build_object('line', ${rest}::text::jsonb) END`,
});

/*
 * What the statements have in common
 *
 * One row per lock: ShedLock's name, lock_until, locked_at, locked_by, and two nullable columns of ours, which its statements leave
 * alone:
 *
 *   fencing_token  of the newest lease of ours
 *   job_state      { "jobs": { <job>: { "tick", "attempt", "schedule", "outcome" } or { "due", "interval" } } }: the last
 *                    start of each job. Until the lease of that start has ended, also "by", the locked_by of the lease, and
 *                    "before", the start that it replaced, which comes back if nothing ran. Starts have no rows of their own:
 *                    after waiting for a lock, a statement sees only its target row as it is now, and other rows as they were.
 *                    Also "line", the calls that wait: see sql/lines.ts.
 *
 * Each is one statement in a transaction of its own. No statement keeps anything in the session, and none is prepared by name. To refuse
 * without a write, and to explain a refusal, a statement reads the row of its snapshot (s). It decides on the present row (l), by the
 * conditions of its UPDATE.
 *
 * 1. clock_timestamp() decides whether a lease is over: it goes on while a statement waits for a row that another one has locked.
 * 2. A lease counts from statement_timestamp(), when the statement arrived. The holder counts from before that, and a statement that
 *    waited for long must not grant a longer lease. CURRENT_TIMESTAMP would be the beginning of a transaction that a user has begun.
 * 3. For columns that would round, times are whole milliseconds. Ends are rounded up: no lease ends before its holder expects the end.
 * 4. The lock_until of a released lock is a day ago, so that the lock stays free even if the clock is set back. Not longer ago: people
 *    delete rows whose locks have been free for long.
 *
 * Every parameter is a text, and is cast: drivers differ in the types that they send.
 */
export function postgresStatements({ sql: table, zoned, exact }: PostgresTable) {
  const local = (time: string): string => (zoned ? time : `(${time} AT TIME ZONE 'utc')`);
  const now = local(exact ? 'statement_timestamp()' : `date_trunc('milliseconds', statement_timestamp())`);
  const clock = local('clock_timestamp()');
  const epoch = (time: string): string => `(extract(epoch FROM ${time}) * 1000)`;
  const clockEpoch = epoch('clock_timestamp()');
  const microseconds = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
  const remaining = `${epoch('lock_until')} - ${clockEpoch}`;
  const after = (ms: string): string => `${now} + ((${ms})::text::bigint) * interval '1 millisecond'`;
  const free = `${now} - interval '1 day'`;
  // For a lease that had run out before: its release calls nobody in line. RETURNING sees only the row after the update, so it also
  // recognises such a lease by this value.
  const ranOut = `${now} - interval '2 days'`;
  const wasLive = `lock_until > ${now} - interval '36 hours'`;
  // Leases are renewed and given back also where a migration has dropped the column.
  const recordedIn = (row: string): string => `to_jsonb(${row}) ->> 'fencing_token' AS recorded`;
  // A lease is its locked_by and its fencing token: the queued calls of one lock have leases with one locked_by. The fencing token 0, of
  // a grant that was never answered, stands for any of these leases.
  const isNewest = (row: string, fence: string): string =>
    `(${fence} = 0 OR coalesce((to_jsonb(${row}) ->> 'fencing_token')::bigint, ${fence}) = ${fence})`;
  const end = (ms: string): string => (exact ? after(ms) : `${after(ms)} + interval '1 millisecond'`);

  /**
   * Takes the lock if it is free and its job may start.
   *
   * $1 name  $2 locked_by of the lease  $3 ttl, ms, and the parameters of `start`
   *
   * Answers `granted`, the fencing token, with attempt and previous schedule of a tick; or `seen`, JSON that explains the refusal;
   * or nothing, if the row was made a moment ago. Most late calls get only `seen`, without a write.
   *
   * @param last more of the answer to a grant, SQL on `s`
   */
  const acquire = (
    { ahead, startable, firstStartable, state, explain, detail }: StartSql,
    last: string,
    line: AcquireLine = NOBODY_IN_LINE,
  ): string => `
WITH s AS (SELECT locked_by, fencing_token, lock_until, job_state FROM ${table} WHERE name = $1::text
), a AS (INSERT INTO ${table} AS l (name, lock_until, locked_at, locked_by, fencing_token, job_state)
  SELECT $1::text, ${end('$3')}, ${now}, $2::text, ${microseconds}, ${state(undefined)}
  WHERE ${ahead === undefined ? '' : `NOT ${ahead} AND `}${
    firstStartable === undefined
      ? `NOT EXISTS (SELECT FROM s WHERE lock_until > ${clock})`
      : `coalesce((SELECT lock_until <= ${clock} AND ${startable('s')} FROM s), ${firstStartable})`
  }
  ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until, locked_at = excluded.locked_at,
    locked_by = excluded.locked_by, fencing_token = greatest(l.fencing_token + 1, excluded.fencing_token),
    job_state = ${line.without(state('l'))}
  WHERE l.lock_until <= ${clock} AND coalesce(l.fencing_token, 0) < ${Number.MAX_SAFE_INTEGER} AND ${startable('l')} AND ${line.condition}
  RETURNING fencing_token${detail === undefined ? '' : `, ${detail}`})
SELECT fencing_token AS granted, NULL::jsonb AS seen${detail === undefined ? '' : ', attempt, previous'}${
    last === '' ? '' : `, ${last} AS last`
  } FROM a
UNION ALL SELECT NULL, jsonb_build_object('by', locked_by, 'remaining', ${remaining}, 'recorded', fencing_token,
  'line', job_state -> 'line'${explain})${
    detail === undefined ? '' : ', NULL, NULL'
  }${last === '' ? '' : ', NULL'} FROM ${firstStartable === undefined ? 's' : '(SELECT) one LEFT JOIN s ON true'} WHERE NOT EXISTS (SELECT FROM a)`;

  const rows = `
SELECT name, locked_by AS by, ${remaining} AS remaining, fencing_token AS fence, job_state AS state,
  ${epoch('locked_at')} AS since, ${clockEpoch} AS now
FROM ${table}`;

  /** @param last what a grant answers besides: see `acquire` @param isUsual whether the short statement may take the lock */
  const taking = (last: string, isUsual: string) => ({
    /*
     * Takes a free lock whose row exists and has a fencing token, for a call without a tick or an interval.
     * $1 name  $2 locked_by  $3 ttl, ms
     *
     * Answers the fencing token, or nothing. Less than half the work of `acquire`, which explains a refusal.
     */
    takeAgain: `
UPDATE ${table} SET lock_until = ${end('$3')}, locked_at = ${now}, locked_by = $2::text,
  fencing_token = greatest(fencing_token + 1, ${microseconds})
WHERE name = $1::text AND lock_until <= ${clock} AND fencing_token < ${Number.MAX_SAFE_INTEGER} AND job_state -> 'line' IS NULL${isUsual}
RETURNING fencing_token AS granted`,
    acquire: {
      any: acquire(ANY_START, last),
      ofTick: acquire(tickStart(clockEpoch), last),
      ofInterval: acquire(intervalStart(clockEpoch), last),
    },
    /* The same for the first in line, with the version of the line that was read, and the line without this call, or NULL. */
    claim: {
      any: acquire(ANY_START, last, seenLine('$5', '$6')),
      ofTick: acquire(tickStart(clockEpoch), last, seenLine('$10', '$11')),
      ofInterval: acquire(intervalStart(clockEpoch), last, seenLine('$6', '$7')),
    },
  });

  /*
   * Releases a lease, and records how its run ended. $1 name  $2 locked_by of the lease  $3 ms to keep the lock taken
   * $4 outcome  $5 job  $6 its fencing token, '0' for any
   *
   * 1. Answers whether the lease was live, and whether calls stand in line; or what the row says, if the row is of another lease.
   * 2. If the lease had run out, and no other holder took the lock over, its end is recorded nevertheless: an ended run is not repeated.
   * 3. The start of an abandoned lease is taken back even if another holder has or had the lock since.
   */
  const isIts = `(locked_by = $2::text AND ${isNewest('l', '$6::text::bigint')})`;
  const release = (also: string): string => `
WITH done AS (
  UPDATE ${table} AS l SET job_state = ${ENDED},
    lock_until = CASE WHEN NOT ${isIts} THEN lock_until WHEN lock_until <= ${now} THEN ${ranOut}
      WHEN $3::text = '0' THEN ${free} ELSE ${after('$3')} END,
    locked_by = CASE WHEN ${isIts} THEN locked_by || '/' || $4::text ELSE locked_by END
  WHERE name = $1::text AND (${isIts} OR (${TO_BE_TAKEN_BACK}))
  RETURNING CASE WHEN locked_by = $2::text || '/' || $4::text THEN ${wasLive} END AS live, locked_by, lock_until, ${recordedIn('l')},
    to_jsonb(l) #> '{job_state,line}' IS NOT NULL AS line
)${also}
SELECT live, locked_by AS by, ${remaining} AS remaining, recorded, line FROM done
UNION ALL SELECT NULL, locked_by, ${remaining}, ${recordedIn('s')}, NULL FROM ${table} s WHERE name = $1::text
  AND NOT EXISTS (SELECT FROM done)`;

  return {
    ...taking('', ''),
    /*
     * The same for requests with a history: a grant also answers the last lease, JSON, if that lease was not released. The short statement
     * does not take a lock whose last lease was not released.
     */
    withHistory: taking(LAST_LEASE, ` AND ${WAS_RELEASED}`),
    /* Gives a live lease a new fencing token, which it answers. $1 name  $2 locked_by  $3 ttl, ms  $4 the present fencing token */
    advance: `
UPDATE ${table} SET lock_until = ${end('$3')}, fencing_token = greatest(fencing_token + 1, ${microseconds})
WHERE name = $1::text AND locked_by = $2::text AND lock_until > ${clock} AND fencing_token = $4::text::bigint
  AND fencing_token < ${Number.MAX_SAFE_INTEGER}
RETURNING fencing_token AS granted`,
    /*
     * A call enters the line. $1 name  $2 token  $3 process  $4 priority  $5 its place, or NULL: the last of its priority
     * $6 how long it waits, ms  $7 version
     */
    enter: `
UPDATE ${table} SET job_state = coalesce(job_state, '{}') || jsonb_build_object('line', jsonb_build_object(
  'version', $7::text,
  'calls', coalesce(job_state #> '{line,calls}', '{}') || jsonb_build_object($2::text, jsonb_build_object(
    'place', coalesce($5::text::numeric, ${microseconds} - $4::text::numeric * ${STEP_OF_PRIORITY}),
    'process', $3::text, 'until', round(${clockEpoch}) + $6::text::bigint)),
  'called', job_state #> '{line,called}',
  'missed', coalesce(job_state #> '{line,missed}', '{}') - $3::text))
WHERE name = $1::text`,

    /* A call leaves the line. $1 name  $2 token  $3 version  Answers a row if the call stood in line. */
    leave: `
UPDATE ${table} SET job_state = jsonb_set(job_state #- ARRAY['line', 'calls', $2::text], '{line,version}', to_jsonb($3::text))
WHERE name = $1::text AND job_state #> ARRAY['line', 'calls', $2::text] IS NOT NULL
RETURNING 1 AS one`,

    /*
     * Replaces the line of a free lock. $1 name  $2 version that was seen  $3 the new line, or NULL: nobody is left
     *
     * Answers a row if the line was the one that was read.
     */
    changeLine: `
UPDATE ${table} SET job_state = ${seenLine('$2', '$3').without('job_state')}
WHERE name = $1::text AND job_state #>> '{line,version}' = $2::text AND lock_until <= ${clock}
RETURNING 1 AS one`,

    /*
     * Makes the row of a lost lock, with the smallest fencing token, so that its holder can write the lease back.
     * $1 name  $2 ms in which nobody else can take it  $3 locked_by
     */
    keepFree: `
INSERT INTO ${table} (name, lock_until, locked_at, locked_by, fencing_token)
SELECT $1::text, ${end('$2')}, ${now}, $3::text, 0 ON CONFLICT (name) DO NOTHING`,

    /*
     * Renews leases. $1 JSON: [{ "i": index, "name", "by": locked_by, "ttl": ms, "fence": fencing token }]
     *
     * Answers a row per lease: i, renewed, and, for a lease that was not renewed, what the row of its lock says. The statement skips rows
     * that another transaction has locked, as waiting would cost the others their leases: then the answer shows a live lease.
     */
    extend: `
WITH wanted AS (
  SELECT * FROM jsonb_to_recordset($1::text::jsonb) AS w(i int, name text, by text, ttl bigint, fence bigint)
), free AS (
  SELECT w.i, w.by, w.ttl, l.name FROM wanted w JOIN ${table} l ON l.name = w.name
  WHERE l.locked_by = w.by AND l.lock_until > ${clock} AND ${isNewest('l', 'w.fence')} FOR NO KEY UPDATE OF l SKIP LOCKED
), done AS (
  UPDATE ${table} l SET lock_until = ${end('w.ttl')} FROM free w
  WHERE l.name = w.name AND l.locked_by = w.by AND l.lock_until > ${clock}
  RETURNING w.i
)
SELECT w.i, d.i IS NOT NULL AS renewed, s.locked_by AS by, ${remaining} AS remaining, ${recordedIn('s')}
FROM wanted w LEFT JOIN done d ON d.i = w.i LEFT JOIN ${table} s ON d.i IS NULL AND s.name = w.name`,

    release: release(''),
    /* The same, with an INSERT in the same statement. @param also the INSERT, with the parameters from $7 on */
    releaseAnd: (also: string) => release(`, also AS (${also})`),

    /*
     * The same for a live lease without a job, whose lock becomes free at once, in half the time.
     * $1 name  $2 locked_by of the lease  $3 locked_by afterwards  $4 its fencing token
     *
     * The answer is the number of rows: 1, or 0 if there is no such lease.
     */
    releasePlain: `
UPDATE ${table} AS l SET lock_until = ${free}, locked_by = $3::text
WHERE name = $1::text AND locked_by = $2::text AND lock_until > ${now} AND ${isNewest('l', '$4::text::bigint')}`,

    /*
     * Writes a lost lease back, over nothing, over its own remains, or over an older lease: the database went back to a snapshot, or
     * to a replica that lacks the last writes. $1 name  $2 locked_by that was seen, or NULL  $3 locked_by afterwards  $4 job
     * $5 its start, JSON, or NULL  $6 ms that the lease lives, NULL for one that has ended  $7 fencing token
     *
     * 1. Answers a row if it has written.
     * 2. The locked_by that was read is never that of a ShedLock.
     * 3. An older lease, with a smaller fencing token, loses the lock: it was over when this lease was granted.
     * 4. Fails rather than wait for long for another transaction that has locked the row: other leases wait for the answer.
     */
    writeBack: `
INSERT INTO ${table} AS l (name, lock_until, locked_at, locked_by, fencing_token, job_state)
SELECT $1::text, coalesce(${end('$6')}, ${ranOut}), ${now}, $3::text, $7::text::bigint, ${restoredState(undefined)}
FROM (SELECT set_config('lock_timeout', '${WRITE_BACK_WAIT}ms', true) AS wait) briefly WHERE wait IS NOT NULL
ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until, locked_by = excluded.locked_by,
  locked_at = CASE WHEN l.locked_by = $3::text THEN l.locked_at ELSE excluded.locked_at END,
  fencing_token = greatest(l.fencing_token, excluded.fencing_token), job_state = ${restoredState('l')}
WHERE l.locked_by = $2::text AND (l.fencing_token < $7::text::bigint
  OR l.lock_until <= ${clock} AND (l.locked_by = $3::text AND ${isNewest('l', '$7::text::bigint')} OR l.fencing_token IS NULL))
RETURNING 1 AS one`,

    /* Every lock, ordered by name. */
    allRows: `${rows}
ORDER BY name`,

    /* These locks. $1 their names, a list in JSON */
    someRows: `${rows}
WHERE name IN (SELECT jsonb_array_elements_text($1::text::jsonb))`,
  };
}
