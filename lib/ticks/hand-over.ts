import type { Clock } from '../clock.js';

/** The ticks that a new leader takes over. */
export interface HandOver {
  /** The greatest age of a tick that the leader runs although its job has no `catchUp`, milliseconds. */
  readonly maxAge: number;
  /**
   * When this instance began to stand by, monotonic. When a later tick came, the fleet was up, so the leader runs it even
   * if its job never ran before. An older tick may come from before the first deployment of its job.
   */
  readonly since: number;
  /** Instance id of the last leader, if it was seen. */
  readonly lastLeader?: string | undefined;
}

/** A lease that refused a tick: the facts that show who left it. */
interface LeaseInTheWay {
  /** Instance id of the holder, if it is one of ours. */
  readonly holder?: string;
  /** Milliseconds until the lease expires unless it is renewed. Absent if this very process holds it. */
  readonly expiresIn?: number;
  /** `false` if the store has no end of the job's last run. */
  readonly finished?: boolean;
}

/** The time in which this instance runs the jobs of the fleet, from its election on. */
export class Term {
  /** Monotonic. */
  readonly #begin: number;

  constructor(
    private readonly clock: Clock,
    private readonly handOver: HandOver,
  ) {
    this.#begin = clock.monotonic();
  }

  /** When this instance was elected, epoch milliseconds, by its clock as it is set now. */
  get electedAt(): number {
    return Math.ceil(this.clock.now() - (this.clock.monotonic() - this.#begin));
  }

  /**
   * Whether the leader begins a tick although its job has no `catchUp`, unless its lock is taken.
   *
   * @param at when the tick was, or is, the newest one, epoch milliseconds
   */
  takesOver(tick: number, at: number): boolean {
    return at - tick <= this.handOver.maxAge;
  }

  /**
   * Whether a tick that had to wait may still run: a lease that another instance left behind lives for one ttl at most.
   */
  waitsFor(tick: number, ttl: number): boolean {
    return this.#age(tick) <= this.handOver.maxAge + ttl;
  }

  /**
   * Whether this instance stood by when the tick came, and would have fired it as the leader. Judged by age: wall clocks
   * can be set.
   */
  sawItCome(tick: number, initialDelay: number, madeAt?: number): boolean {
    return this.#age(tick) < this.uptime(madeAt) - initialDelay;
  }

  /**
   * For how long this instance has been up with a job, milliseconds.
   *
   * @param madeAt when the job was made, monotonic, if that was later
   */
  uptime(madeAt = -Infinity): number {
    return this.clock.monotonic() - Math.max(this.handOver.since, madeAt);
  }

  /**
   * Whether a former leader, which died or gave up waiting for its jobs, has left a lease behind. No sign proves it, so
   * two of three are needed: one alone also fits a lock that was taken by hand.
   *
   * @param ttl the ttl of the job's lock
   */
  isLeftBehind({ holder, expiresIn, finished }: LeaseInTheWay, ttl: number): boolean {
    if (holder === undefined || expiresIn === undefined) return false;
    const signs = [
      // The store has no end of the job's last run: the run goes on, or was never ended.
      finished === false,
      holder === this.handOver.lastLeader,
      // The lease was taken, or last renewed, before the election, provided that its ttl is that of this job.
      this.clock.monotonic() + expiresIn <= this.#begin + ttl,
    ];
    return signs.filter(Boolean).length >= 2;
  }

  #age(tick: number): number {
    return this.clock.now() - tick;
  }
}
