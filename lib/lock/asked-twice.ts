import { LockStateError, SchedulerLockConfigError, StoreUnavailableError } from '../base/errors.js';
import type { Asked, Outcome } from './access/asked.js';
import type { AcquireResult } from '../contract/lock-store.js';
import type { LockCall } from './lock-call.js';

/**
 * For how long data that a closed connection has not delivered may still arrive, ms: Linux tries for 100 s, or a little longer
 * (`tcp_orphan_retries`).
 */
const LONGEST_COPY = 120_000;

/**
 * Whether an attempt that has failed is worth another one: the connection may have died unnoticed, as seldom used ones do, and the
 * job would be skipped each time.
 *
 * Only if the first attempt can do no harm. Both have the same token: if the store carries out both, one becomes the lease, and the
 * store answers the other with that lease. If an attempt is carried out after the run, the store refuses it, as its tick has run
 * already; an interval refuses it, too, if it is longer than such a delay. A call without a start could leave a lease behind that
 * nobody uses.
 *
 * An outage that is known (`not-applied`) fails at once, and a refusal is an answer.
 */
export function isWorthAnother({ start, signal }: LockCall, error: Error): boolean {
  if (start === undefined || signal?.aborted === true) return false;
  if (start.tick === undefined && (start.interval ?? 0) < LONGEST_COPY) return false;
  if (error instanceof SchedulerLockConfigError || error instanceof LockStateError) return false;
  return !(error instanceof StoreUnavailableError) || (error.outcome === 'unknown' && !error.refused);
}

/** One attempt that was sent twice, over two connections: the first was not answered in time, or its connection broke. */
export class AskedTwice {
  /** Counts for the deadline of the lease: the first may be the one that was granted. */
  readonly sentAt: number;
  readonly limit: number;
  /** A grant of either attempt, or what becomes of the second one. Never rejects. */
  readonly outcome: Promise<Outcome<AcquireResult>>;
  #end!: (outcome: Outcome<AcquireResult>) => void;
  #ended = false;
  #late: ((outcome: Outcome<AcquireResult>) => void) | undefined;
  readonly #unheard: Outcome<AcquireResult>[] = [];

  /** @param error how the first has failed */
  constructor(
    first: Asked<AcquireResult>,
    private readonly error: Error,
  ) {
    this.sentAt = first.sentAt;
    this.limit = first.limit;
    this.outcome = new Promise((resolve) => (this.#end = resolve));
    first.listen((outcome) => {
      // The reason for which the store refuses the first attempt may be over when the second one comes.
      if (isGrant(outcome)) this.#settle(outcome);
      else if (this.#ended) this.#tell(outcome);
    });
  }

  /** Whether a second attempt is needed: the store has not granted the first one meanwhile. */
  get open(): boolean {
    return !this.#ended;
  }

  /** There is no second attempt. */
  giveUp(): void {
    this.#settle({ error: this.error });
  }

  again(second: Asked<AcquireResult>): void {
    void second.outcome.then((outcome) => this.#settle(this.#judged(outcome)));
    second.listen((outcome) => this.#tell(outcome));
  }

  /** From now on `late` receives what the copies answer that have not been answered yet. */
  listen(late: (outcome: Outcome<AcquireResult>) => void): void {
    this.#late = late;
    for (const outcome of this.#unheard.splice(0)) late(outcome);
  }

  /** A second attempt that was certainly not carried out says nothing about the first one. */
  #judged(outcome: Outcome<AcquireResult>): Outcome<AcquireResult> {
    const isKnown = 'error' in outcome && outcome.error instanceof StoreUnavailableError;
    return isKnown && outcome.error.outcome === 'not-applied' ? { error: this.error } : outcome;
  }

  #settle(outcome: Outcome<AcquireResult>): void {
    if (this.#ended) return this.#tell(outcome);
    this.#ended = true;
    this.#end(outcome);
  }

  #tell(outcome: Outcome<AcquireResult>): void {
    if (this.#late === undefined) this.#unheard.push(outcome);
    else this.#late(outcome);
  }
}

const isGrant = (outcome: Outcome<AcquireResult>): boolean => 'result' in outcome && outcome.result.acquired;
