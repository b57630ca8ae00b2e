import type { Clock } from '../clock.js';

/** What a new leader takes over. */
export interface HandOver {
  /** How old a tick may be that it runs though its job has no `catchUp`, milliseconds. */
  readonly maxAge: number;
  /**
   * Since when this instance stands by, monotonic. A tick that came later fell into a fleet that was up: it is run also
   * if its job never ran before. An older one may come from before the first deployment of its job.
   */
  readonly since: number;
  /** Instance id of the last leader, if it was seen. */
  readonly lastLeader?: string | undefined;
}

/** A lease in the way of a tick, as far as it says whose it is. */
interface LeaseInTheWay {
  /** Instance id, if it is one of ours. */
  readonly holder?: string;
  /** Absent if it is of this very process. */
  readonly expiresIn?: number;
  /** `false` if the store knows of no end of the job's last run. */
  readonly finished?: boolean;
}

/** The time in which this instance runs the jobs of the fleet, from its election on. */
export class Term {
  readonly #electedAt: number;

  constructor(
    private readonly clock: Clock,
    private readonly handOver: HandOver,
  ) {
    this.#electedAt = clock.monotonic();
  }

  /** Whether a tick is to be begun, though its job has no `catchUp`, unless its lock is taken. */
  takesOver(tick: number): boolean {
    return this.#age(tick) <= this.handOver.maxAge;
  }

  /** Whether a tick may still be run that had to wait: a lease that somebody has left behind lives for one ttl at most. */
  waitsFor(tick: number, ttl: number): boolean {
    return this.#age(tick) <= this.handOver.maxAge + ttl;
  }

  /** Whether this instance stood by, and would have fired the tick had it led. Judged by age: clocks are set. */
  sawItCome(tick: number, initialDelay: number): boolean {
    return this.#age(tick) < this.uptime - initialDelay;
  }

  /** For how long this instance has been up. */
  get uptime(): number {
    return this.clock.monotonic() - this.handOver.since;
  }

  /**
   * Whether a lease is one that a former leader has left behind, which died or has given up waiting for its jobs. Nothing
   * says so for sure: two of three signs have to. One alone also fits a lock that was taken by hand.
   *
   * @param ttl of the lock of the job
   */
  isLeftBehind({ holder, expiresIn, finished }: LeaseInTheWay, ttl: number): boolean {
    if (holder === undefined || expiresIn === undefined) return false;
    const signs = [
      // No end is known of the job's last run: it goes on, or was never ended.
      finished === false,
      holder === this.handOver.lastLeader,
      // It was taken, or renewed, before the election; if its ttl was that of this job.
      this.clock.monotonic() + expiresIn <= this.#electedAt + ttl,
    ];
    return signs.filter(Boolean).length >= 2;
  }

  #age(tick: number): number {
    return this.clock.now() - tick;
  }
}
