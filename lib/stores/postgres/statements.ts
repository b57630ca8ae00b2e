import type { ReleaseOutcome } from '../lock-store.js';

/** What the statements have to know of the table. */
export interface PostgresTable {
  /** Schema and name, quoted. */
  readonly sql: string;
  /** Whether `lock_until` and `locked_at` are `timestamptz`. ShedLock documents `timestamp`, which holds UTC then. */
  readonly zoned: boolean;
}

/** The statements for one table. */
export interface PostgresStatements {
  readonly acquire: string;
  readonly acquireTick: string;
  readonly acquireInterval: string;
  readonly extend: string;
  readonly release: string;
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
 * statement reads the row as its snapshot has it (seen), to refuse without a write and to explain a refusal, and decides
 * on the row as it is now, by the conditions on its UPDATE.
 *
 * Which time is which: clock_timestamp() goes on while a statement waits for a row that another one has locked, so
 * whether a lease is over is asked of that. A lease counts from statement_timestamp(), when the statement arrived: the
 * holder counts from before that, and what waited for long must not live for long. CURRENT_TIMESTAMP would be the start
 * of a transaction that a user has begun. Times are whole milliseconds, as `timestamp(3)` rounds; ends are rounded up.
 *
 * Every parameter is a text and is cast: drivers differ in the types that they send.
 */
export function postgresStatements({ sql: table, zoned }: PostgresTable): PostgresStatements {
  const local = (time: string): string => (zoned ? time : `(${time} AT TIME ZONE 'utc')`);
  const now = local(`date_trunc('milliseconds', statement_timestamp())`);
  const clock = local('clock_timestamp()');
  const epoch = (time: string): string => `(extract(epoch FROM ${time}) * 1000)`;
  const clockEpoch = epoch('clock_timestamp()');
  const remaining = `${epoch('lock_until')} - ${clockEpoch}`;
  const after = (ms: string): string => `${now} + ((${ms})::text::bigint) * interval '1 millisecond'`;
  const end = (ms: string): string => `${after(ms)} + interval '1 millisecond'`;

  /**
   * Takes the lock if it is free and its job may start.
   *
   * $1 name  $2 locked_by of the lease  $3 ttl, ms  $4 job, and what `start` says
   *
   * Answers one row, as AttemptRow. `seen` alone refuses most of those that come late, without touching the row.
   */
  const acquire = ({ ahead, startable, wait, state }: Start): string => `
WITH seen AS (
  SELECT locked_by, fencing_token, job_state, ${remaining} AS remaining, ${startable('s')} AS startable, ${wait('s')} AS wait
  FROM ${table} s WHERE name = $1::text
), attempt AS (
  INSERT INTO ${table} AS l (name, lock_until, locked_at, locked_by, fencing_token, job_state)
  SELECT $1::text, ${end('$3')}, ${now}, $2::text, (${epoch('clock_timestamp()')} * 1000)::bigint, ${state('NULL::jsonb')}
  WHERE NOT ${ahead} AND coalesce((SELECT remaining <= 0 AND startable FROM seen), ${startable(undefined)})
  ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until, locked_at = excluded.locked_at,
    locked_by = excluded.locked_by, fencing_token = greatest(l.fencing_token + 1, excluded.fencing_token),
    job_state = ${state('l.job_state')}
  WHERE l.lock_until <= ${clock} AND coalesce(l.fencing_token, 0) < ${Number.MAX_SAFE_INTEGER} AND ${startable('l')}
  RETURNING fencing_token, job_state
)
SELECT a.fencing_token AS granted, a.job_state #>> ARRAY['jobs', $4::text, 'attempt'] AS attempt,
  a.job_state #>> '{newest,before,schedule}' AS previous,
  s.locked_by AS by, s.remaining, s.fencing_token AS recorded, s.wait, ${ahead} AS ahead, ${clockEpoch} AS now,
  coalesce(s.startable, ${startable(undefined)}) AS startable, s.job_state #>> ARRAY['jobs', $4::text, 'tick'] AS tick,
  s.job_state #>> ARRAY['jobs', $4::text, 'outcome'] AS outcome, s.job_state #>> ARRAY['jobs', $4::text, 'attempt'] AS attempts
FROM (SELECT 1) one LEFT JOIN attempt a ON true LEFT JOIN seen s ON true`;

  return {
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
     * Answers one row: whether the lease was there, whether it was still live, and what the row says if not. One that had
     * run out, and that nobody took over, has its end noted all the same: a run that ended is not repeated.
     */
    release: `
WITH done AS (
  UPDATE ${table} SET lock_until = CASE WHEN lock_until > ${now} THEN ${after('$3')} ELSE lock_until END,
    locked_by = locked_by || '/' || $4::text, job_state = ${ENDED}
  WHERE name = $1::text AND locked_by = $2::text
  RETURNING lock_until >= ${now} AS live
)
SELECT d.live, s.locked_by AS by, ${remaining} AS remaining
FROM (SELECT 1) one LEFT JOIN done d ON true LEFT JOIN ${table} s ON s.name = $1::text`,

    /* Every lock, in the order of their names. */
    inspect: `
SELECT name, locked_by AS by, ${remaining} AS remaining, fencing_token AS fence, job_state AS state,
  ${epoch('locked_at')} AS since
FROM ${table} ORDER BY name`,
  };
}

/** What may start: conditions and values on the row that `alias` names, or for a lock that has no row. */
interface Start {
  /** Whether the request is refused whatever is known of the job. */
  readonly ahead: string;
  startable(alias: string | undefined): string;
  /** Milliseconds until the job may start. */
  wait(alias: string): string;
  /** The new job_state, from the one given. */
  state(before: string): string;
}

/** A call that is neither of a tick nor of an interval. Its parameter $4 is only for the refusal. */
const ANY_START: Start = {
  ahead: 'false',
  startable: () => 'true',
  wait: () => 'NULL::numeric',
  state: (before) => `${before} - 'newest'`,
};

/** The last start of the job, or NULL. */
const last = (state: string): string => `(${state} -> 'jobs' -> $4::text)`;
const field = (alias: string, name: string): string => `${last(`${alias}.job_state`)} ->> '${name}'`;

/** The state with a new start of the job in it. */
const started = (before: string, start: string): string => `
    coalesce(${before}, '{}') || jsonb_build_object(
      'jobs', coalesce(${before} -> 'jobs', '{}') || jsonb_build_object($4::text, ${start}),
      'newest', jsonb_build_object('job', $4::text, 'before', ${last(before)}))`;

/**
 * $5 tick, epoch ms  $6 how far it may lie in the future, ms, or NULL  $7 schedule  $8 how often an interrupted run may be
 * repeated  $9 'known', 'interrupted' or NULL
 *
 * A tick is refused if it or a newer one was started, unless that run was interrupted and may be repeated.
 */
function tickStart(now: string): Start {
  const tick = '$5::text::bigint';
  const again = (alias: string): string => `coalesce(${field(alias, 'tick')} = $5::text
    AND coalesce(${field(alias, 'outcome')}, 'aborted') = 'aborted'
    AND (${field(alias, 'attempt')})::int <= $8::text::int, false)`;
  const attempt = (alias: string | undefined): string =>
    alias === undefined
      ? '1'
      : `CASE WHEN ${again(alias)} THEN (${field(alias, 'attempt')})::int + 1 ELSE 1 END`;
  return {
    ahead: `coalesce(${tick} > ${now} + $6::text::bigint, false)`,
    startable: (alias) =>
      alias === undefined
        ? '($9::text IS NULL)'
        : `(${again(alias)} OR (coalesce((${field(alias, 'tick')})::bigint < ${tick}, true)
    AND ($9::text IS NULL OR ($9::text = 'known' AND ${field(alias, 'tick')} IS NOT NULL))))`,
    wait: () => 'NULL::numeric',
    state: (before) => {
      const [, alias] = /^(\w+)\.job_state$/.exec(before) ?? [];
      const start = `jsonb_build_object('tick', ${tick}, 'attempt', ${attempt(alias)}, 'schedule', $7::text)`;
      return started(before, start);
    },
  };
}

/** An interval may start this much of it early: timers are late by different amounts. */
const ALLOWANCE = 0.1;

/**
 * $5 interval, ms
 *
 * Counted by the interval of today, as a deploy may have changed it.
 */
function intervalStart(now: string): Start {
  const interval = '$5::text::bigint';
  const due = (state: string): string =>
    `((${last(state)} ->> 'due')::numeric - (${last(state)} ->> 'interval')::numeric + ${interval})`;
  const wait = (state: string): string => `${due(state)} - ${interval} * ${ALLOWANCE} - ${now}`;
  return {
    ahead: 'false',
    startable: (alias) =>
      alias === undefined ? 'true' : `coalesce(${wait(`${alias}.job_state`)} <= 0, true)`,
    wait: (alias) => wait(`${alias}.job_state`),
    state: (before) =>
      started(
        before,
        `jsonb_build_object('due', round(greatest(${due(before)}, ${now})) + ${interval}, 'interval', ${interval})`,
      ),
  };
}

/**
 * job_state when the newest lease, whose start is in `newest`, has ended: $4 is its outcome. Only ticks keep it; what an
 * abandoned lease has replaced comes back.
 */
const NOTHING_RAN: ReleaseOutcome = 'abandoned';
const ENDED = `CASE
    WHEN job_state -> 'newest' IS NULL THEN job_state
    WHEN $4::text <> '${NOTHING_RAN}' AND job_state #> ARRAY['jobs', job_state #>> '{newest,job}', 'tick'] IS NOT NULL
      THEN jsonb_set(job_state, ARRAY['jobs', job_state #>> '{newest,job}', 'outcome'], to_jsonb($4::text)) - 'newest'
    WHEN $4::text <> '${NOTHING_RAN}' THEN job_state - 'newest'
    WHEN jsonb_typeof(job_state #> '{newest,before}') = 'object'
      THEN jsonb_set(job_state, ARRAY['jobs', job_state #>> '{newest,job}'], job_state #> '{newest,before}') - 'newest'
    ELSE (job_state #- ARRAY['jobs', job_state #>> '{newest,job}']) - 'newest' END`;
