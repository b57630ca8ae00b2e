import { newId } from '../base/shared.js';
import type { WaitingEvent } from '../contract/events/call-events.js';
import type { AcquireRequest, AcquireResult, Writable } from '../contract/lock-store.js';
import type { Engine } from './engine.js';
import type { Lease } from './lease.js';
import { isBehindTheScenes, type LockCall, type Skipped } from './lock-call.js';
import { type Asked, wasNotApplied } from './access/safe-store.js';
import { type Next, WaitingCall } from './waits.js';

/** Reasons for which a call goes on waiting. */
const PASSING: ReadonlySet<string> = new Set(['held', 'cooling-down']);

/**
 * What a call that waits knows of its place in line. It asks the store with the same token each time, and the store answers whether its
 * turn has come. {@link Waits} says when it asks, `Take` what becomes of an answer.
 */
export class InLine extends WaitingCall {
  readonly deadline: number;
  place: number | undefined;
  readonly #began: number;
  ahead = Infinity;
  /** Whether the call may stand in the store's line. */
  #stands = false;
  /** The asks that were not answered: they may still be on their way. */
  #unsure: Asked<AcquireResult>[] = [];
  /** When the lease that refused it can be over, monotonic. */
  #leaseEnds = -Infinity;
  /** How long until the lock may be free, ms, if the last answer said so. */
  #expiresIn: number | undefined;
  /** How the last ask was answered. */
  #refusal: Skipped;

  /** @param holding the locks that the caller holds */
  constructor(
    private readonly engine: Engine,
    private readonly call: LockCall,
    private request: AcquireRequest,
    readonly holding: readonly string[],
  ) {
    super();
    const { wait = 0 } = call.settings;
    this.#began = engine.clock.monotonic();
    this.deadline = this.#began + wait;
    this.#refusal = { ran: false, reason: 'held', holder: engine.instance };
    this.place = this.job === undefined ? call.place : engine.waits.placeOf(call.name, this.job);
  }

  get name(): string {
    return this.call.name;
  }

  get token(): string {
    return this.request.token;
  }

  get signal(): AbortSignal | undefined {
    return this.call.signal;
  }

  get job(): string | undefined {
    return this.call.start?.tick === undefined ? undefined : this.call.job;
  }

  /** What it asks for, without how it waits. */
  get bareRequest(): AcquireRequest {
    return this.request;
  }

  /** An ask is sent: from now on the call may stand in the store's line. */
  sent(): void {
    this.#stands = true;
  }

