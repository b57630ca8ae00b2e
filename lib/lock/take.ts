import { SchedulerLockConfigError, StoreUnavailableError } from '../base/errors.js';
import { newId } from '../base/shared.js';
import { type Asked, type Outcome, wasNotApplied } from './access/safe-store.js';
import type { AcquireRequest, AcquireResult } from '../contract/lock-store.js';
import type { Engine } from './engine.js';
import { Lease, leaseDeadline } from './lease.js';
import {
  type Cause,
  isBehindTheScenes,
  leaseRefOf,
  type LockCall,
  mayWait,
  refusalOf,
  requestOf,
  type Skipped,
} from './lock-call.js';
import { mismatchOf, reportInterrupted, reportWaiting } from './reports.js';
import { type Next, NO_LINES, type WaitingCall } from './waits.js';

/** One for all calls: each has two of them. */
const NONE: readonly never[] = [];

/** The other calls of its process, as a call that asks sees them. */
export interface Others {
  /** Whether a run of the lock goes on here that has lost its lease, or never had one. */
  blocked(name: string): boolean;
  /** The locks that the caller holds. */
  holding(): string[];
}

/** How one call takes its lock. {@link take} has it from top to bottom. */
export class Take {
  /** Sent with the same token each time. */
  #request: AcquireRequest;
  readonly #line: WaitingCall | undefined;
  /** The asks with this token that may still be on their way. */
  #unsure: readonly Asked<AcquireResult>[] = NONE;
  /** Whether the call has begun to wait, and whether the store may have it in its line. */
  #waits = false;
  #stands = false;
  /** The locks that the caller holds, if it may wait. */
  readonly holding: readonly string[] = NONE;

  constructor(
    private readonly engine: Engine,
    private readonly call: LockCall,
    private readonly others: Others,
  ) {
    const waits = mayWait(call.settings);
    const brief = call.brief === true && !waits && !engine.hears('refusal');
    const history = engine.recorder !== undefined && call.settings.history === true;
    this.#request = requestOf(call, engine.instance, { brief, history });
    if (!waits) return;
    this.#line = engine.waits.newCall(call, this.#request.token);
    this.holding = others.holding();
  }

  /**
   * Asks for the lock, and waits for it if the call may wait. Rejects with the reason of the call's signal. Awaits nothing that is not
   * there: each further turn of promises would add to the cost of each run.
   */
  take(): Promise<Lease | Skipped> {
    return this.#line === undefined ? this.#ask() : this.#inLine(this.#line);
  }

