import type { JobFacts, TickFinder } from './facts.js';
import type { Told } from './fleet-jobs.js';
import type { LockFacts } from './join.js';
import type { JobView, Unreadable } from './types.js';

/** What one look at a store shows. */
export interface Look {
  /** The store's time. 0: it remembers no instance. */
  readonly time: number;
  /** The instances, without the dates of their jobs. */
  readonly told: readonly Told[];
  readonly jobs: JobView[];
  /** The locks of these jobs, each with what was kept of its runs. */
  readonly locks: ReadonlyMap<string, LockFacts>;
  readonly unreadable: Unreadable;
  /** What is known of each job that needs attention, or is `unknown`. */
  readonly facts: ReadonlyMap<string, JobFacts>;
  /** Finds the dates of schedules, if `cron` is at hand. */
  readonly ticks: TickFinder | undefined;
}
