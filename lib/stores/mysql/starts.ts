import type { AcquireRequest } from '../lock-store.js';
import { EPOCH_MS } from './columns.js';
import { raw, type Sql, sql } from './sql-text.js';

/*
 * job_state: { "jobs": { <key>: { "tick", "attempt", "schedule", "outcome" } or { "due", "interval" } },
 *              "newest": { "job": <key>, "before": … } }
 *
 * The last start of each job, and what the newest lease has replaced there. Keys are encoded, so that they can stand in
 * a path whatever the name of the job is.
 */

/** The key of a job. */
export function jobKey(job: string): string {
  const encoded = encodeURIComponent(job).replaceAll(
    /[!'()*~]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  // Empty where there is no job; nothing that is encoded ends with a percent sign.
  return `${encoded}%`;
}

export function jobOfKey(key: string): string {
  return decodeURIComponent(key.slice(0, -1));
}

/** What may start, and what is kept of it. */
export interface Start {
  /** Whether the request is refused whatever is known of the job. */
  readonly ahead: Sql;
  /** Whether the job may start, judged by the row. */
  readonly startable: Sql;
  /** The same, if besides the answer needs nothing of the row: the first run of a tick, from the same schedule as before. */
  readonly usual: Sql;
  /** Whether it may start where there is no row. */
  readonly startableFirst: boolean;
  readonly wait: Sql;
  /** The new job_state from the one in the row. @param attempt which run of a tick it is */
  state(attempt: number): Sql;
}

export function startOf(request: AcquireRequest): Start {
  const { tick, interval, job = '' } = request;
  if (tick !== undefined) return tickStart(request, tick);
  return interval === undefined ? ANY_START : intervalStart(jobKey(job), interval);
}

/** A field of the job's last start, or NULL. */
export const fieldOf = (job: string, field: string): Sql =>
  sql`JSON_UNQUOTE(JSON_EXTRACT(job_state, ${`${pathOf(jobKey(job))}.${field}`}))`;

const pathOf = (key: string): string => `$.jobs."${key}"`;
const number = (value: Sql): Sql => sql`CAST(${value} AS SIGNED)`;

const ANY_START: Start = {
  ahead: raw('0'),
  startable: raw('1'),
  usual: raw('1'),
  startableFirst: true,
  wait: raw('NULL'),
  state: () => raw("JSON_REMOVE(job_state, '$.newest')"),
};

/**
 * A tick is refused if it or a newer one was started, unless that run was interrupted and may be repeated; or if it lies too
 * far in the future.
 */
function tickStart(request: AcquireRequest, tick: number): Start {
  const { job = '', maxClockSkew, schedule = '', rerun = 0, only } = request;
  const last = fieldOf(job, 'tick');
  const again = sql`COALESCE(${number(last)} = ${tick} AND COALESCE(${fieldOf(job, 'outcome')}, 'aborted') = 'aborted'
    AND ${number(fieldOf(job, 'attempt'))} <= ${rerun}, 0)`;
  const known = only === undefined ? raw('1') : only === 'known' ? sql`${last} IS NOT NULL` : raw('0');
  const newer = sql`(COALESCE(${number(last)} < ${tick}, 1) AND ${known})`;
  const ahead = maxClockSkew === undefined ? raw('0') : sql`${tick} > ${EPOCH_MS} + ${maxClockSkew}`;
  return {
    ahead,
    startable: sql`(${again} OR ${newer})`,
    usual: sql`NOT (${ahead}) AND ${newer} AND COALESCE(${fieldOf(job, 'schedule')}, '') IN ('', ${schedule})`,
    startableFirst: only === undefined,
    wait: raw('NULL'),
    state: (attempt) =>
      // `null` removes what the last start had and this one has not.
      started(
        jobKey(job),
        sql`${JSON.stringify({ jobs: { [jobKey(job)]: { tick, attempt, schedule, outcome: null, due: null, interval: null } } })}`,
      ),
  };
}

/** As long as the tick, its attempts and its schedule are these. */
export function unchangedStart(
  job: string,
  seen: { tick: unknown; attempts: unknown; schedule: unknown },
): Sql {
  return sql`${number(fieldOf(job, 'tick'))} = ${seen.tick} AND ${number(fieldOf(job, 'attempt'))} <=> ${seen.attempts}
    AND ${fieldOf(job, 'schedule')} <=> ${seen.schedule}`;
}

/** An interval may start this much of it early: timers are late by different amounts. */
const ALLOWANCE = 0.1;

/** Counted by the interval of today, as a deploy may have changed it. */
function intervalStart(key: string, interval: number): Start {
  const field = (name: string): Sql =>
    sql`CAST(JSON_UNQUOTE(JSON_EXTRACT(job_state, ${`${pathOf(key)}.${name}`})) AS SIGNED)`;
  const due = sql`(${field('due')} - ${field('interval')} + ${interval})`;
  const wait = sql`(${due} - ${interval * ALLOWANCE} - ${EPOCH_MS})`;
  const startable = sql`COALESCE(${wait} <= 0, 1)`;
  const next = sql`CAST(GREATEST(COALESCE(${due}, 0), ${EPOCH_MS}) AS SIGNED) + ${interval}`;
  return {
    ahead: raw('0'),
    startable,
    usual: startable,
    startableFirst: true,
    wait,
    state: () =>
      started(
        key,
        sql`JSON_OBJECT('jobs', JSON_OBJECT(${key}, JSON_OBJECT('due', ${next}, 'interval', ${interval},
          'tick', NULL, 'attempt', NULL, 'schedule', NULL, 'outcome', NULL)))`,
      ),
  };
}

/** job_state with a new start; `newest` is replaced as a whole, so it goes first. */
function started(key: string, patch: Sql): Sql {
  return sql`JSON_MERGE_PATCH(COALESCE(job_state, '{}'), '{"newest":null}', JSON_OBJECT('newest', JSON_OBJECT('job', ${key},
    'before', JSON_EXTRACT(job_state, ${pathOf(key)}))), ${patch})`;
}

const NEWEST_PATH = `CONCAT('$.jobs."', JSON_UNQUOTE(JSON_EXTRACT(job_state, '$.newest.job')), '"')`;

/**
 * job_state when the newest lease has ended. Only ticks keep how; what an abandoned lease has replaced comes back.
 */
export function endedState(outcome: string): Sql {
  if (outcome === 'abandoned') {
    return raw(`CASE WHEN JSON_EXTRACT(job_state, '$.newest') IS NULL THEN job_state
    WHEN JSON_EXTRACT(job_state, '$.newest.before') IS NULL THEN JSON_REMOVE(job_state, ${NEWEST_PATH}, '$.newest')
    ELSE JSON_REMOVE(JSON_SET(job_state, ${NEWEST_PATH}, JSON_EXTRACT(job_state, '$.newest.before')), '$.newest') END`);
  }
  return sql`CASE WHEN JSON_EXTRACT(job_state, '$.newest') IS NULL THEN job_state
    WHEN JSON_EXTRACT(job_state, CONCAT(${raw(NEWEST_PATH)}, '.tick')) IS NULL THEN JSON_REMOVE(job_state, '$.newest')
    ELSE JSON_REMOVE(JSON_SET(job_state, CONCAT(${raw(NEWEST_PATH)}, '.outcome'), ${outcome}), '$.newest') END`;
}
