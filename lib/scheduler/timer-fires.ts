import type { CronJobLike } from './scheduler-parts.js';

/**
 * Tells whether the timer of a cron job fired it, or a direct call of `fireOnTick()`.
 *
 * `cron` sets a new `lastDate()` right before its timer fires the job, and at no other time. Versions 3 and 4 do so, and tests
 * pin it. Each `fireOnTick()` compares it, also one that does not run the job (`waitForCompletion`).
 */
export class TimerFires {
  #byTimer = true;

  /** Whether the timer fired the current call. True before the job is watched: only the timer can have fired it then. */
  get byTimer(): boolean {
    return this.#byTimer;
  }

  /** Call this when the registry has the job: it wraps the `fireOnTick()` of `cron`. */
  watch(job: Pick<CronJobLike, 'lastDate' | 'fireOnTick'>): void {
    let last = job.lastDate();
    const fire = job.fireOnTick;
    job.fireOnTick = (...args) => {
      const now = job.lastDate();
      this.#byTimer = now !== last;
      last = now;
      return Reflect.apply(fire, job, args);
    };
  }
}
