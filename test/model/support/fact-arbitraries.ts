import { array, type Arbitrary, boolean, constantFrom, option, record, subarray } from 'fast-check';
import type { JobFacts, KnownBy } from '../../../lib/insight/facts.js';
import type { RunInfo } from '../../../lib/insight/types.js';
import { at, BY_HAND, by, facts, INTERVAL, JOB, run, ticks } from '../../unit/insight/support/facts.js';

const T = at('03:00');
const YESTERDAY = at('03:00', 21);
/** When runs begin: at ticks, between them, during the time of grace, and a moment ago. */
const STARTS = [YESTERDAY, at('12:00', 21), at('02:59'), T, at('03:00:30'), at('03:05'), at('03:09:30')];
/** Times that are asked about: before a tick, in its time of grace, at the end of that, long after it. */
const TIMES = [at('02:59:30'), at('03:00:30'), at('03:01'), at('03:10'), at('12:00')];

const known = constantFrom(
  JOB,
  JOB,
  { ...JOB, overdue: false as const },
  { ...JOB, enabled: false },
  { ...JOB, timeZone: 'Europe/Berlin' },
  INTERVAL,
  BY_HAND,
);

const instance: Arbitrary<(job: JobFacts['known']) => KnownBy> = record({
  id: constantFrom('api-1', 'api-2', 'api-3'),
  state: constantFrom<KnownBy['state'][]>('up', 'up', 'gone', 'left'),
  startedAt: constantFrom(at('12:00', 20), at('12:00', 21), at('03:05')),
  seenAt: constantFrom(at('02:00'), at('03:04')),
  clockOffset: constantFrom(undefined, undefined, 300_000, 1_800_000),
  enabled: constantFrom(undefined, undefined, true, false),
  timeZone: constantFrom(undefined, undefined, 'Europe/Berlin'),
}).map(({ id, enabled, timeZone, ...more }) => (job) => {
  const own = { ...job, enabled: enabled ?? job.enabled, ...(timeZone !== undefined && { timeZone }) };
  return by(id, more, own);
});

const aRun: Arbitrary<(job: JobFacts['known'], time: number) => RunInfo[]> = record({
  startedAt: constantFrom(...STARTS),
  isTick: boolean(),
  outcome: constantFrom<RunInfo['outcome'][]>(
    ...([
      'completed',
      'completed',
      'hollow',
      'failed',
      'timed-out',
      'aborted',
      'interrupted',
      'running',
    ] as const),
  ),
  hung: boolean(),
}).map(({ startedAt, isTick, outcome, hung }) => ({ job, kind, lock = job }, time) => {
  if (startedAt > time) return [];
  const tick = isTick && kind === 'cron' ? { tick: startedAt, attempt: 1 } : {};
  const goesOn = outcome === 'running' && hung ? { hung: true as const } : {};
  return [run(startedAt, { job, lock, outcome, ...tick, ...goesOn })];
});

/** What may be known of a job: more or less of it, and more or less fresh. */
export const jobFacts: Arbitrary<JobFacts> = record({
  known,
  time: constantFrom(...TIMES),
  instances: array(instance, { maxLength: 3 }),
  runs: array(aRun, { maxLength: 4 }),
  /** How old the facts are, ms; `undefined`: there are none. */
  age: constantFrom<(number | undefined)[]>(0, 0, 0, 20_000, 3_600_000, undefined),
  seen: option(constantFrom(YESTERDAY, T), { nil: undefined, freq: 4 }),
  start: option(
    record({
      tick: constantFrom(YESTERDAY, T),
      outcome: constantFrom('completed', 'hollow', 'failed', undefined),
    }),
    {
      nil: undefined,
      freq: 3,
    },
  ),
  lacks: subarray(['lock', 'ticks', 'runs'] as const, { maxLength: 1 }),
}).map(({ known: job, time, instances, runs, age, seen, start, lacks }) => {
  const own = lacks.includes('lock') ? withoutLock(job) : job;
  const { asOf: _asOf, ...rest } = facts({
    known: own,
    time,
    knownBy: [by('probe', { startedAt: at('12:00', 20) }, own), ...instances.map((make) => make(own))],
    runs: runs
      .flatMap((make) => make(own, time))
      .toSorted((one, other) => other.fencingToken - one.fencingToken)
      .filter(({ outcome }, i) => outcome !== 'running' || i === 0),
    ...(seen !== undefined && seen <= time && { seen: { tick: seen } }),
    ...(lacks.includes('ticks') ? { ticks: () => undefined } : { ticks }),
    ...(lacks.includes('runs') && { refusal: 'It has no column data.' }),
    ...(start !== undefined &&
      start.tick <= time &&
      own.kind === 'cron' && { lock: lockWith(own.job, start.tick, start.outcome, time) }),
  });
  return age === undefined ? rest : { ...rest, asOf: time - age };
});

function withoutLock({ lock: _lock, ...job }: JobFacts['known']): JobFacts['known'] {
  return job;
}

const lockWith = (
  job: string,
  tick: number,
  outcome: string | undefined,
  time: number,
): NonNullable<JobFacts['lock']> => ({
  name: 'invoices',
  time,
  state: 'free',
  jobs: [
    {
      job,
      tick,
      attempt: 1,
      ...(outcome !== undefined && { outcome: outcome as 'completed' }),
    },
  ],
});
