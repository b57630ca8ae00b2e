import type { Clock, Timer } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import type { ExtendResult, LeaseRef } from '../stores/lock-store.js';
import type { Lease } from './lease.js';
import { List } from './list.js';

/**
 * A renewal may come earlier than planned by this part of its heartbeat, to go along with another one: a fleet of
 * leases falls into step, and the whole process costs a few calls per second, however many leases it has.
 */
const EARLY = 1 / 3;

const missing = (): ExtendResult => ({
  held: null,
  error: new StoreUnavailableError('The store answered for fewer leases than it was asked to renew.', {
    outcome: 'unknown',
  }),
});

/** Renews leases, in one call. Rejects if the call failed as a whole. */
export type Extend = (leases: readonly LeaseRef[]) => Promise<ExtendResult[]>;

/**
 * The one heartbeat loop of the process: renews what is due, notices what is lost. It has one timer, however many
 * leases there are, and none when there is no lease.
 *
 * A lease has one renewal under way at most, so a slow store skips beats instead of piling them up.
 */
export class Heartbeat {
  /** All that are kept, those that are never renewed too. */
  readonly #leases = new List<Lease>();
  #timer: Timer | undefined;
  #wakeAt = Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly extend: Extend,
  ) {}

  add(lease: Lease): void {
    this.#leases.add(lease);
    this.#wakeBy(lease.wakeAt);
  }

  /** The timer stays as it is: on a busy process the next lease needs it anyway, on an idle one it fires once. */
  delete(lease: Lease): void {
    this.#leases.delete(lease);
  }

  /** What it keeps now. */
  leases(): Lease[] {
    return this.#leases.toArray();
  }

  /** Renews at once what is due or has failed, for the moment a connection is back. */
  renewFailed(): void {
    const now = this.clock.monotonic();
    for (const lease of this.leases()) if (lease.failing) lease.renewNow(now);
    this.#wake();
  }

  stop(): void {
    for (const lease of this.leases()) this.delete(lease);
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wakeAt = Infinity;
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
      for (const [index, lease] of leases.entries()) {
        lease.renewal = undefined;
        judge(lease, index);
      }
      this.#rearm();
    };
    const renewal = this.extend(leases.map(({ ref }) => ref)).then(
      (results) => settle((lease, index) => lease.renewed(results[index] ?? missing(), sent)),
      (error: Error) => settle((lease) => lease.renewalFailed(error)),
    );
    for (const lease of leases) lease.renewal = renewal;
  }

  #rearm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wakeAt = Infinity;
    let next = Infinity;
    for (let lease = this.#leases.first; lease !== undefined; lease = lease.next)
      next = Math.min(next, lease.wakeAt);
    this.#wakeBy(next);
  }

  #wakeBy(at: number): void {
    if (at >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = at;
    this.#timer = this.clock.setTimer(() => this.#wake(), at - this.clock.monotonic());
  }
}
