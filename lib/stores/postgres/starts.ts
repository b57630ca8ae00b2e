import { INTERRUPTED, INTERVAL_ALLOWANCE, INTERVAL_ROUNDING, NOTHING_RAN } from '../rules.js';

/** The SQL of a start: its condition, and its record. `alias` names the row. */
export interface StartSql {
  /** Whether the request is refused regardless of the job's last start. */
  readonly ahead?: string;
  startable(alias: string): string;
  /** Whether the job may start if there is no row; absent if it always may. */
  readonly firstStartable?: string;
  /** The new job_state; without an alias, that of a new row. */
  state(alias: string | undefined): string;
  /** Further fields of the row `s`, which explain a refusal. */
  readonly explain: string;
  /** Further fields of a grant besides its fencing token. */
  readonly detail?: string;
}

/** The last start of the job $4, or NULL. */
const lastOf = (alias: string): string => `(${alias}.job_state -> 'jobs' -> $4::text)`;
const fieldOf = (alias: string, name: string): string => `(${lastOf(alias)} ->> '${name}')`;

/** job_state with a new start of the job. @param by locked_by of its lease */
const started = (alias: string | undefined, start: string, by: '$2' | '$3' = '$2'): string => {
  const before = alias === undefined ? 'NULL' : `${lastOf(alias)} - 'by' - 'before'`;
  const record = `jsonb_build_object($4::text, ${start} || jsonb_build_object('by', ${by}::text, 'before', ${before}))`;
  if (alias === undefined) return `jsonb_build_object('jobs', ${record})`;
  const jobs = `coalesce(${alias}.job_state -> 'jobs', '{}') || ${record}`;
  return `coalesce(${alias}.job_state, '{}') || jsonb_build_object('jobs', ${jobs})`;
};

/** The last start of the job, for a refusal because the lock is held, or because of that start. */
const LAST_START = `, 'tick', ${fieldOf('s', 'tick')}, 'outcome', ${fieldOf('s', 'outcome')}, 'attempts', ${fieldOf('s', 'attempt')}`;

/** A call without a tick or an interval. $4 its job */
export const ANY_START: StartSql = {
  startable: () => 'true',
  state: (alias) => (alias === undefined ? 'NULL' : `${alias}.job_state`),
  explain: LAST_START,
};

/**
 * $4 job  $5 tick, epoch ms  $6 how far the tick may lie in the future, ms, or NULL  $7 schedule  $8 how often an interrupted run may
 * be repeated  $9 'known', 'interrupted' or NULL
 */
export function tickStart(now: string): StartSql {
  const tick = '$5::text::bigint';
  const again = (alias: string): string => `coalesce(${fieldOf(alias, 'tick')} = $5::text
    AND coalesce(${fieldOf(alias, 'outcome')}, '${INTERRUPTED}') = '${INTERRUPTED}' AND ${fieldOf(alias, 'attempt')}::int <= $8::text::int, false)`;
  const startable = (alias: string): string =>
    `(${again(alias)} OR (coalesce(${fieldOf(alias, 'tick')}::bigint < ${tick}, true)
    AND ($9::text IS NULL OR ($9::text = 'known' AND ${fieldOf(alias, 'tick')} IS NOT NULL))))`;
  const attempt = (alias: string): string =>
    `CASE WHEN ${again(alias)} THEN ${fieldOf(alias, 'attempt')}::int + 1 ELSE 1 END`;
  const ahead = `coalesce(${tick} > ${now} + $6::text::bigint, false)`;
  const firstStartable = '($9::text IS NULL)';
  return {
    ahead,
    startable,
    firstStartable,
    state: (alias) =>
      started(
        alias,
        `jsonb_build_object('tick', ${tick}, 'attempt', ${alias === undefined ? '1' : attempt(alias)}, 'schedule', $7::text)`,
      ),
    explain: `${LAST_START}, 'ahead', ${ahead}, 'now', ${now}, 'startable',
    CASE WHEN locked_by IS NULL THEN ${firstStartable} ELSE ${startable('s')} END`,
    detail: `job_state #>> ARRAY['jobs', $4::text, 'attempt'] AS attempt, job_state #>> ARRAY['jobs', $4::text, 'before', 'schedule'] AS previous`,
  };
}

/** $4 job  $5 interval, ms */
export function intervalStart(now: string): StartSql {
  const interval = '$5::text::bigint';
  const due = (alias: string): string =>
    `(${fieldOf(alias, 'due')}::numeric - ${fieldOf(alias, 'interval')}::numeric + ${interval})`;
  const wait = (alias: string): string => `(${due(alias)} - ${interval} * ${INTERVAL_ALLOWANCE} - ${now})`;
  const farthest = `${now} + ${interval} * ${1 + INTERVAL_ALLOWANCE} + ${INTERVAL_ROUNDING}`;
  const believed = (alias: string): string => `coalesce(${due(alias)} <= ${farthest}, false)`;
  const startable = (alias: string): string => `(${wait(alias)} <= 0 OR NOT ${believed(alias)})`;
  return {
    startable,
    firstStartable: 'true',
    state: (alias) => {
      const last = (row: string): string =>
        `CASE WHEN ${believed(row)} THEN greatest(${due(row)}, ${now}) ELSE ${now} END`;
      const from = alias === undefined ? now : last(alias);
      return started(
        alias,
        `jsonb_build_object('due', round(${from}) + ${interval}, 'interval', ${interval})`,
      );
    },
    explain: `${LAST_START}, 'wait', ${wait('s')}, 'startable', ${startable('s')}`,
  };
}

/** job_state after a lease was written back. $3 locked_by of the lease  $4 its job  $5 its start, JSON, or NULL */
export function restoredState(alias: string | undefined): string {
  const start = '$5::text::jsonb';
  if (alias === undefined)
    return `CASE WHEN $5::text IS NULL THEN NULL ELSE ${started(undefined, start, '$3')} END`;
  const field = (name: string): string => `(${start} ->> '${name}')`;
  const known = `(${fieldOf(alias, 'tick')}::bigint, ${fieldOf(alias, 'attempt')}::int)`;
  return `CASE WHEN ${alias}.locked_by = $3::text OR $5::text IS NULL
    OR ${known} > (${field('tick')}::bigint, ${field('attempt')}::int) THEN ${alias}.job_state
    ELSE ${started(alias, start, '$3')} END`;
}

const START = `(job_state #> ARRAY['jobs', $5::text])`;
const IS_OWN = `job_state #>> ARRAY['jobs', $5::text, 'by'] = $2::text`;

/** Whether there is a start to take back. $2 locked_by of the lease  $4 its outcome  $5 its job */
export const TO_BE_TAKEN_BACK = `$4::text = '${NOTHING_RAN}' AND ${IS_OWN}`;

/**
 * job_state when a lease has ended, with the parameters above. Only a tick keeps its outcome. If the lease was
 * abandoned, the start before it comes back.
 */
export const ENDED = `CASE
    WHEN (${IS_OWN}) IS NOT TRUE THEN job_state
    WHEN $4::text <> '${NOTHING_RAN}' THEN jsonb_set(job_state, ARRAY['jobs', $5::text], ${START} - 'by' - 'before'
      || CASE WHEN ${START} -> 'tick' IS NULL THEN '{}' ELSE jsonb_build_object('outcome', $4::text) END)
    WHEN jsonb_typeof(${START} -> 'before') = 'object'
      THEN jsonb_set(job_state, ARRAY['jobs', $5::text], ${START} -> 'before')
    ELSE job_state #- ARRAY['jobs', $5::text] END`;
