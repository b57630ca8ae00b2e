import type { Clock } from '../clock.js';

/** What is known of an election that this instance has won. */
export interface Elected {
  /** The least `catchUp` of each job, milliseconds; the ttl of its lock is added. */
  readonly maxAge: number;
  /**
   * When this instance began to stand by, monotonic. When a later tick came, the fleet was up, so the leader runs it even
   * if its job never ran before. An older tick may come from before the first deployment of its job.
   */
  readonly since: number;
}

/** The time in which this instance runs the jobs of the fleet. Judges by age, as wall clocks can be set. */
export class Term {
  /** Monotonic. */
  readonly #begin: number;

  constructor(
    private readonly clock: Clock,
    private readonly elected: Elected,
  ) {
    this.#begin = clock.monotonic();
  }

  /** When this instance was elected, epoch milliseconds, by its clock as it is set now. */
  get electedAt(): number {
    return Math.ceil(this.clock.now() - (this.clock.monotonic() - this.#begin));
  }

  /**
   * Whether the leader may begin a tick, also if its job has no `catchUp`: one from before the election, or from so soon after it
   * that a lease of the last leader can be in its way. That one lives for one ttl.
   *
   * @param ttl of the job's lock
   */
  mayBegin(tick: number, ttl: number): boolean {
    return tick <= this.electedAt + ttl && this.clock.now() - tick <= this.elected.maxAge + ttl;
  }

  /**
   * Whether this instance stood by when the tick came, and would have fired it as the leader.
   *
   * @param madeAt when the job was made, monotonic
   */
  sawItCome(tick: number, initialDelay: number, madeAt?: number): boolean {
    return this.clock.now() - tick < this.uptime(madeAt) - initialDelay;
  }

  /**
   * For how long this instance has been up with a job, milliseconds.
   *
   * @param madeAt when the job was made, monotonic, if that was later
   */
  uptime(madeAt = -Infinity): number {
    return this.clock.monotonic() - Math.max(this.elected.since, madeAt);
  }
}
