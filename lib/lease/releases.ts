import type { Clock, Timer } from '../clock.js';
import { LockStateError, StoreUnavailableError } from '../errors.js';
import type { AcquireResult, LeaseRef, ReleaseOutcome, ReleaseResult } from '../stores/lock-store.js';
import type { Reply } from '../stores/replying-store.js';
import type { AnsweringStore } from './answering-store.js';
import type { Outages } from './outages.js';
import { Pending, type TimeLimits } from './time-limits.js';

/** Who waits for the answer to a release: told once, of `undefined` if there was none in time. */
export interface Releaser {
  released(result: ReleaseResult | undefined): void;
}

/** What is to be released, and how. */
export interface ReleaseFacts {
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
}

/** A release until it is confirmed, or has become needless. */
class Release extends Pending<ReleaseResult> {
  nextAt = 0;
  /** Whether a try is under way. */
  busy = false;
  /** Nothing is left to release: an answer that comes after it changes nothing. */
  settled = false;
  /** Who waits for the try that is under way. */
  releaser: Releaser | undefined;

  constructor(
    readonly facts: ReleaseFacts,
    private readonly tried: (release: Release, answer: ReleaseResult | Error) => void,
  ) {
    super();
  }

  answered(result: ReleaseResult): void {
    this.tried(this, result);
  }

  failed(error: Error): void {
    this.tried(this, error);
  }
}

/** The part of the ttl after which a release that was not confirmed is tried again: a beat. */
const BEAT = 0.3;

/** Whether a call that failed has certainly changed nothing. */
export function wasNotApplied(error: unknown): boolean {
  return (
    error instanceof LockStateError ||
    (error instanceof StoreUnavailableError && error.outcome === 'not-applied')
  );
}

/** A store of somebody else's may answer anything. */
function granted(result: AcquireResult | undefined): result is AcquireResult & { acquired: true } {
  return result?.acquired === true;
}

/**
 * Gives leases back, and goes on trying where the store did not confirm it, until the lease has expired by itself.
 */
export class Releases {
  readonly #unconfirmed = new Set<Release>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(
    private readonly store: AnsweringStore,
    private readonly clock: Clock,
    private readonly outages: Outages,
    private readonly limits: TimeLimits,
  ) {}

  /**
   * Releases the lease of a job that has ended.
   *
   * @param now monotonic
   * @param releaser is told the store's answer to the first try
   */
  release(facts: ReleaseFacts, now: number, releaser: Releaser): void {
    const release = new Release(facts, this.#tried);
    release.releaser = releaser;
    this.#try(release, now);
  }

  /**
   * Takes back an acquire whose answer came too late, or that may have been carried out although it failed: at
   * once, again when it is answered, and, as long as nothing was found, with the beats until ttl has passed since it
   * was sent. Across a reconnect the release can reach the server before the acquire does.
   */
  abandon(ref: LeaseRef, options: { sent: number; limit: number; pending: Reply<AcquireResult> }): void {
    const { sent, limit, pending } = options;
    const facts: ReleaseFacts = {
      ref,
      outcome: 'abandoned',
      keepUntil: 0,
      ambiguous: true,
      limit,
      until: sent + ref.ttl,
    };
    const release = this.#abandon(facts);
    pending.tell(
      (result) => {
        if (!granted(result)) return this.#settle(release);
        const lease = { ...ref, fencingToken: result.fencingToken };
        // Carried out at some time until now: it may live for a whole ttl.
        const until = this.clock.monotonic() + ref.ttl;
        this.#abandon({ ...facts, ref: lease, until, ambiguous: false });
      },
      (error) => {
        if (wasNotApplied(error)) this.#settle(release);
        else if (this.#unconfirmed.has(release)) this.#try(release);
        // Given up by now; but it, too, may have been carried out at any time until now.
        else if (!release.settled && !this.#closed)
          this.#abandon({ ...facts, until: this.clock.monotonic() + ref.ttl });
      },
    );
  }

  #abandon(facts: ReleaseFacts): Release {
    const release = new Release(facts, this.#tried);
    this.#unconfirmed.add(release);
    this.#try(release);
    return release;
  }

  /** Tries everything again that was not confirmed, for the moment a connection is back. */
  retry(): void {
    for (const release of this.#unconfirmed) this.#try(release);
  }

  /** One last try for each, then no more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    const tries = [...this.#unconfirmed].map(
      (release) =>
        new Promise<void>((resolve) => {
          release.releaser = { released: () => resolve() };
          this.#try(release);
        }),
    );
    await Promise.all(tries);
    this.#unconfirmed.clear();
  }

  /** One try at a time: who asks for another one has the one under way. */
  #try(release: Release, now = this.clock.monotonic()): void {
    if (release.busy) return;
    release.busy = true;
    const { ref, outcome, keepUntil, limit } = release.facts;
    release.nextAt = now + ref.ttl * BEAT;
    const keepFor = Math.max(0, Math.ceil(keepUntil - now));
    this.limits.watch(this.store.release(ref, { outcome, keepFor }), limit, release, now);
  }

  readonly #tried = (release: Release, answer: ReleaseResult | Error): void => {
    const { ref, ambiguous } = release.facts;
    const result = answer instanceof Error ? undefined : answer;
    if (answer instanceof Error) this.outages.failed(answer, { call: 'release', locks: [ref.name] });
    else this.outages.succeeded('release', ref.name);
    release.busy = false;
    if (result?.released || (result !== undefined && !ambiguous)) this.#settle(release);
    else this.#later(release);
    const { releaser } = release;
    release.releaser = undefined;
    releaser?.released(result);
  };

  #settle(release: Release): void {
    release.settled = true;
    if (this.#unconfirmed.size === 0) return;
    for (const other of this.#unconfirmed) {
      if (other.facts.ref.token !== release.facts.ref.token) continue;
      other.settled = true;
      this.#unconfirmed.delete(other);
    }
    this.#rearm();
  }

  #later(release: Release): void {
    // Giving up on one says nothing of another for the same token: an abandoned acquire that was granted late has two.
    if (release.settled || this.#closed || this.clock.monotonic() >= release.facts.until)
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
    for (const { nextAt, facts, busy } of this.#unconfirmed)
      if (!busy) next = Math.min(next, nextAt, facts.until);
    if (next === Infinity) return;
    this.#timer = this.clock.setTimer(() => {
      const now = this.clock.monotonic();
      for (const release of this.#unconfirmed)
        if (Math.min(release.nextAt, release.facts.until) <= now) this.#try(release);
      // Timers fire a fraction early, too: what was not due then must not be forgotten.
      this.#rearm();
    }, next - this.clock.monotonic());
  }
}
