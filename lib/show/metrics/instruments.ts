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
/** As the semantic conventions of OpenTelemetry name it. */
export const ERROR_TYPE = 'error.type';

/** From a job that only looks whether there is work, to a job of an hour, seconds. */
const BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1_800, 3_600];

/** All that is measured. Names and units follow OpenTelemetry: seconds, no `total`; there is no convention for jobs or locks yet. */
export const INSTRUMENTS = {
  duration: {
    name: 'scheduler_lock.run.duration',
    type: 'histogram',
    unit: 's',
    attributes: [JOB, OUTCOME, ERROR_TYPE],
    buckets: BUCKETS,
    description: 'How long runs took, by how they ended',
  },
  delay: {
    name: 'scheduler_lock.run.delay',
    type: 'histogram',
    unit: 's',
    attributes: [JOB],
    buckets: BUCKETS,
    description: 'How long after its tick a run began',
  },
  active: {
    name: 'scheduler_lock.run.active',
    type: 'updown',
    unit: '{run}',
    attributes: [JOB],
    description: 'Runs that go on here',
  },
  skips: {
    name: 'scheduler_lock.skips',
    type: 'counter',
    unit: '{skip}',
    attributes: [JOB, SKIP_REASON],
    description: 'Calls that did not run their job here; mostly because another instance did',
  },
  losses: {
    name: 'scheduler_lock.lease.losses',
    type: 'counter',
    unit: '{lease}',
    attributes: [JOB, LOSS_REASON],
    description: 'Leases that ended under a running job',
  },
  renewalFailures: {
    name: 'scheduler_lock.renewal.failures',
    type: 'counter',
    unit: '{renewal}',
    attributes: [JOB],
    description: 'Renewals of leases that failed, and were tried again',
  },
  interruptions: {
    name: 'scheduler_lock.run.interruptions',
    type: 'counter',
    unit: '{run}',
    attributes: [JOB],
    description: 'Runs whose instance died, froze or lost the store, as the next holder has found',
  },
  unlocked: {
    name: 'scheduler_lock.run.unlocked',
    type: 'counter',
    unit: '{run}',
    attributes: [JOB],
    description: 'Runs without their lock, by onStoreError: run',
  },
  overdue: {
    name: 'scheduler_lock.job.overdue',
    type: 'gauge',
    unit: 's',
    attributes: [JOB],
    description:
      'Time since the tick that no instance has started; 0: the job is on time. Absent while that is not known',
  },
  overtime: {
    name: 'scheduler_lock.run.overtime',
    type: 'gauge',
    unit: 's',
    attributes: [JOB],
    description:
      'Age of a run here that hangs or runs into the next tick, and needs attention; 0: there is none',
  },
  age: {
    name: 'scheduler_lock.run.age',
    type: 'gauge',
    unit: 's',
    attributes: [JOB],
    description: 'Age of the oldest run of a job that goes on here. Absent: there is none',
  },
  disagree: {
    name: 'scheduler_lock.job.disagree',
    type: 'gauge',
    unit: '{job}',
    attributes: [JOB],
    description:
      'Whether the instances do not agree when the job runs, or the clocks of all are behind: 1 or 0. Absent while that is not known',
  },
  interrupted: {
    name: 'scheduler_lock.job.interrupted',
    type: 'gauge',
    unit: '{job}',
    attributes: [JOB],
    description:
      'Whether the last run of the job was killed, and none has begun since: 1 or 0. Absent while that is not known, and while the job is overdue, paused or off',
  },
  clockOffset: {
    name: 'scheduler_lock.clock.offset',
    type: 'gauge',
    unit: 's',
    attributes: [],
    description:
      'How much the clock here is behind that of the store; below 0: it is ahead. Absent while that is not known',
  },
  available: {
    name: 'scheduler_lock.store.available',
    type: 'gauge',
    unit: '{store}',
    attributes: [],
    description: 'Whether the store answers: 1 or 0',
  },
  leader: {
    name: 'scheduler_lock.leader',
    type: 'gauge',
    unit: '{leader}',
    attributes: [ELECTION],
    description: 'Whether this instance leads: 1 or 0',
  },
} as const satisfies Record<string, Instrument>;
