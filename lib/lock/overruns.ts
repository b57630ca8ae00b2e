import type { Engine } from './engine.js';
import type { Lease } from './lease.js';
import type { LockCall } from './lock-call.js';

/** A timer may fire early: fires at least this part of the interval apart count as separate fires. */
const EARLY = 0.9;

/** The fires of a job that come while it runs: counts them, and reports the first one. */
export class Overruns {
  /** How many have come. */
  skippedTicks = 0;
  /** The last of its ticks; when the last fire of its interval came, monotonic. */
  #tick: number;
  #firedAt: number;

  constructor(
    private readonly engine: Engine,
    private readonly lease: Lease,
  ) {
    this.#tick = lease.ref.tick ?? -Infinity;
    this.#firedAt = lease.startedAt;
  }

  count(call: LockCall): void {
    if (!this.#isNext(call)) return;
    this.skippedTicks += 1;
    if (this.skippedTicks > 1) return;
    const { clock, emit } = this.engine;
    const { lease } = this;
    const since = Math.round(clock.now() - (clock.monotonic() - lease.startedAt));
    emit({ type: 'overrun', ...lease.facts(), since, skippedTicks: this.skippedTicks });
  }

  /** Whether a call is for a tick of this very job that was not counted yet: a tick can be fired several times. */
  #isNext({ kind, job, start }: LockCall): boolean {
    if (kind !== 'fired' || job !== this.lease.ref.job) return false;
    const { tick, interval } = start ?? {};
    if (tick !== undefined) {
      if (tick <= this.#tick) return false;
      this.#tick = tick;
    }
    if (interval !== undefined) {
      const now = this.engine.clock.monotonic();
      if (now - this.#firedAt < interval * EARLY) return false;
      this.#firedAt = now;
    }
    return true;
  }
}
