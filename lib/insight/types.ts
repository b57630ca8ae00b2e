import type {
  ControlAct,
  InstanceRecord,
  KnownJob,
  MissReason,
  Report,
  Trigger,
} from '../contract/history-store.js';
import type { ReleaseOutcome } from '../contract/lock-store.js';

/** One run of a job under its lock. Times are the store's, epoch milliseconds. */
export interface RunInfo {
  readonly lock: string;
  /** Absent for a lock that was taken without a job. */
  readonly job?: string;
  readonly fencingToken: number;
  /** Instance id of its holder. */
  readonly instance: string;
  /** Scheduled fire time that it belongs to. Absent for a run by hand, and for an interval. */
  readonly tick?: number;
  /** Which run of the tick it is, from 1. */
  readonly attempt?: number;
  readonly startedAt: number;
  /** When the store recorded its end. Absent while it goes on, and if it was interrupted: then nobody knows. */
  readonly endedAt?: number;
  /** How long it ran by its holder's clock, milliseconds. */
  readonly duration?: number;
  /** How it ended. `interrupted`: its lease ended by itself, as its instance died, froze or lost the store. */
  readonly outcome: ReleaseOutcome | 'running' | 'interrupted';
  /** The run should be over, and goes on: past its `timeout`, or though its lease is over. Its instance starts no other run of the job. */
  readonly hung?: true;
  /** What it threw, as far as the option `insight.error` lets it be kept. */
  readonly error?: string;
  readonly traceId?: string;
  /** What it has reported, if anything. */
  readonly report?: Report;
  /** For `hollow`: what was missing in its report, a part of a sentence. */
  readonly shortfall?: string;
  /** What started it. Absent while it goes on, and if it was interrupted, unless it is a rerun or a person started it: no record says so then. */
  readonly trigger?: Trigger;
  /** What a person did to it: started it (`run`), or ended its lease (`break`). */
  readonly by?: ControlAct;
}

/** An entry of the history of a lock: which person did what, when, and why. Times are the store's, epoch milliseconds. */
export interface ControlInfo extends ControlAct {
  readonly lock: string;
  readonly at: number;
  /** The job of the lease in question, if it had one. */
  readonly job?: string;
  /** Fencing token of the lease that the act began or ended. Absent if there was none. */
  readonly fencingToken?: number;
}

/** A pause that is in force, or was. Times are the store's, epoch milliseconds. */
export interface PauseInfo {
  readonly lock: string;
  readonly actor: string;
  readonly reason?: string;
  readonly since: number;
  /** When it ends, or has ended. */
  readonly until: number;
  /** Who has ended it before its time. */
  readonly resumedBy?: string;
}

/** The parts of a store that could not be read, and are missing from the answers. */
export interface Unreadable {
  /** Instances, and lists of their jobs: those jobs are missing from the answers. */
  readonly instances: number;
  /** Runs and missed ticks. */
  readonly runs: number;
  /** Why the store showed nothing at all of a part (its table is missing, locked, or not readable for this user): each reason once. */
  readonly parts: readonly string[];
}

/** `gone`: it shows no sign of life any more; `left`: it was shut down. */
export type InstanceState = 'up' | 'gone' | 'left';

/** An instance of the fleet. Times are the store's, epoch milliseconds, but for `startedAt`. */
export interface InstanceInfo extends Omit<InstanceRecord, 'left' | 'every' | 'withTicks' | 'time'> {
  readonly state: InstanceState;
}

/**
 * The state of a job, the first that applies:
 *
 * - `hung`: a run goes on past its `timeout`, or though its lease is over
 * - `overrun`: a run goes on past the next tick. It needs attention once that tick would be overdue
 * - `running`
 * - `off`: disabled on all instances, or its cron job is stopped there, but for those that were shut down, and, if it is stopped on
 *   one that is up, older ones that died
 * - `paused`: a person has paused its lock
 * - `unknown`: too little is known: see the answer to `why`
 * - `overdue`: no instance started its newest tick in time
 * - `interrupted`: its last run was interrupted, or was aborted (its instance shut down, or lost the lock)
 * - `failing`: its last run failed or passed its timeout, and is not tried again
 * - `hollow`: its last run completed, and did not report what was expected of it
 * - `disagree`: instances that are up have other schedules or time zones for it, or the clocks of all instances are behind
 * - `new`: it never ran, and no tick has come yet
 * - `ok`
 */
export type JobStatus =
  | 'hung'
  | 'overrun'
  | 'running'
  | 'off'
  | 'paused'
  | 'unknown'
  | 'overdue'
  | 'interrupted'
  | 'failing'
  | 'hollow'
  | 'disagree'
  | 'new'
  | 'ok';

/**
 * Why the state of a job is unknown:
 *
 * - `not-asked`: this instance has had no answer of the store yet
 * - `old-facts`: a tick should have been started by now, and the store has not answered since
 * - `refused`: the store refuses to show its lock or its runs, as their table is not as it should be, or locked. This needs attention
 * - `no-lock`: the name of its lock is made from arguments, so its runs are not kept
 * - `no-dates`: none of the dates at which it should run is known
 * - `nobody-up`: no instance that may run it is up, and it is never `overdue`, so nobody notices whether it runs
 */
