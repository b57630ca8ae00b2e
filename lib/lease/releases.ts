import type { Clock, Timer } from '../clock.js';
import { LockStateError, StoreUnavailableError } from '../errors.js';
import type {
  AcquireResult,
  LeaseRef,
  LockStore,
  ReleaseOutcome,
  ReleaseResult,
} from '../stores/lock-store.js';
import type { Outages } from './outages.js';
import { called, type TimeLimits } from './time-limits.js';

interface Release {
  readonly ref: LeaseRef;
  readonly outcome: ReleaseOutcome;
  /** Monotonic time until which the lock is to stay taken. */
  readonly keepUntil: number;
  /** Whether an acquire may still be on its way: then finding nothing to release proves nothing. */
  readonly ambiguous: boolean;
  /** Milliseconds that one call may take. */
  readonly limit: number;
  /** When the store has forgotten the lease by itself, monotonic. */
  readonly until: number;
  nextAt: number;
  /** The try under way, if any. */
  busy: Promise<ReleaseResult | undefined> | undefined;
  /** Nothing is left to release: an answer that comes after it changes nothing. */
  settled: boolean;
}

const FRESH = { nextAt: 0, busy: undefined, settled: false };

/** The part of the ttl after which a release that was not confirmed is tried again: a beat. */
const BEAT = 0.3;

/** Whether a call that failed has certainly changed nothing. */
export function wasNotApplied(error: unknown): boolean {
  return (
    error instanceof LockStateError ||
    (error instanceof StoreUnavailableError && error.outcome === 'not-applied')
  );
}

/**
 * Gives leases back, and goes on trying where the store did not confirm it, until the lease has expired by itself.
 */
export class Releases {
  readonly #unconfirmed = new Set<Release>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly outages: Outages,
    private readonly limits: TimeLimits,
  ) {}

  /**
   * Releases the lease of a job that has ended.
   *
   * @param expiresAt when the store has forgotten the lease at the latest, monotonic
   * @returns the store's answer to the first try, or `undefined` if there was none
   */
  release(
    ref: LeaseRef,
    options: { outcome: ReleaseOutcome; keepUntil: number; limit: number; expiresAt: number },
  ): Promise<ReleaseResult | undefined> {
    const { outcome, keepUntil, limit, expiresAt: until } = options;
    const release: Release = {
      ref,
      outcome,
      keepUntil,
      ambiguous: false,
      limit,
      until,
      nextAt: 0,
      busy: undefined,
      settled: false,
    };
    return this.#try(release);
  }

  /**
   * Takes back an acquire whose answer came too late, or that may have been carried out although it failed: at
   * once, again when its promise settles, and, as long as nothing was found, with the beats until ttl has passed since it
   * was sent. Across a reconnect the release can reach the server before the acquire does.
   */
  abandon(ref: LeaseRef, options: { sent: number; limit: number; pending: Promise<AcquireResult> }): void {
    const release: Release = {
      ref,
      outcome: 'abandoned',
      keepUntil: 0,
      ambiguous: true,
      limit: options.limit,
      until: options.sent + ref.ttl,
      ...FRESH,
    };
    this.#unconfirmed.add(release);
    void this.#try(release);
    options.pending.then(
      (result) => {
        if (!result.acquired) this.#settle(release);
        else {
          const granted = { ...ref, fencingToken: result.fencingToken };
          // Carried out at some time until now: it may live for a whole ttl.
          const until = this.clock.monotonic() + ref.ttl;
          const certain: Release = { ...release, ref: granted, until, ambiguous: false, ...FRESH };
          this.#unconfirmed.add(certain);
          void this.#try(certain);
        }
      },
      (error: unknown) => {
        if (wasNotApplied(error)) this.#settle(release);
        else if (this.#unconfirmed.has(release)) void this.#try(release);
      },
    );
  }

  /** Tries everything again that was not confirmed, for the moment a connection is back. */
  retry(): void {
    for (const release of this.#unconfirmed) void this.#try(release);
  }

  /** One last try for each, then no more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    await Promise.all([...this.#unconfirmed].map((release) => this.#try(release)));
    this.#unconfirmed.clear();
  }

  /** Never rejects. One try at a time: who asks for another one waits for the one under way. */
  #try(release: Release): Promise<ReleaseResult | undefined> {
    return (release.busy ??= this.#send(release));
  }

  #send(release: Release): Promise<ReleaseResult | undefined> {
    const now = this.clock.monotonic();
    release.nextAt = now + release.ref.ttl * BEAT;
    const { ref, outcome, limit } = release;
    const keepFor = Math.max(0, Math.ceil(release.keepUntil - now));
    const call = called(() => this.store.release(ref, { outcome, keepFor }));
    return new Promise((resolve) => {
      this.limits.watch(call, limit, {
        answered: (result) => {
          this.outages.succeeded(ref.name);
          this.#answered(release, result);
          resolve(result);
        },
        failed: (error) => {
          this.outages.failed(error);
          this.#answered(release, undefined);
          resolve(undefined);
        },
      });
    });
  }

  #answered(release: Release, result: ReleaseResult | undefined): void {
    release.busy = undefined;
    if (result?.released || (result !== undefined && !release.ambiguous)) this.#settle(release);
    else this.#later(release);
  }

  #settle(release: Release): void {
    release.settled = true;
    if (this.#unconfirmed.size === 0) return;
    for (const other of this.#unconfirmed) {
      if (other.ref.token !== release.ref.token) continue;
      other.settled = true;
      this.#unconfirmed.delete(other);
    }
    this.#rearm();
  }

  #later(release: Release): void {
    // Giving up on one says nothing of another for the same token: an abandoned acquire that was granted late has two.
    if (release.settled || this.#closed || this.clock.monotonic() >= release.until)
      this.#unconfirmed.delete(release);
    else this.#unconfirmed.add(release);
    this.#rearm();
  }

  #rearm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#closed) return;
    let next = Infinity;
    // One that is under way arms the timer again when it has been answered.
    for (const { nextAt, until, busy } of this.#unconfirmed)
      if (busy === undefined) next = Math.min(next, nextAt, until);
    if (next === Infinity) return;
    this.#timer = this.clock.setTimer(() => {
      const now = this.clock.monotonic();
      for (const release of this.#unconfirmed)
        if (Math.min(release.nextAt, release.until) <= now) void this.#try(release);
      // Timers fire a fraction early, too: what was not due then must not be forgotten.
      this.#rearm();
    }, next - this.clock.monotonic());
  }
}
