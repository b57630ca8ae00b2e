import type { AcquireRequest, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { lockedBy } from '../sql/locked-by.js';
import { INTERRUPTED, INTERVAL_ALLOWANCE, INTERVAL_ROUNDING, NOTHING_RAN } from '../rules.js';
import { EPOCH_MS } from './columns.js';
import { raw, type Sql, sql } from './sql-text.js';

/*
 * job_state: { "jobs": { <key>: { "tick", "attempt", "schedule", "outcome" } or { "due", "interval" } } }
 *
 * The last start of each job. Until the lease of that start has ended, also "by", the locked_by of the lease, and "before", the
 * start that was replaced, which comes back if nothing ran. Keys are encoded, so that any name of a job can stand in a path.
 */

/** The key of a job. */
export function jobKey(job: string): string {
  const encoded = encodeURIComponent(job).replaceAll(
    /[!'()*~]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  // Without a job, the key is `%` alone. No encoded text ends with a percent sign.
  return `${encoded}%`;
}

export function jobOfKey(key: string): string {
  return decodeURIComponent(key.slice(0, -1));
}

/** The SQL of a start: its condition, and its record in the row. */
export interface StartSql {
  /** Whether the request is refused regardless of the job's last start. */
  readonly ahead: Sql;
  /** Whether the job may start, judged by the row. */
  readonly startable: Sql;
  /**
   * The same, for starts whose answer needs nothing else of the row only: the first run of a tick, with the same schedule as the start
   * before.
   */
  readonly usual: Sql;
  /** Whether the job may start if there is no row. */
  readonly startableFirst: boolean;
  readonly wait: Sql;
  /** The new job_state, made from the one in the row. @param attempt which run of the tick this is */
  state(attempt: number): Sql;
}

export function startSql(request: AcquireRequest): StartSql {
  const { tick, interval } = request;
  if (tick !== undefined) return tickStart(request, tick);
  return interval === undefined ? ANY_START : intervalStart(request, interval);
}

/** A field of the job's last start, or NULL. */
export const fieldOf = (job: string, field: string): Sql =>
  sql`JSON_UNQUOTE(JSON_EXTRACT(job_state, ${`${pathOf(jobKey(job))}.${field}`}))`;

const pathOf = (key: string): string => `$.jobs."${key}"`;
const number = (value: Sql): Sql => sql`CAST(${value} AS SIGNED)`;

const ANY_START: StartSql = {
  ahead: raw('0'),
  startable: raw('1'),
  usual: raw('1'),
  startableFirst: true,
  wait: raw('NULL'),
  state: () => raw('job_state'),
};

function tickStart(request: AcquireRequest, tick: number): StartSql {
  const { job = '', maxClockSkew, schedule = '', rerun = 0, only } = request;
  const last = fieldOf(job, 'tick');
  const again = sql`COALESCE(${number(last)} = ${tick} AND COALESCE(${fieldOf(job, 'outcome')}, ${INTERRUPTED}) = ${INTERRUPTED}
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
      started(request, sql`'tick', ${tick}, 'attempt', ${attempt}, 'schedule', ${schedule}`),
  };
}

/** Whether the tick, its attempts and its schedule are still these. */
export function unchangedStart(
  job: string,
  seen: { tick: unknown; attempts: unknown; schedule: unknown },
): Sql {
  return sql`${number(fieldOf(job, 'tick'))} = ${seen.tick} AND ${number(fieldOf(job, 'attempt'))} <=> ${seen.attempts}
    AND ${fieldOf(job, 'schedule')} <=> ${seen.schedule}`;
}

function intervalStart(request: AcquireRequest, interval: number): StartSql {
  const key = jobKey(request.job ?? '');
  const field = (name: string): Sql =>
    sql`CAST(JSON_UNQUOTE(JSON_EXTRACT(job_state, ${`${pathOf(key)}.${name}`})) AS SIGNED)`;
  const due = sql`(${field('due')} - ${field('interval')} + ${interval})`;
  const wait = sql`(${due} - ${interval * INTERVAL_ALLOWANCE} - ${EPOCH_MS})`;
  const ahead = interval * (1 + INTERVAL_ALLOWANCE) + INTERVAL_ROUNDING;
  const believed = sql`COALESCE(${due} <= ${EPOCH_MS} + ${ahead}, 0)`;
  const startable = sql`(${wait} <= 0 OR NOT ${believed})`;
  const next = sql`CAST(IF(${believed}, GREATEST(${due}, ${EPOCH_MS}), ${EPOCH_MS}) AS SIGNED) + ${interval}`;
  return {
    ahead: raw('0'),
    startable,
    usual: startable,
    startableFirst: true,
    wait,
    state: () => started(request, sql`'due', ${next}, 'interval', ${interval}`),
  };
}

/** job_state with the start of a restored lease, unless a newer start of its job is known. */
export function restoredState(lease: LeaseRef): Sql {
  const { job = '', tick, attempt = 1 } = lease;
  const restored = startSql(lease).state(attempt);
  if (tick === undefined) return restored;
  const [last, tries] = [number(fieldOf(job, 'tick')), number(fieldOf(job, 'attempt'))];
  const newer = sql`COALESCE(${last} > ${tick} OR (${last} = ${tick} AND ${tries} > ${attempt}), 0)`;
  return sql`IF(${newer}, ${ANY_START.state(1)}, ${restored})`;
}

/** job_state with a new start. It replaces the job's last start as a whole, which is therefore removed first. */
function started(request: Omit<LeaseRef, 'fencingToken'>, start: Sql): Sql {
  const key = jobKey(request.job ?? '');
  return sql`JSON_MERGE_PATCH(COALESCE(job_state, '{}'), ${JSON.stringify({ jobs: { [key]: null } })},
    JSON_OBJECT('jobs', JSON_OBJECT(${key}, JSON_OBJECT(${start}, 'by', ${lockedBy(request)},
    'before', JSON_REMOVE(JSON_EXTRACT(job_state, ${pathOf(key)}), '$.by', '$.before')))))`;
}

/** Whether the job's last start is that of this lease, and its run has no recorded end. */
export const isOwnStart = (lease: LeaseRef): Sql =>
  sql`COALESCE(${fieldOf(lease.job ?? '', 'by')} = ${lockedBy(lease)}, 0)`;

/**
 * job_state when a lease has ended. Only a tick keeps its outcome. If the lease was abandoned, the start before it comes back.
 */
export function endedState(lease: LeaseRef, outcome: ReleaseOutcome): Sql {
  const path = pathOf(jobKey(lease.job ?? ''));
  const before = sql`JSON_EXTRACT(job_state, ${`${path}.before`})`;
  const without = sql`JSON_REMOVE(job_state, ${`${path}.by`}, ${`${path}.before`})`;
  const ended =
    outcome === NOTHING_RAN
      ? sql`IF(${before} IS NULL, JSON_REMOVE(job_state, ${path}), JSON_SET(job_state, ${path}, ${before}))`
      : sql`IF(JSON_EXTRACT(job_state, ${`${path}.tick`}) IS NULL, ${without}, JSON_SET(${without}, ${`${path}.outcome`}, ${outcome}))`;
  return sql`IF(${isOwnStart(lease)}, ${ended}, job_state)`;
}