  /** The call is over. An ask that is still on its way must not stand in line, or take the lock, without a caller. */
  over(): void {
    if (this.#unsure.length > 0 && !this.engine.closed) this.#abandon();
  }

  /** One ask, the first one or, of a call that waits, a further one. */
  async #ask(): Promise<Lease | Skipped> {
    // In line, neither a release nor a second try may hold up the end of the wait.
    const released = this.#waits ? undefined : this.engine.releases.tryFirst(this.call.name);
    if (released !== undefined) {
      const error = await released;
      if (this.engine.closing) return { ran: false, reason: 'shutting-down' };
      if (error !== undefined) return this.#withoutStore(error);
    }
    const blocked = this.#blocked();
    if (blocked !== undefined) {
      if (this.#stands) this.#startOver();
      return blocked;
    }
    const asked = this.#send();
    return this.afterFirst(asked, await asked.outcome);
  }

  /** As {@link take}, if nothing comes before the first ask and the call does not wait: {@link afterFirst} goes on, with a promise less. */
  ask(): Asked<AcquireResult> | undefined {
    if (this.#line === undefined && !this.engine.releases.comesFirst(this.call.name)) return this.#send();
    return undefined;
  }

  afterFirst(
    asked: Asked<AcquireResult>,
    outcome: Outcome<AcquireResult>,
  ): Lease | Skipped | Promise<Lease | Skipped> {
    const isLost = 'error' in outcome && !this.engine.closing && isWorthAnother(this.call, outcome.error);
    return isLost && !this.#waits ? this.#askAgain(asked, outcome.error) : this.#answered(asked, outcome);
  }

  /** Asks a second time, over another connection. Both together have twice the limit of one. */
  async #askAgain(first: Asked<AcquireResult>, error: Error): Promise<Lease | Skipped> {
    const { engine, call } = this;
    let late: Outcome<AcquireResult> | undefined;
    // Only a grant: the reason for which the store refuses the first may be over when the second one comes.
    const granted = new Promise<Outcome<AcquireResult>>((resolve) =>
      first.listen((outcome) => {
        if ('result' in outcome && outcome.result.acquired) resolve((late = outcome));
      }),
    );
    await engine.store.reconnect();
    if (late !== undefined) return this.#answered(first, late);
    if (engine.closing || call.signal?.aborted === true) return this.#answered(first, { error });
    const second = this.#send(first.sentAt + 2 * first.limit);
    const outcome = await Promise.race([granted, second.outcome]);
    if (!('error' in outcome)) {
      this.#undoOthers([first, second], outcome.result);
      if (this.#line !== undefined) this.#unsure = [outcome === late ? second : first];
      return this.#answered(first, outcome);
    }
    this.#unsure = [...this.#unsure, first];
    // A second one that was certainly not carried out says nothing about the first.
    const isNothing = outcome.error instanceof StoreUnavailableError && wasNotApplied(outcome.error);
    return isNothing ? this.#failed(error) : this.#failed(outcome.error, second);
  }

  /**
   * The call that was not the answered one may still be granted, beside the lease or after it: such a lease has no caller, and is given
   * back. Nothing is sent before that: the next tick would wait for it, on a connection that may have died.
   */
  #undoOthers(copies: readonly Asked<AcquireResult>[], answered: AcquireResult): void {
    const own = answered.acquired ? answered.fencingToken : 0;
    const request = this.#request;
    for (const copy of copies)
      copy.listen((outcome) => {
        const other = 'result' in outcome && outcome.result.acquired ? outcome.result.fencingToken : own;
        if (other !== own)
          this.engine.releases.abandon({ ...request, fencingToken: other }, this.call.settings.storeTimeout);
      });
  }

  // In line.

  async #inLine(line: WaitingCall): Promise<Lease | Skipped> {
    const { engine, call } = this;
    if (!engine.waits.possible)
      throw new SchedulerLockConfigError([
        `the lock ${JSON.stringify(call.name)}: ${NO_LINES} Nothing was run.`,
      ]);
    const first = await this.#ask();
    if (first instanceof Lease) return first;
    if (!line.goesOnAfter(first)) return this.#leave(line, first);
    engine.waits.enter(line);
    this.#waits = true;
    // Nothing reports a standby or a drain.
    if (!isBehindTheScenes(call)) reportWaiting(engine, call, line, this.holding);
    try {
      for (;;) {
        // Whether hints come is known only after the first call has entered the line.
        const problem = engine.waits.problem();
        if (problem !== undefined) reportWaiting(engine, call, line, this.holding, problem);
        const next = await engine.waits.next(line, this.#request.token);
        if (next !== 'ask') return this.#leave(line, line.ended(next), next);
        const end = await this.#ask();
        if (end instanceof Lease) return Object.assign(end, { waited: line.waited });
        if (end.reason === 'store-unavailable' || line.goesOnAfter(end)) continue;
        if (this.#unsure.length === 0) return this.#leave(line, end);
        // An ask that was not answered may have started this very tick: then that start is taken back.
        this.#startOver();
      }
    } finally {
      engine.waits.leave(line);
    }
  }

  /** Whether a run of the lock goes on here, without its lease, while the call may wait: then it leaves the lock to others. */
  #blocked(): Skipped | undefined {
    const isBlocked = this.#line !== undefined && this.others.blocked(this.call.name);
    return isBlocked ? { ran: false, reason: 'held', holder: this.engine.instance } : undefined;
  }

  /** Leaves the line, and comes back to its place with another token: the release of an abandoned ask may come at any later time. */
  #startOver(fencingToken?: number): void {
    this.#abandon(fencingToken);
    this.#request = { ...this.#request, token: newId() };
  }

  /** Takes the call out of line, and gives back what the store may have granted. @throws the reason of the call's signal */
  #leave(line: WaitingCall, end: Skipped, why?: Next): Skipped {
    if (this.#stands) this.#abandon();
    if (why === 'aborted') throw this.call.signal?.reason;
    return { ...end, waited: line.waited };
  }

  // One ask.

