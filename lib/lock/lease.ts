import type { Clock } from '../base/clock.js';
import { LockLostError, LockTimeoutError, type LostReason } from '../base/errors.js';
import type { Report } from '../contract/history-store.js';
import type { ExtendResult, LeaseRef, Writable } from '../contract/lock-store.js';
import type { Emit } from '../contract/events/events.js';
import type { AcquiredEvent, LeaseFacts } from '../contract/events/lease-events.js';
import type { Cause, LockSettings, QueuedCallFacts } from './lock-call.js';

type LeaseTiming = Pick<LockSettings, 'heartbeat' | 'timeout' | 'atLeast' | 'history' | 'shortfall'>;

/** Renewals that fail are tried again after 5 % of the ttl, at most this many milliseconds. */
const MAX_RETRY_DELAY = 1_000;

/**
 * One holding of a lock by this process: `live` until it is `lost` under its job or `ended` with it.
 *
 * A lease that was not confirmed (its job runs although the store failed, by `onStoreError: 'run'`) is never renewed and cannot be
 * lost. Only its timeout applies.
 */
export class Lease {
  readonly confirmed: boolean;
  // Set by the lease itself, and read by others.
  /** What its signal was aborted with, and when, monotonic. */
  abortReason: Error | undefined;
  abortedAt = Infinity;
  lostReason: LostReason | undefined;
  /** Whether the lease was lost or has ended, as of the last check. */
  over = false;
  /** Whether its job has ended. */
  hasEnded = false;

  // Set by others.
  /** The renewal under way, if any. Never rejects. Calls for one lease must not overtake each other. */
  renewal: Promise<unknown> | undefined;
  waited = 0;
  traceId: string | undefined;
  /** What its run has reported so far. */
  report: Report | undefined;
  mismatch: AcquiredEvent['mismatch'];
  /** How many nested calls go on under it. */
  inner = 0;

  #failing = false;
  #deadline: number;
  #renewAt: number;
  #timeoutAt: number;
  /** When the heartbeat gives up on a job that has passed its timeout. */
  #stopAt: number;
  #controller: AbortController | undefined;

  /**
   * @param startedAt when its job begins, monotonic
   * @param sent when the acquire was sent, monotonic: the store counts the ttl from then or later; `undefined`: it was not confirmed
   */
  constructor(
    readonly ref: LeaseRef,
    private readonly timing: LeaseTiming,
    readonly startedAt: number,
    sent: number | undefined,
    private readonly clock: Clock,
    private readonly emit: Emit,
    readonly cause: Cause,
  ) {
    this.confirmed = sent !== undefined;
    this.#deadline = sent === undefined ? Infinity : leaseDeadline(sent, ref.ttl);
    this.#renewAt = sent === undefined || timing.heartbeat === false ? Infinity : sent + timing.heartbeat;
    this.#timeoutAt = startedAt + (timing.timeout ?? Infinity);
    this.#stopAt = this.#timeoutAt + ref.ttl;
  }

  /** Until when its lock stays taken, monotonic, if its job ends sooner. */
  get keptUntil(): number {
    return this.startedAt + this.timing.atLeast;
  }

