import { array, boolean, constantFrom, nat, oneof, record } from 'fast-check';
import type { ReleaseOutcome } from '../../../lib/index.js';
import type { KnownJob } from '../../../lib/contract/history-store.js';

const WHAT = [
  [10, 'begin'],
  [8, 'end'],
  [4, 'end late'],
  [4, 'die'],
  [3, 'interrupted'],
  [9, 'miss'],
  [3, 'told'],
  [4, 'look'],
  [3, 'beat'],
  [2, 'instances'],
  [2, 'age'],
] as const;

export const JOBS = ['nightly', 'hourly'] as const;
export const TTL = 600_000;

/** What happens. What a step does not need of the rest it ignores. */
export interface HistoryStep {
  readonly what: (typeof WHAT)[number][1];
  /** Which instance is asked, or tells. */
  readonly store: number;
  readonly job: (typeof JOBS)[number];
  /** Which lease, counted back from the newest; how many entries at most; which list of jobs. */
  readonly pick: number;
  /** The tick, counted from the last one of the job. `undefined`: a run by hand. */
  readonly tick: number | undefined;
  readonly outcome: ReleaseOutcome;
  /** Whether the run is to be remembered; whether an instance tells its list of jobs. */
  readonly recorded: boolean;
  /** Whether the lock stays taken after its release; whether a miss is told late; whether an instance leaves. */
  readonly flag: boolean;
  /** Whether the tick of a run that failed may be tried again. */
  readonly again: boolean;
  /** By how much all gets older, ms. */
  readonly ms: number;
}

const HOURS = 3_600_000;

export const historySteps = array(
  record<HistoryStep>({
    what: oneof(...WHAT.map(([weight, what]) => ({ weight, arbitrary: constantFrom(what) }))),
    store: nat(2),
    job: constantFrom(...JOBS),
    pick: nat(3),
    tick: constantFrom(1, undefined, 2, 0, -1),
    // Most complete: so there are some too many now and then.
    outcome: oneof(
      { weight: 6, arbitrary: constantFrom<ReleaseOutcome[]>('completed') },
      { weight: 4, arbitrary: constantFrom<ReleaseOutcome[]>('failed', 'timed-out', 'aborted', 'abandoned') },
    ),
    recorded: oneof(
      { weight: 5, arbitrary: constantFrom(true) },
      { weight: 1, arbitrary: constantFrom(false) },
    ),
    flag: boolean(),
    again: boolean(),
    // Three short ones are more than anything is kept for, two are less; a long one is more than an instance is remembered for.
    ms: constantFrom(9 * HOURS, 9 * HOURS, 8 * 24 * HOURS),
  }),
  { maxLength: 40, size: 'max' },
);

/** The jobs of a list. */
export const jobsOf = (list: number): KnownJob[] =>
  JOBS.slice(0, 1 + (list % 2)).map((job) => ({
    job,
    lock: `lock ${list}`,
    kind: 'cron',
    schedule: '0 3 * * *',
    enabled: list > 0,
    overdue: 6e4,
  }));
