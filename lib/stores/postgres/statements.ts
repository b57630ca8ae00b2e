import { ANY_START, ENDED, intervalStart, type Start, tickStart } from './starts.js';

/** What the statements have to know of the table. */
export interface PostgresTable {
  /** Schema and name, quoted. */
  readonly sql: string;
  /** Whether `lock_until` and `locked_at` are `timestamptz`. ShedLock documents `timestamp`, which holds UTC then. */
  readonly zoned: boolean;
  /** Whether they hold microseconds, as the clock does; of fewer digits they are rounded. */
  readonly exact: boolean;
}

/** The statements for one table. */
export interface PostgresStatements {
  readonly takeAgain: string;
  readonly acquire: string;
  readonly acquireTick: string;
  readonly acquireInterval: string;
  readonly extend: string;
  readonly release: string;
  readonly releasePlain: string;
  readonly inspect: string;
}

/*
 * What the statements have in common
 *
 * One row per lock: ShedLock's name, lock_until, locked_at, locked_by, and two nullable columns of ours, which its
 * statements leave alone:
 *
 *   fencing_token  of the newest lease of ours
 *   job_state      { "jobs": { <job>: { "tick", "attempt", "schedule", "outcome" } or { "due", "interval" } },
 *                    "newest": { "job", "before" } }: the last start of each job, and what the newest lease has replaced
 *                    there, to be taken back if nothing ran. It is in the row, not in rows of its own, because a statement
 *                    sees only its target row as it is behind a lock that it had to wait for; others as they were.
 *
 * Each is one statement in a transaction of its own: nothing is kept in the session, nothing is prepared by name. A
 * statement reads the row as its snapshot has it (s), to refuse without a write and to explain a refusal, and decides
 * on the row as it is now (l), by the conditions on its UPDATE.
 *
 * Which time is which: clock_timestamp() goes on while a statement waits for a row that another one has locked, so
 * whether a lease is over is asked of that. A lease counts from statement_timestamp(), when the statement arrived: the
 * holder counts from before that, and what waited for long must not live for long. CURRENT_TIMESTAMP would be the start
 * of a transaction that a user has begun. In columns that would round them, times are whole milliseconds, and ends are rounded
 * up: a lease must not end before its holder expects it, nor a lock that was given back be taken for a moment longer.
 *
 * Every parameter is a text and is cast: drivers differ in the types that they send.
 */
