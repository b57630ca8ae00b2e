import { withRootScope } from '../current-lock.js';
import { UnderWay } from '../under-way.js';
import type { LeaderLease } from './leader-lease.js';

/**
 * Lets scheduled jobs through while this instance leads, judged by the clock at that moment. So it also stops a timer that
 * fires before the loss was noticed because the event loop was busy. Jobs see the leader's lease by `currentLock()`.
 */
export class JobGate {
  #lease: LeaderLease | undefined;
  readonly #running = new UnderWay();

  /**
   * @param refused called for each fire that was not let through, with the job's name in the scheduler; for a tick that this
   *   library fires again, with the job's own name and the tick
   */
  constructor(private readonly refused: (job: string, tick: number | undefined) => void) {}

  /** Lets jobs through as long as this lease lives. */
  open(lease: LeaderLease): void {
    this.#lease = lease;
  }

  /** Lets no job through any more; those that run go on. */
  close(): void {
    this.#lease = undefined;
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

  /** Resolves when none of the jobs that were let through runs any more. */
  idle(): Promise<void> {
    return this.#running.idle();
  }
}