  /** What it asks for now, with how it waits. */
  requestInLine(): AcquireRequest {
    const { request, call, engine } = this;
    const now = engine.clock.monotonic();
    const limit = Math.max(1, Math.ceil(this.deadline - now));
    const wait = {
      limit,
      priority: call.settings.priority ?? 0,
      process: engine.waits.process,
      ...(call.kind === 'drain' && { drains: true }),
      ...(this.place === undefined ? undefined : { place: this.place }),
      ...(this.#leaseEnds > now ? { notBefore: Math.ceil(this.#leaseEnds - now) } : undefined),
    };
    return { ...request, wait };
  }

  /** An ask was not answered: it may still be on its way, even if the next one is answered. */
  doubt(asked: Asked<AcquireResult>): void {
    this.#unsure.push(asked);
  }

  /** Whether an ask was not answered, and may still be on its way. */
  get isUnsure(): boolean {
    return this.#unsure.length > 0;
  }

  /** The store has answered an ask. */
  answered(result: AcquireResult): void {
    if (result.acquired) return void (this.#stands = false);
    const { waiting, holder, expiresIn } = result;
    this.#expiresIn = expiresIn;
    this.place = waiting?.place ?? this.place;
    this.ahead = waiting?.ahead ?? this.ahead;
    // Nobody writes the lease of another program back. A store that has lost its data knows no holder.
    if (holder !== undefined) this.#leaseEnds = this.engine.clock.monotonic() + (expiresIn ?? 0);
  }

  /** An ask was not answered. */
  failed(error: Error, asked: Asked<AcquireResult>): undefined {
    this.engine.outages.failed(error, { call: 'acquire', locks: [this.call.name] });
    if (!wasNotApplied(error)) this.doubt(asked);
  }

  /** An ask was refused. Returns whether the call goes on waiting. */
  goesOnAfter(refusal: Skipped): boolean {
    // After a pause no skipped call is made up for, but queued calls still run: so a drain waits.
    const isPassing =
      PASSING.has(refusal.reason) || (refusal.reason === 'paused' && this.call.kind === 'drain');
    if (!isPassing) return false;
    this.#refusal = refusal;
    return true;
  }

  /** Begins to wait, and reports it. */
  enter(): void {
    this.engine.waits.enter(this);
    this.#report();
  }

  /** Waits until it has to ask, or its wait is over. */
  next(): Promise<Next> {
    // Whether hints come is known only after the first call has entered the line.
    const problem = this.engine.hears('waiting') ? this.engine.waits.problem() : undefined;
    if (problem !== undefined) this.#tell(problem);
    const expiresIn = this.#expiresIn;
    this.#expiresIn = undefined;
    return this.engine.waits.next(this, expiresIn);
  }

  /** Leaves the line, and comes back to its place with another token: the release of an abandoned ask may come at any later time. */
  startOver(): undefined {
    if (!this.#stands) return;
    this.#leave();
    const { token } = this;
    this.request = { ...this.request, token: newId() };
    this.engine.waits.renamed(this, token);
  }

  /** Its turn has come. */
  granted(lease: Lease): Lease {
    lease.hasWaited(this.#waited);
    return lease;
  }

  /** The store refuses the start of its job: the call leaves the line. */
  refused(refusal: Skipped): Skipped {
    this.#leave();
    return { ...refusal, waited: this.#waited };
  }

  /**
   * Its wait is over.
   *
   * @throws the reason of the call's signal
   */
  ended(why: Exclude<Next, 'ask'>): Skipped {
    this.#leave();
    if (why === 'aborted') throw this.call.signal?.reason;
    const waited = this.#waited;
    return why === 'closing' ? { ran: false, reason: 'shutting-down', waited } : { ...this.#refusal, waited };
  }

  get #waited(): number {
    return Math.round(this.engine.clock.monotonic() - this.#began);
  }

  /** The call is over. An ask that is still on its way must not stand in line, or take the lock, without a caller. */
  over(): void {
    if (this.isUnsure) this.#abandon();
  }

  /** Takes the call out of line, and gives back what the store may have granted. */
  #leave(): void {
    if (!this.#stands) return;
    this.#abandon();
  }

  #abandon(): void {
    const { engine, call } = this;
    const request = this.requestInLine();
    this.#stands = false;
    engine.releases.abandon({ ...request, fencingToken: 0 }, call.settings.storeTimeout, this.#unsure);
    this.#unsure = [];
  }

  #report(): void {
    // Nothing reports a standby or a drain.
    if (!isBehindTheScenes(this.call) && this.engine.hears('waiting')) this.#tell();
  }

  /** @param problem why no hints come */
  #tell(problem?: string): void {
    const { engine, call, holding } = this;
    const { holder } = this.#refusal;
    const { wait = 0, priority = 0 } = call.settings;
    const event: Writable<WaitingEvent> = {
      type: 'waiting',
      lock: call.name,
      instance: engine.instance,
      at: engine.clock.now(),
      ahead: Number.isFinite(this.ahead) ? this.ahead : 0,
      wait,
      priority,
    };
    if (call.job !== undefined) event.job = call.job;
    if (call.start?.tick !== undefined) event.callTick = call.start.tick;
    if (holder !== undefined) event.holder = holder;
    if (holding.length > 0) event.holding = holding;
    if (problem !== undefined) event.problem = problem;
    engine.emit(event);
  }
}
