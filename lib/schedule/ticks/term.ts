import type { Clock } from '../../base/clock.js';

/** The time in which this instance runs the jobs of the fleet. Judges by age, as wall clocks can be set. */
export class Term {
  /** Monotonic. */
  readonly #begin: number;

  /** @param maxAge the minimum `catchUp` of each job, milliseconds; the ttl of its lock is added */
  constructor(
    private readonly clock: Clock,
    private readonly maxAge: number,
  ) {
    this.#begin = clock.monotonic();
  }

  /** When this instance was elected, epoch milliseconds, by its clock as it is set now. */
  get electedAt(): number {
    return Math.ceil(this.clock.now() - (this.clock.monotonic() - this.#begin));
  }

  /**
   * Whether the leader may begin a tick even if its job has no `catchUp`: a tick from before the election, or so soon after it that
   * a lease of the last leader can be in the way. That lease lives for one ttl.
   *
   * @param ttl of the job's lock
   */
  mayBegin(tick: number, ttl: number): boolean {
    return tick <= this.electedAt + ttl && this.clock.now() - tick <= this.maxAge + ttl;
  }
}
