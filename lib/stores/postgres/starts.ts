import type { ReleaseOutcome } from '../lock-store.js';

/** What may start: conditions and values on the row that `alias` names. */
export interface Start {
  /** Whether the request is refused whatever is known of the job. */
  readonly ahead?: string;
  startable(alias: string): string;
  /** Whether the job may start if there is no row; none for what always may. */
  readonly firstStartable?: string;
  /** The new job_state; without an alias, of a row that is new. */
  state(alias: string | undefined): string;
  /** More of the row `s` that explains a refusal. */
  readonly explain: string;
  /** What a grant has to tell besides its fencing token. */
  readonly detail?: string;
}

/** The last start of the job $4, or NULL. */
const lastOf = (alias: string): string => `(${alias}.job_state -> 'jobs' -> $4::text)`;
const fieldOf = (alias: string, name: string): string => `(${lastOf(alias)} ->> '${name}')`;

/** The state with a new start of the job in it. */
const started = (alias: string | undefined, start: string): string => {
  const newest = (before: string): string =>
    `'newest', jsonb_build_object('job', $4::text, 'before', ${before})`;
  if (alias === undefined) {
    return `jsonb_build_object('jobs', jsonb_build_object($4::text, ${start}), ${newest('NULL')})`;
  }
  const jobs = `coalesce(${alias}.job_state -> 'jobs', '{}') || jsonb_build_object($4::text, ${start})`;
  return `coalesce(${alias}.job_state, '{}') || jsonb_build_object('jobs', ${jobs}, ${newest(lastOf(alias))})`;
};

/** Of the last start, for whoever is refused because the lock is held, or because of that start. */
const LAST_START = `, 'tick', ${fieldOf('s', 'tick')}, 'outcome', ${fieldOf('s', 'outcome')}, 'attempts', ${fieldOf('s', 'attempt')}`;

/** A call that is neither of a tick nor of an interval. $4 its job */
export const ANY_START: Start = {
  startable: () => 'true',
  state: (alias) => (alias === undefined ? 'NULL' : `${alias}.job_state - 'newest'`),
  explain: LAST_START,
};

/**
 * $4 job  $5 tick, epoch ms  $6 how far it may lie in the future, ms, or NULL  $7 schedule  $8 how often an interrupted run may
 * be repeated  $9 'known', 'interrupted' or NULL
 *
 * A tick is refused if it or a newer one was started, unless that run was interrupted and may be repeated.
 */
export function tickStart(now: string): Start {
  const tick = '$5::text::bigint';
  const again = (alias: string): string => `coalesce(${fieldOf(alias, 'tick')} = $5::text
    AND coalesce(${fieldOf(alias, 'outcome')}, 'aborted') = 'aborted' AND ${fieldOf(alias, 'attempt')}::int <= $8::text::int, false)`;
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
    detail: `job_state #>> ARRAY['jobs', $4::text, 'attempt'] AS attempt, job_state #>> '{newest,before,schedule}' AS previous`,
  };
}

/** An interval may start this much of it early: timers are late by different amounts. */
const ALLOWANCE = 0.1;

/**
 * $4 job  $5 interval, ms
 *
 * Counted by the interval of today, as a deploy may have changed it.
 */
export function intervalStart(now: string): Start {
  const interval = '$5::text::bigint';
  const due = (alias: string): string =>
    `(${fieldOf(alias, 'due')}::numeric - ${fieldOf(alias, 'interval')}::numeric + ${interval})`;
  const wait = (alias: string): string => `(${due(alias)} - ${interval} * ${ALLOWANCE} - ${now})`;
  const startable = (alias: string): string => `coalesce(${wait(alias)} <= 0, true)`;
  return {
    startable,
    firstStartable: 'true',
    state: (alias) => {
      const from = alias === undefined ? now : `greatest(${due(alias)}, ${now})`;
      return started(
        alias,
        `jsonb_build_object('due', round(${from}) + ${interval}, 'interval', ${interval})`,
      );
    },
    explain: `${LAST_START}, 'wait', ${wait('s')}, 'startable', ${startable('s')}`,
  };
}

/**
 * job_state when the newest lease, whose start is in `newest`, has ended: $4 is its outcome. Only ticks keep it; what an
 * abandoned lease has replaced comes back.
 */
const NOTHING_RAN: ReleaseOutcome = 'abandoned';
export const ENDED = `CASE
    WHEN job_state -> 'newest' IS NULL THEN job_state
    WHEN $4::text <> '${NOTHING_RAN}' AND job_state #> ARRAY['jobs', job_state #>> '{newest,job}', 'tick'] IS NOT NULL
      THEN jsonb_set(job_state, ARRAY['jobs', job_state #>> '{newest,job}', 'outcome'], to_jsonb($4::text)) - 'newest'
    WHEN $4::text <> '${NOTHING_RAN}' THEN job_state - 'newest'
    WHEN jsonb_typeof(job_state #> '{newest,before}') = 'object'
      THEN jsonb_set(job_state, ARRAY['jobs', job_state #>> '{newest,job}'], job_state #> '{newest,before}') - 'newest'
    ELSE (job_state #- ARRAY['jobs', job_state #>> '{newest,job}']) - 'newest' END`;