  /** Created on first use: most jobs never read it. */
  get signal(): AbortSignal {
    this.check();
    if (this.#controller !== undefined) return this.#controller.signal;
    this.#controller = new AbortController();
    if (this.abortReason !== undefined) this.#controller.abort(this.abortReason);
    return this.#controller.signal;
  }

  get queuedCall(): QueuedCallFacts | undefined {
    const { origin } = this.cause;
    return origin === 'schedule' ? undefined : origin;
  }

  /** What is missing in the report of its run; `undefined`: nothing, or nothing was expected. */
  get shortfall(): string | undefined {
    return this.timing.shortfall?.(this.report ?? {});
  }

  get isRemembered(): boolean {
    return this.confirmed && this.timing.history === true;
  }

  /** Whether the job still has its lock, judged by the clock at this moment, not when a timer last fired. */
  get live(): boolean {
    this.check();
    return !this.over;
  }

  /** Monotonic time of the next thing to do for this lease. */
  get wakeAt(): number {
    if (this.over) return Infinity;
    return Math.min(this.#deadline, this.#timeoutAt, this.renewal === undefined ? this.#renewAt : Infinity);
  }

  /** Whether a renewal is due now; `early` is the part of the heartbeat by which it may be brought forward. */
  isDue(now: number, early = 0): boolean {
    if (this.over || this.renewal !== undefined || this.timing.heartbeat === false) return false;
    return this.#renewAt - early * this.timing.heartbeat <= now;
  }

  /** Applies the limits that have passed: the lease is lost past its deadline, the signal aborts past the timeout. */
  check(now = this.clock.monotonic()): void {
    if (this.over) return;
    if (now >= this.#deadline) return this.#lose('deadline');
    if (now >= this.#timeoutAt) {
      const { timeout = 0 } = this.timing;
      this.#timeoutAt = Infinity;
      this.abort(new LockTimeoutError(this.ref.name, timeout));
      this.emit({ type: 'timeout', ...this.facts(), timeout });
    }
    // A hung job must not block the others for good: let the lease run out.
    if (now >= this.#stopAt) this.#renewAt = Infinity;
  }

  renewed(result: ExtendResult, sent: number): void {
    this.renewal = undefined;
    const now = this.clock.monotonic();
    // Past the deadline the lease is lost, whatever the store says.
    this.check(now);
    if (this.over) return;
    if (result.held === null) return this.renewalFailed(result.error);
    if (!result.held) return this.#lose(result.reason, result.holder);
    this.#failing = false;
    this.#deadline = leaseDeadline(sent, this.ref.ttl);
    if (this.timing.heartbeat !== false && now < this.#stopAt) this.#renewAt = sent + this.timing.heartbeat;
    const restored = result.restored === true;
    const renewed = { type: 'renewed', ...this.facts(), restored, expiresIn: this.expiresIn(now) } as const;
    // Before its deadline a lock cannot have expired by itself.
    this.emit(result.deleted === true ? { ...renewed, deleted: true as const } : renewed);
  }

  renewalFailed(error: Error): void {
    this.renewal = undefined;
    const now = this.clock.monotonic();
    this.check(now);
    if (this.over) return;
    this.#failing = true;
    if (this.#renewAt !== Infinity) this.#renewAt = now + Math.min(this.ref.ttl * 0.05, MAX_RETRY_DELAY);
    this.emit({ type: 'renewal-failed', ...this.facts(), error, expiresIn: this.expiresIn(now) });
  }

  taken(holder: string): void {
    this.check();
    if (!this.over) this.#lose('taken', holder);
  }

  /** If the last renewal failed, the next one is due now, not after its delay. */
  renewFailed(now: number): void {
    if (this.#failing && this.#renewAt !== Infinity) this.#renewAt = Math.min(this.#renewAt, now);
  }

  end(now: number): void {
    this.check(now);
    this.over = true;
    this.hasEnded = true;
  }

  /** Stops renewing: the lease runs out, though its job goes on. */
  stopRenewing(): void {
    this.#renewAt = Infinity;
    this.#stopAt = -Infinity;
  }

  /** Tells the job to stop. The first reason stands. */
  abort(reason: Error): void {
    if (this.abortReason !== undefined) return;
    this.abortReason = reason;
    this.abortedAt = this.clock.monotonic();
    this.#controller?.abort(reason);
  }

  /** Whole milliseconds until its deadline. */
  expiresIn(now: number): number {
    return Math.round(this.#deadline - now);
  }

  #lose(reason: LostReason, holder?: string): void {
    this.over = true;
    this.lostReason = reason;
    this.abort(new LockLostError(this.ref.name, reason, holder));
    const event = { type: 'lost', ...this.facts(), reason } as const;
    this.emit(holder === undefined ? event : { ...event, holder });
  }

  /** The fields that every event about this lease has. */
  facts(): LeaseFacts {
    const { ref } = this;
    const { name: lock, holder: instance, fencingToken } = ref;
    return ofRun({ lock, instance, at: this.clock.now(), fencingToken }, ref);
  }
}

/** Adds the job, tick and attempt of a run to its event, where they are known. Does not use spreads: every run takes this path. */
export function ofRun<E extends LeaseFacts>(event: E, { job, tick, attempt }: LeaseRef): E {
  const facts: Writable<LeaseFacts> = event;
  if (job !== undefined) facts.job = job;
  if (tick !== undefined) facts.tick = tick;
  if (attempt !== undefined) facts.attempt = attempt;
  return event;
}

/**
 * Until when a holder may rely on its lease, monotonic: counted from before the call was sent, less 1 % of the ttl and 2 ms for
 * clocks that run at different speeds (the allowance of https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
 */
export const leaseDeadline = (sent: number, ttl: number): number => sent + ttl - (ttl * 0.01 + 2);
