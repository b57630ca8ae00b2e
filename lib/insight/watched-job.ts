import type { Emit } from '../contract/events/events.js';
import type { Retention } from '../contract/history-store.js';
import type { TickDates } from './facts.js';
import type { ShownJob } from './beats.js';
import type { RunInfo } from './types.js';

/** How long a run may go on before it hangs when it should be over, ms: it may be about to end. */
export const HUNG = 60_000;

/** A job that is watched, also where it is disabled: some instance has to notice that none runs it. */
export interface WatchedJob {
  readonly job: string;
  /** Name of its lock. Empty if it is made from the arguments of each call: then only runs that hang here are known. */
  readonly lock: string;
  /** Whether a tick that was skipped may still run. */
  readonly comesLate: boolean;
  /** How long after its tick it counts as overdue, ms; `false`: never. */
  readonly grace: number | false;
  /** Milliseconds between two runs of an interval. */
  readonly interval: number | undefined;
  /** The job, as this instance shows it to the fleet. */
  readonly shown: () => ShownJob;
  readonly dates: TickDates;
  /** Whether it was not deleted. */
  readonly isThere: () => boolean;
  /** How long after its start the scheduler begins to fire it, ms. */
  readonly initialDelay: number;
}

/** Why a call did not start a tick. */
export interface Refused {
  readonly reason: string;
  readonly holder?: string;
  /** The newest tick of the job that was started. */
  readonly tick?: number;
  /** Milliseconds until an interval may start again. */
  readonly expiresIn?: number;
}

/** Who watches. */
export interface Watcher {
  readonly instance: string;
  readonly kept: Retention;
  readonly emit: Emit;
  /** Whether it asks the store only when ticks of its jobs come. */
  readonly withTicks?: boolean;
  /** Why this instance fires no job, if it fires none. */
  readonly idleReason: () => string | undefined;
  /** By how much the store's clock is ahead of this machine's, ms; `undefined`: not known yet. */
  readonly clockOffset: () => number | undefined;
  /** The runs of jobs that go on here. */
  readonly runs: () => readonly RunInfo[];
  /** How the last run of a job here went wrong, if it did. */
  readonly wentWrong: (job: string) => 'failed' | 'hollow' | undefined;
}