export type UnknownReason = 'not-asked' | 'old-facts' | 'refused' | 'no-lock' | 'no-dates' | 'nobody-up';

/** A job of the fleet. */
export interface JobView extends Pick<
  KnownJob,
  'job' | 'lock' | 'kind' | 'schedule' | 'timeZone' | 'interval'
> {
  readonly status: JobStatus;
  /** Whether a person should look at it. */
  readonly attention: boolean;
  /** Its newest run, if one is known. */
  readonly last?: RunInfo;
  /** Its next fire time, epoch milliseconds: after its pause, if it is paused. Absent if no instance is up, and for a job that is started by hand. */
  readonly next?: number;
  /** For `overdue`: the tick that nobody has started. */
  readonly overdue?: number;
  /** The pause of its lock that is in force, also while a run goes on. */
  readonly paused?: PauseInfo;
  /** How many of its runs in a row have failed, up to now. An interrupted run neither counts nor ends the row. */
  readonly failures: number;
  /** Since when it is `overdue`, `failing`, `interrupted`, `hung`, `overrun`, `paused` or `running`: its first tick, run or moment. */
  readonly since?: number;
  /** No older run was read: it may be failing for longer, and more often. */
  readonly sinceAtLeast?: true;
  /** The instances that are up and know it. */
  readonly instances: readonly string[];
  /** For a job that needs attention, or is `unknown` or `paused`: the answer to `why(job)`. */
  readonly why?: Why;
}

/** A job as some instances know it. */
export interface ScheduleView extends Pick<KnownJob, 'schedule' | 'timeZone' | 'interval'> {
  readonly instances: readonly string[];
}

/** Why a job ran, or did not run, at a time: the cause with its evidence, and a sentence. */
export type Why = {
  readonly job: string;
  /** The tick in question. Absent if there is none. */
  readonly tick?: number;
  /** The answer as a person reads it: one sentence or two. */
  readonly sentence: string;
} & WhyCause;

/** What a {@link Why} rests on. */
export type WhyCause =
  | { readonly cause: 'ran'; readonly run: RunInfo }
  | { readonly cause: 'running'; readonly run: RunInfo }
  /** Runs that should be over go on: each holds up the job on its instance. */
  | { readonly cause: 'hung'; readonly run: RunInfo; readonly instances: readonly string[] }
  /** Its end is not known, or it was aborted. */
  | { readonly cause: 'interrupted'; readonly run: RunInfo }
  /** An earlier run of the job was still going on. */
  | { readonly cause: 'overrun'; readonly run: RunInfo }
  /** The lock was taken by something else: another job, `atLeast`, another client of the store. */
  | { readonly cause: 'lock-taken'; readonly run?: RunInfo; readonly holder?: string }
  | {
      readonly cause: 'store-away';
      /** When an instance first found the store away: the outage may have begun before. */
      readonly from: number;
      /** When the last of these instances got an answer again, if all have noted that. */
      readonly to?: number;
      /** The instances that could not ask the store. */
      readonly instances: readonly string[];
    }
  /** These instances have run it without its lock, as the store did not answer: `onStoreError: 'run'`. */
  | { readonly cause: 'unlocked'; readonly instances: readonly string[] }
  /** What kept each instance from the tick. */
  | { readonly cause: 'missed'; readonly reasons: readonly (MissReason & { readonly instance: string })[] }
  /** The clocks of all instances on which it runs are behind the store's, by at least `behind` milliseconds: its ticks come late. */
  | { readonly cause: 'clocks-behind'; readonly behind: number; readonly instances: readonly string[] }
  /** No instance on which the job is switched on was up: since the `last` one was seen (`from`), until another one started (`to`). */
  | { readonly cause: 'no-instance'; readonly from?: number; readonly to?: number; readonly last?: string }
  /** A person had paused its lock. */
  | { readonly cause: 'paused'; readonly pause: PauseInfo }
  | { readonly cause: 'off'; readonly instances: readonly string[] }
  | { readonly cause: 'schedules-differ'; readonly schedules: readonly ScheduleView[] }
  | {
      readonly cause: 'not-a-tick';
      readonly before?: number;
      readonly after?: number;
      readonly schedules: readonly ScheduleView[];
    }
  /** It is not overdue yet. */
  | { readonly cause: 'pending'; readonly due: number }
  /** No instance knows it. `jobs`: those with similar names, or some of the known jobs. */
  | { readonly cause: 'unknown-job'; readonly jobs: readonly string[] }
  /** Older than the runs that are kept: these begin at `since`. */
  | { readonly cause: 'too-old'; readonly since?: number }
  /** No start of it is known, and no instance has noted why; or it was started, but no record of its run is kept. */
  | { readonly cause: 'unknown'; readonly reason?: UnknownReason };
