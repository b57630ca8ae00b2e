import { types } from 'node:util';
import { withRootScope } from '../lease/current-lock.js';
import { UnderWay } from '../lease/under-way.js';
import type { LeaderLease } from './leader-lease.js';

/**
 * Lets scheduled jobs through while this instance leads, judged by the clock at that moment. So it also stops a timer that
 * fires before the loss was noticed because the event loop was busy. Jobs see the leader's lease by `currentLock()`.
 */
export class JobGate {
  #lease: LeaderLease | undefined;
  readonly #running = new UnderWay();

  /**
   * @param refused called for each job that was not let through, with its name in the scheduler. If this library fires a
   *   tick again, called with the job's own name and the tick
   */
  constructor(private readonly refused: (job: string, tick: number | undefined) => void) {}

  /** Lets jobs through as long as this lease lives. */
  open(lease: LeaderLease): void {
    this.#lease = lease;
  }

  /** Fires a job, or does nothing. */
  pass(job: string, fire: () => unknown, tick?: number): unknown {
    const lease = this.#lease;
    if (lease?.live !== true) {
      this.refused(job, tick);
      return undefined;
    }
    const follow = lease.follow.bind(lease);
    const result = withRootScope({ owner: this, lock: lease, follow }, fire);
    this.#running.begin();
    const ended = (): void => this.#running.end();
    // The code that fired the job handles its rejection.
    Promise.resolve(result).then(ended, ended);
    return result;
  }

  /**
   * Lets `idle()` wait for the work of a job as well: the work may outlast the call that fired the job.
   *
   * @returns the promise to use in its place, so that its user handles a failure
   */
  track(work: unknown): unknown {
    if (!types.isPromise(work)) return work;
    this.#running.begin();
    return work.finally(() => this.#running.end());
  }

  /** Resolves when none of the jobs that were let through runs any more. */
  idle(): Promise<void> {
    return this.#running.idle();
  }
}
