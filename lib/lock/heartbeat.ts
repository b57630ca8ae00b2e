import { AlarmClock, type Clock } from '../base/clock.js';
import type { ExtendResult, LeaseRef } from '../contract/lock-store.js';
import type { Lease } from './lease.js';

/** A renewal may be brought forward by this part of its heartbeat, to join another one: the leases of a process fall into step. */
const EARLY = 1 / 3;

/** Renews leases in one call. Resolves to one result per lease. Rejects if the call failed as a whole. */
type Extend = (leases: readonly LeaseRef[]) => Promise<ExtendResult[]>;

/**
 * The one heartbeat loop of the process: renews the leases that are due, and notices those that are lost. A lease has one renewal under way
 * at most, so a slow store skips beats instead of piling them up.
 */
export class Heartbeat {
  /** All leases of this process, also those that are never renewed. */
  readonly #leases = new Set<Lease>();
  readonly #alarm: AlarmClock;

  constructor(
    private readonly clock: Clock,
    private readonly extend: Extend,
  ) {
    this.#alarm = new AlarmClock(clock, () => this.#wake());
  }

  add(lease: Lease): void {
    this.#leases.add(lease);
    this.#alarm.by(lease.wakeAt);
  }

  /** The timer stays as it is: on a busy process the next lease needs it anyway, on an idle one it fires once. */
  delete(lease: Lease): void {
    this.#leases.delete(lease);
  }

  leases(): Lease[] {
    return [...this.#leases];
  }

  /** A connection is back: renews at once the leases that are due or whose last renewal failed. */
  renewFailed(): void {
    for (const lease of this.leases()) lease.renewFailed(this.clock.monotonic());
    this.#wake();
  }

  lost(name: string, holder: string): void {
    for (const lease of this.leases()) if (lease.ref.name === name && lease.confirmed) lease.taken(holder);
  }

  stop(): void {
    this.#leases.clear();
    this.#alarm.set(Infinity);
  }

  #wake(): void {
    const now = this.clock.monotonic();
    for (const lease of this.leases()) lease.check(now);
    const leases = this.leases();
    if (leases.some((lease) => lease.isDue(now)))
      this.#beat(leases.filter((lease) => lease.isDue(now, EARLY)));
    this.#rearm();
  }

  #beat(leases: readonly Lease[]): void {
    const sent = this.clock.monotonic();
    const settle = (judge: (lease: Lease, index: number) => void): void => {
      leases.forEach(judge);
      this.#rearm();
    };
    const renewal = this.extend(leases.map(({ ref }) => ref)).then(
      (results) => settle((lease, index) => lease.renewed(results[index] as ExtendResult, sent)),
      (error: unknown) => settle((lease) => lease.renewalFailed(error as Error)),
    );
    for (const lease of leases) lease.renewal = renewal;
  }

  #rearm(): void {
    let next = Infinity;
    for (const lease of this.#leases) next = Math.min(next, lease.wakeAt);
    this.#alarm.set(next);
  }
}
