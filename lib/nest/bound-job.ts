import type { JobStart } from '../base/job-start.js';
import type { JobSettings } from './options/check.js';
import type { QueueSettings } from './options/parts.js';
import type { JobState } from '../schedule/cron-job-state.js';
import type { JobSchedule } from '../schedule/job-schedule.js';

/** One guarded method of one instance, as the explorer has resolved it. */
export interface BoundJob {
  readonly job: string;
  readonly name: string | ((...args: never[]) => unknown);
  readonly settings: JobSettings;
  /** How its calls are queued that find their lock taken; `undefined`: they are not. */
  readonly queue?: QueueSettings | undefined;
  /** The schedule of the job, if the scheduler fires it. */
  readonly schedule: JobSchedule | undefined;
  /** Fires the method as the scheduler does, for a given start. */
  readonly fire: (start: JobStart) => unknown;
  /** Runs the method itself, without its lock. */
  readonly call: (args: readonly unknown[]) => unknown;
  /** The state of its cron job on this instance. */
  readonly state: () => JobState;
}
