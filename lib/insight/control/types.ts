import type { Duration } from '../../base/duration.js';
import type { PauseInfo } from '../types.js';

export type { ControlAct, ControlAction } from '../../contract/history-store.js';
export type { ControlInfo, PauseInfo } from '../types.js';

/** Who acts, and why. */
export interface By {
  /** Who: 1 to 200 characters. */
  readonly actor: string;
  /** Why: up to 200 characters. */
  readonly reason?: string;
}

/** What a switch is for: a lock, or the lock of a job. */
export type Target =
  { readonly lock: string; readonly job?: undefined } | { readonly job: string; readonly lock?: undefined };

/** Which lock to pause, and for how long. */
export type PauseRequest = Target &
  Required<By> & {
    /** At most 30 days. @default '7d' */
    readonly for?: Duration;
    /** How long to wait for the end of a run that goes on, an hour at most: the pause is in force by then. @default not at all */
    readonly wait?: Duration;
    /** Called with the holder when that wait begins. */
    readonly onWaiting?: (holder: string | undefined) => void;
  };

/** Which lock to resume. */
export type ResumeRequest = Target & By;

/** Which lease to end: the one that the person has seen, and no other. */
export type BreakRequest = Required<By> & { readonly lock: string; readonly fencingToken: number };

/** Which job to run. */
export interface RunRequest extends By {
  readonly job: string;
  /** Queued calls of one job with the same key become one: it has the arguments of the newest, and is on record as that of who asked first. */
  readonly key?: string;
  /** The arguments of the call. @default none */
  readonly args?: readonly unknown[];
  /** Runs once through a pause, which stays in force. The call becomes one with no other then. @default false */
  readonly throughPause?: boolean;
  /** How long to wait for the end of the run, to say how it ended. @default not at all */
  readonly wait?: Duration;
}

/** Which dead letters of a lock to put back. */
export interface RedeliverRequest extends By {
  readonly lock: string;
  /** The id of one dead letter. @default all */
  readonly id?: string;
}

/** Which job to forget. */
export type ForgetRequest = Required<By> & { readonly job: string };

/** A pause, and the store's time at this answer, epoch milliseconds. */
interface Paused {
  readonly pause: PauseInfo;
  readonly time: number;
}

/** With the jobs that it stops. */
interface Stopped extends Paused {
  readonly jobs: readonly string[];
}

/** What became of a pause. */
export type PauseResult =
  | {
      readonly result: 'paused';
      readonly pause: PauseInfo;
      readonly jobs: readonly string[];
      /** The run that goes on. Absent: none does. */
      readonly running?: { readonly holder?: string; readonly fencingToken?: number };
    }
  /** Somebody has paused it before: nothing was changed. Resume it first. */
  | ({ readonly result: 'paused-already' } & Stopped)
  | NobodyHas;

/** What became of a resume. */
export type ResumeResult =
  | ({ readonly result: 'resumed' } & Stopped)
  | { readonly result: 'not-paused'; readonly lock: string }
  | NobodyHas;

/** What became of a break. */
export type BreakResult =
  /** The lease is over. Its job may still run: its signal aborts at its next heartbeat. */
  | {
      readonly result: 'broken';
      readonly lock: string;
      readonly fencingToken: number;
      readonly holder: string;
      readonly job?: string;
    }
  /** That lease is over; another one may have the lock: nothing was changed. */
  | {
      readonly result: 'gone';
      readonly lock: string;
      /** Whether somebody has the lock now, perhaps another program. Absent: nobody. */ readonly held?: true;
      /** Fencing token of the lease that has the lock now, if it is one of this library. */
      readonly fencingToken?: number;
      readonly holder?: string;
    };

/** What became of a run that a person has asked for. */
export type RunNowResult =
  /** With `wait`: also how it ended. */
  | {
      readonly result: 'started';
      readonly lock: string;
      readonly fencingToken: number;
      readonly instance: string;
      readonly outcome?: 'completed' | 'hollow' | 'failed' | 'timed-out' | 'aborted' | 'interrupted';
      readonly error?: string;
    }
  | { readonly result: 'held'; readonly lock: string; readonly holder?: string }
  /** The call is queued, and runs when its lock is free and an instance has taken the call. */
  | {
      readonly result: 'queued';
      readonly lock: string;
      readonly id?: string;
      /** Who has the lock now. */ readonly holder?: string;
    }
  | ({ readonly result: 'paused' } & Paused)
  /** Anything else that kept it from running: the reason of the skip, such as `store-unavailable` or `queue-full`. */
  | { readonly result: 'skipped'; readonly reason: string }
  | NobodyHas;

/** No instance that is up knows the job, or takes its calls from elsewhere. */
export interface NobodyHas {
  readonly result: 'nobody-has-it';
  readonly job: string;
  /** A job with a similar name, or some of the known jobs. */
  readonly jobs: readonly string[];
  /** Why not, as a sentence, if an instance does know the job. */
  readonly why?: string;
}

/** What became of dead letters. */
export interface RedeliverResult {
  readonly result: 'redelivered';
  readonly lock: string;
  readonly count: number;
}

/** What became of a job to forget. */
export type ForgetResult =
  | { readonly result: 'forgotten'; readonly job: string; readonly lock: string }
  /** Instances that are up guard it: nothing was changed. */
  | { readonly result: 'guarded'; readonly job: string; readonly instances: readonly string[] }
  | NobodyHas;
