import type { JobStart } from '../../../../../lib/base/job-start.js';
import {
  MissedTicks,
  type TickedJob,
  type TickResult,
} from '../../../../../lib/schedule/ticks/missed-ticks.js';
import type { JobState } from '../../../../../lib/schedule/cron-job-state.js';
import { ManualClock } from '../../../../../lib/testing/manual-clock.js';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** Of the lock of the job, ms. */
export const JOB_TTL = 10_000;
/** The longest by which those that wait for one lease are spread, ms. */
export const SPREAD = 50;

export const unavailable: TickResult = { ran: false, reason: 'store-unavailable' };

/** What one instance fires again, on a manual clock: the test speaks for the scheduler, the store and the election. */
export class Harness {
  readonly clock = new ManualClock();
  readonly missedTicks = new MissedTicks(this.clock, (error) => {
    throw error;
  });
  /** The newest tick of every job. */
  tick: number;
  /** What the jobs were fired for, in order; a test may empty it. */
  fired: JobStart[] = [];
  /** What has become of every job. */
  state: JobState = 'started';

  /** @param age how long ago the newest tick was, ms */
  constructor(age = 0) {
    this.tick = this.clock.now() - age;
  }

  job(settings: Partial<TickedJob['settings']> = {}, initialDelay = 0): TickedJob {
    return {
      schedule: {
        startAt: () => ({ tick: this.tick, schedule: 'nightly' }),
        next: () => Infinity,
        isCron: true,
        initialDelay,
      },
      settings: {
        ttl: JOB_TTL,
        oncePerTick: true,
        rerun: 0,
        catchUp: false,
        ...settings,
      },
      fire: (start) => void this.fired.push(start),
      state: () => this.state,
    };
  }

  /** By what is known of its job the store may refuse each of these, in order. */
  get asked(): JobStart['only'][] {
    return this.fired.map(({ only }) => only);
  }

  /** Elects this instance. */
  async elect(of: TickedJob, maxAge = HOUR): Promise<void> {
    this.missedTicks.lead([of], maxAge);
    await this.clock.advance(0);
  }

  /** Lets the store answer so to what was fired last. */
  answer(of: TickedJob, result: TickResult): void {
    this.missedTicks.ended(of, this.fired.at(-1) ?? {}, result);
  }

  /** Fires the newest tick as the scheduler does, and lets the store answer so. */
  come(of: TickedJob, result: TickResult): void {
    this.missedTicks.ended(of, this.missedTicks.begin(of, undefined) ?? {}, result);
  }
}