export function postgresStatements({ sql: table, zoned, exact }: PostgresTable): PostgresStatements {
  const local = (time: string): string => (zoned ? time : `(${time} AT TIME ZONE 'utc')`);
  const now = local(exact ? 'statement_timestamp()' : `date_trunc('milliseconds', statement_timestamp())`);
  const clock = local('clock_timestamp()');
  const epoch = (time: string): string => `(extract(epoch FROM ${time}) * 1000)`;
  const clockEpoch = epoch('clock_timestamp()');
  const microseconds = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
  const remaining = `${epoch('lock_until')} - ${clockEpoch}`;
  const after = (ms: string): string => `${now} + ((${ms})::text::bigint) * interval '1 millisecond'`;
  const end = (ms: string): string => (exact ? after(ms) : `${after(ms)} + interval '1 millisecond'`);

  /**
   * Takes the lock if it is free and its job may start.
   *
   * $1 name  $2 locked_by of the lease  $3 ttl, ms, and what `start` says
   *
   * Answers granted, the fencing token, with attempt and previous schedule of a tick; or `seen`, what explains the refusal,
   * as JSON; or nothing, if the row was made a moment ago. `seen` alone refuses most of those that come late, and writes nothing.
   */
  const acquire = ({ ahead, startable, firstStartable, state, explain, detail }: Start): string => `
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
    job_state = ${state('l')}
  WHERE l.lock_until <= ${clock} AND coalesce(l.fencing_token, 0) < ${Number.MAX_SAFE_INTEGER} AND ${startable('l')}
  RETURNING fencing_token${detail === undefined ? '' : `, ${detail}`})
SELECT fencing_token AS granted, NULL::jsonb AS seen${detail === undefined ? '' : ', attempt, previous'} FROM a
UNION ALL SELECT NULL, jsonb_build_object('by', locked_by, 'remaining', ${remaining}, 'recorded', fencing_token${explain})${
    detail === undefined ? '' : ', NULL, NULL'
  } FROM ${firstStartable === undefined ? 's' : '(SELECT) one LEFT JOIN s ON true'} WHERE NOT EXISTS (SELECT FROM a)`;

  return {
    /*
     * Takes a lock whose row is there, with a fencing token of ours in it, if it is free, for a call that is neither of a tick
     * nor of an interval. $1 name  $2 locked_by  $3 ttl, ms
     *
     * Answers the fencing token, or nothing. Less than half the work of `acquire`, which explains a refusal.
     */
    takeAgain: `
UPDATE ${table} SET lock_until = ${end('$3')}, locked_at = ${now}, locked_by = $2::text,
  fencing_token = greatest(fencing_token + 1, ${microseconds}), job_state = job_state - 'newest'
WHERE name = $1::text AND lock_until <= ${clock} AND fencing_token < ${Number.MAX_SAFE_INTEGER}
RETURNING fencing_token AS granted`,
    acquire: acquire(ANY_START),
    acquireTick: acquire(tickStart(clockEpoch)),
    acquireInterval: acquire(intervalStart(clockEpoch)),

    /*
     * Renews leases. $1 JSON: [{ "i": index, "name", "by": locked_by, "ttl": ms }]
     *
     * Answers a row per lease: i, renewed, and for one that was not, what its lock's row says.
     */
    extend: `
WITH wanted AS (
  SELECT * FROM jsonb_to_recordset($1::text::jsonb) AS w(i int, name text, by text, ttl bigint)
), done AS (
  UPDATE ${table} l SET lock_until = ${end('w.ttl')} FROM wanted w
  WHERE l.name = w.name AND l.locked_by = w.by AND l.lock_until > ${clock}
  RETURNING w.i
)
SELECT w.i, d.i IS NOT NULL AS renewed, s.locked_by AS by, ${remaining} AS remaining
FROM wanted w LEFT JOIN done d ON d.i = w.i LEFT JOIN ${table} s ON d.i IS NULL AND s.name = w.name`,

    /*
     * Gives a lease back, and notes how its run ended. $1 name  $2 locked_by of the lease  $3 ms to keep the lock taken
     * $4 outcome
     *
     * Answers whether it was live, or what the row says if it was not there. One that had run out, and that nobody took over,
     * has its end noted all the same: a run that ended is not repeated.
     */
    release: `
WITH done AS (
  UPDATE ${table} SET lock_until = CASE WHEN lock_until > ${now} THEN ${after('$3')} ELSE lock_until END,
    job_state = ${ENDED}, locked_by = locked_by || '/' || $4::text
  WHERE name = $1::text AND locked_by = $2::text RETURNING lock_until >= ${now} AS live
)
SELECT live, NULL AS by, NULL AS remaining FROM done
UNION ALL SELECT NULL, locked_by, ${remaining} FROM ${table} WHERE name = $1::text AND NOT EXISTS (SELECT FROM done)`,

    /*
     * The same for a live lease whose start was not kept, and whose lock is to be free at once, in half the time.
     * $1 name  $2 locked_by of the lease  $3 locked_by afterwards
     *
     * How many rows it finds is the answer: 1, or 0 if there is no such lease.
     */
    releasePlain: `
UPDATE ${table} SET lock_until = ${now}, locked_by = $3::text
WHERE name = $1::text AND locked_by = $2::text AND lock_until > ${now} AND job_state -> 'newest' IS NULL`,

    /* Every lock, in the order of their names. */
    inspect: `
SELECT name, locked_by AS by, ${remaining} AS remaining, fencing_token AS fence, job_state AS state,
  ${epoch('locked_at')} AS since
FROM ${table} ORDER BY name`,
  };
}