  #asks(): AcquireRequest {
    return this.#line === undefined ? this.#request : { ...this.#request, wait: this.#line.request() };
  }

  /** Sends an ask. @param until when to give up, monotonic */
  #send(until?: number): Asked<AcquireResult> {
    const { clock, store } = this.engine;
    const now = clock.monotonic();
    const limit = until === undefined ? this.call.settings.storeTimeout : Math.max(1, until - now);
    this.#stands = this.#line !== undefined;
    return store.acquire(this.#asks(), limit, now);
  }

  /** An ask was answered, or failed. @param asked the first with its token that may be the granted one: the deadline counts from it */
  #answered(asked: Asked<AcquireResult>, outcome: Outcome<AcquireResult>): Lease | Skipped {
    if ('error' in outcome) return this.#failed(outcome.error, asked);
    const { engine, call } = this;
    const { result } = outcome;
    engine.outages.succeeded(result.acquired ? 'acquire' : 'look', call.name);
    if (!result.acquired) {
      this.#line?.refused(result);
      return refusalOf(this.#request, result);
    }
    this.#stands = false;
    if (result.interrupted !== undefined) reportInterrupted(engine, call.name, result.interrupted);
    const blocked = this.#blocked();
    if (blocked !== undefined) {
      this.#startOver(result.fencingToken);
      return blocked;
    }
    const now = engine.clock.monotonic();
    const isLate = now >= leaseDeadline(asked.sentAt, call.settings.ttl);
    if (isLate || engine.closing || call.signal?.aborted === true) return this.#giveBack(result.fencingToken);
    const ref = leaseRefOf(this.#request, result.fencingToken, result.attempt);
    const lease = new Lease(ref, call.settings, now, asked.sentAt, engine.clock, engine.emit, causeOf(call));
    if (this.#unsure.length > 0) {
      // What is abandoned from now on are copies of an ask that a run has begun for: its start stays.
      const { name, token, ttl, holder } = ref;
      this.#request = { name, token, ttl, holder };
    }
    lease.mismatch = mismatchOf(engine, ref, call.start, result.previousSchedule);
    return lease;
  }

  /** A grant came too late for its caller. @throws the reason of the call's signal */
  #giveBack(fencingToken: number): Lease | Skipped {
    const { engine, call } = this;
    this.#startOver(fencingToken);
    if (call.signal?.aborted === true) throw call.signal.reason;
    // That a closing instance does not take the lease is no failure of the store.
    if (engine.closing) return { ran: false, reason: 'shutting-down' };
    const late = 'The store granted the lease only when it was already over.';
    return this.#withoutStore(new StoreUnavailableError(late, { outcome: 'unknown' }));
  }

  /** Gives back what the store may grant, now or later. */
  #abandon(granted = 0): void {
    // Another one of its asks may be granted with another fencing token.
    const fencingToken = this.#unsure.length > 0 ? 0 : granted;
    const request = fencingToken === 0 ? this.#asks() : this.#request;
    this.engine.releases.abandon({ ...request, fencingToken }, this.call.settings.storeTimeout, this.#unsure);
    this.#unsure = NONE;
    this.#stands = false;
  }

  /** The store has failed, or not answered the ask in time. @param asked the ask, if it may still be on its way */
  #failed(error: Error, asked?: Asked<AcquireResult>): Lease | Skipped {
    // The store cannot keep this name: no ask is on its way, and the store is fine.
    if (error instanceof SchedulerLockConfigError) return { ran: false, reason: 'invalid-name', error };
    if (asked !== undefined && !wasNotApplied(error)) this.#unsure = [...this.#unsure, asked];
    // In line, the next ask has the same token: it gets the lease that this one may have been granted.
    if (this.#unsure.length > 0 && !this.#waits) this.#abandon();
    return this.#withoutStore(error);
  }

  /** Goes on as `onStoreError` says. An outage does not end a wait. */
  #withoutStore(error: Error): Lease | Skipped {
    const { engine, call } = this;
    const skips = this.#waits || call.settings.onStoreError === 'skip';
    const skipped = skips && !this.#waits && !isBehindTheScenes(call);
    engine.outages.failed(error, 'acquire', [call.name], skipped);
    if (engine.closing) return { ran: false, reason: 'shutting-down' };
    if (skips) return { ran: false, reason: 'store-unavailable', error };
    const { clock, emit } = engine;
    const ref = leaseRefOf(this.#request, 0);
    const lease = new Lease(ref, call.settings, clock.monotonic(), undefined, clock, emit, causeOf(call));
    emit({ type: 'unlocked', ...lease.facts(), error });
    return lease;
  }
}

const causeOf = ({ kind, started }: LockCall): Cause =>
  kind === 'fired' ? { origin: 'schedule', started } : { started };

/**
 * Whether an attempt that has failed is worth another one: the connection may have died unnoticed, as seldom used ones do, and the job
 * would be skipped each time.
 *
 * Both have the same token: if the store carries out both, one becomes the lease, and the store answers the other with that lease. If an
 * attempt is carried out after the run, the store refuses it, as its start has run already; else its lease is given back. Who makes a call
 * without a start waits for it, and can make it again.
 *
 * An outage that is known (`not-applied`) fails at once, and a refusal is an answer.
 */
function isWorthAnother({ start, signal }: LockCall, error: Error): boolean {
  if (start === undefined || signal?.aborted === true) return false;
  return !wasNotApplied(error) && !(error instanceof StoreUnavailableError && error.refused);
}
