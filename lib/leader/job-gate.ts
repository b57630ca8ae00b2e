import { withRootScope } from '../lease/current-lock.js';
import type { LeaderLease } from './leader-lease.js';

/**
 * Lets scheduled jobs through while this instance leads, judged by the clock at that moment: a timer that fires before
 * the loss was noticed, because the event loop was busy, fires in vain. Jobs see the leader's lease by `currentLock()`.
 */
export class JobGate {
  #lease: LeaderLease | undefined;
  #running = 0;
  readonly #onIdle = new Set<() => void>();

  /**
   * @param refused told of each job that was not let through, by its name in the scheduler; of one that this library fires
   *   again, by its own name, and its tick
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
    this.#running += 1;
    const ended = (): void => this.#ended();
    // What it rejects with is for whoever fired it.
    Promise.resolve(result).then(ended, ended);
    return result;
  }

  /** Resolves when no job runs any more that was let through. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.add(resolve));
  }

  #ended(): void {
    this.#running -= 1;
    if (this.#running > 0) return;
    for (const wake of this.#onIdle) wake();
    this.#onIdle.clear();
  }
}
