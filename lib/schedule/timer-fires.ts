import type { CronJobLike } from './scheduler-parts.js';

/**
 * Tells whether the timer of a cron job fired it, or a direct call of `fireOnTick()`.
 *
 * `cron` sets a new `lastDate()` right before its timer fires the job, and at no other time. Versions 3 and 4 do so, and tests
 * pin it. Each `fireOnTick()` compares it, also one that does not run the job (`waitForCompletion`).
 *
 * Between the two, the timer starts the job again. Version 4 fires inside that `start()` as well, with a newer `lastDate()`, if the
 * process is so busy that the next date has passed by then. The timer's own call comes after that, with the same `lastDate()`.
 */
export class TimerFires {
  #byTimer = true;

  /** Whether the timer fired the current call. True before the job is watched: only the timer can have fired it then. */
  get byTimer(): boolean {
    return this.#byTimer;
  }

  /** Call this when the registry has the job: it wraps `start()` and `fireOnTick()` of `cron`. */
  watch(job: Pick<CronJobLike, 'lastDate' | 'start' | 'fireOnTick'>): void {
    const { start, fireOnTick: fire } = job;
    let last = job.lastDate();
    // `due`: the timer has fired, and its own call is still to come. `starting`: that call cannot come before `start()` returns.
    let [due, starting] = [false, false];
    job.start = () => {
      due ||= job.lastDate() !== last;
      starting = true;
      try {
        Reflect.apply(start, job, []);
      } finally {
        starting = false;
      }
    };
    job.fireOnTick = (...args) => {
      const now = job.lastDate();
      this.#byTimer = now !== last || (due && !starting);
      if (!starting) due = false;
      last = now;
      return Reflect.apply(fire, job, args);
    };
  }
}
