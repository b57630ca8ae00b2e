/** What is measured of one thing: the same for OpenTelemetry and for Prometheus. */
export interface Instrument {
  readonly name: string;
  readonly type: 'histogram' | 'updown' | 'counter' | 'gauge';
  /** In UCUM: `s`, or what is counted, in braces. */
  readonly unit: string;
  /** The attributes that its measurements may have. */
  readonly attributes: readonly string[];
  /** Upper bounds of a histogram, in its unit. */
  readonly buckets?: readonly number[];
  readonly description: string;
}

/** A name of {@link INSTRUMENTS}. */
export type InstrumentKey = keyof typeof INSTRUMENTS;

export const JOB = 'scheduler_lock.job.name';
export const OUTCOME = 'scheduler_lock.run.outcome';
export const SKIP_REASON = 'scheduler_lock.skip.reason';
export const LOSS_REASON = 'scheduler_lock.loss.reason';
export const ELECTION = 'scheduler_lock.election.name';
export const REPORT = 'scheduler_lock.report.name';
/** As the semantic conventions of OpenTelemetry name it. */
export const ERROR_TYPE = 'error.type';

/** From a job that only looks whether there is work, to a job of an hour, seconds. */
const BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1_800, 3_600];

const of =
  (type: Instrument['type'], more: Pick<Instrument, 'buckets'> = {}) =>
  (name: string, unit: string, description: string, attributes = [JOB]): Instrument => {
    return { name: `scheduler_lock.${name}`, type, unit, description, attributes, ...more };
  };
const histogram = of('histogram', { buckets: BUCKETS });
const [updown, counter, gauge] = [of('updown'), of('counter'), of('gauge')];

/** All that is measured. Names and units follow OpenTelemetry: seconds, no `total`; there is no convention for jobs or locks yet. */
export const INSTRUMENTS = {
  duration: histogram('run.duration', 's', 'How long runs took, by how they ended', [
    JOB,
    OUTCOME,
    ERROR_TYPE,
  ]),
  delay: histogram('run.delay', 's', 'How long after its tick a run began'),
  active: updown('run.active', '{run}', 'Runs that go on here'),
  skips: counter(
    'skips',
    '{skip}',
    'Calls that did not run their job here; mostly because another instance did',
    [JOB, SKIP_REASON],
  ),
  losses: counter('lease.losses', '{lease}', 'Leases that ended under a running job', [JOB, LOSS_REASON]),
  renewalFailures: counter(
    'renewal.failures',
    '{renewal}',
    'Renewals of leases that failed, and were tried again',
  ),
  interruptions: counter(
    'run.interruptions',
    '{run}',
    'Runs whose instance died, froze or lost the store, as the next holder has found',
  ),
  unlocked: counter('run.unlocked', '{run}', 'Runs without their lock, by onStoreError: run'),
  overdue: gauge(
    'job.overdue',
    's',
    'Time since the tick that no instance has started; 0: the job is on time. Absent while that is not known',
  ),
  overtime: gauge(
    'run.overtime',
    's',
    'Age of a run here that hangs or runs into the next tick, and needs attention; 0: there is none',
  ),
  age: gauge('run.age', 's', 'Age of the oldest run of a job that goes on here. Absent: there is none'),
  disagree: gauge(
    'job.disagree',
    '{job}',
    'Whether the instances do not agree when the job runs, or the clocks of all are behind: 1 or 0. Absent while that is not known',
  ),
  interrupted: gauge(
    'job.interrupted',
    '{job}',
    'Whether the last run of the job was killed or aborted, and none has begun since: 1 or 0. Absent while that is not known, and while the job is overdue, paused or off',
  ),
  hollow: gauge(
    'job.hollow',
    '{job}',
    'Whether the last run of the job completed and did not report what was expected of it: 1 or 0. Absent where job.interrupted is',
  ),
  reported: gauge(
    'run.reported',
    '{value}',
    'What the newest run of the job has reported here, by name. Absent: no number, or another instance has run the job since',
    [JOB, REPORT],
  ),
  clockOffset: gauge(
    'clock.offset',
    's',
    'How much the clock here is behind that of the store; below 0: it is ahead. Absent while that is not known',
    [],
  ),
  available: gauge('store.available', '{store}', 'Whether the store answers: 1 or 0', []),
  leader: gauge('leader', '{leader}', 'Whether this instance leads: 1 or 0', [ELECTION]),
};
