import { LockStateError, SchedulerLockConfigError, StoreUnavailableError } from '../base/errors.js';
import { type Asked, type Outcome, wasNotApplied } from './access/safe-store.js';
import type { AcquireRequest, AcquireResult, LeaseRef } from '../contract/lock-store.js';
import { readPause } from '../contract/pause.js';
import type { Engine } from './engine.js';
import { InLine } from './in-line.js';
import { Lease, leaseDeadline } from './lease.js';
import {
  type Cause,
  isBehindTheScenes,
  leaseRefOf,
  type LockCall,
  refusalOf,
  requestOf,
  type Skipped,
} from './lock-call.js';
import { type Interrupted, mismatchOf, reportInterrupted } from './reports.js';
import { NO_LINES } from './waits.js';

/**
 * For how long data that a closed connection has not delivered may still arrive, ms: Linux tries for 100 s, or a little longer
 * (`tcp_orphan_retries`).
 */
const LONGEST_COPY = 120_000;

/** The calls that ask for one lease: one, or two with the same token, over two connections. The first one counts for its deadline. */
type Copies = readonly [Asked<AcquireResult>, ...Asked<AcquireResult>[]];

/** How one call takes its lock: {@link before}, and then one ask; or, of a call that may wait, {@link takeInLine}. */
export abstract class Take implements OpenCall {
  readonly #request: AcquireRequest;
  /** Its wait for the lock, if it may wait. */
  protected readonly line: InLine | undefined;

  abstract readonly isLive: boolean;
  abstract readonly info: OpenRun | undefined;
  abstract refused(call: LockCall): void;

  constructor(
    protected readonly engine: Engine,
    readonly call: LockCall,
    protected readonly admission: Admission,
  ) {
    const { wait = 0 } = call.settings;
    const brief = call.brief === true && wait === 0 && !engine.hears('refusal');
    const history = engine.recorder !== undefined && call.settings.history === true;
    this.#request = requestOf(call, engine.instance, { brief, history });
    if (wait > 0) this.line = new InLine(engine, call, this.#request, admission.holding());
  }

  /**
   * Waits for a release of the lock that the store has not answered.
   *
   * @returns `undefined` at once if there is none; otherwise a promise of why no lease is asked for, if so
   */
  protected before(): Promise<Lease | Skipped | undefined> | undefined {
    const released = this.engine.releases.tryFirst(this.call.name);
    return released && this.#after(released);
  }

  async #after(released: Promise<Error | undefined>): Promise<Lease | Skipped | undefined> {
    const error = await released;
    if (this.engine.closing) return { ran: false, reason: 'shutting-down' };
    return error === undefined ? undefined : this.#withoutStore(error, true);
  }

  /** Asks for the lock, and waits for it. Rejects with the reason of the call's signal. */
  protected async takeInLine(): Promise<Lease | Skipped> {
    const { line, admission, call } = this;
    if (line === undefined || !this.engine.waits.possible) throw noLines(call);
    let answer = await this.before();
    if (answer === undefined && !admission.blocked(call.name)) {
      const asked = this.send();
      answer = await this.afterFirstAnswer(asked, await asked.outcome);
    }
    if (!(answer instanceof Lease)) answer = await this.#wait(line, answer);
    if (answer instanceof Lease) admission.granted(this);
    return answer;
  }

  /**
   * Stands in line until the lock is granted, or the wait is over.
   *
   * @param first how the first ask was refused; `undefined` if there was none
   */
  async #wait(line: InLine, first: Skipped | undefined): Promise<Lease | Skipped> {
    if (first !== undefined && !line.goesOnAfter(first)) return line.refused(first);
    line.enter();
    try {
      for (;;) {
        const next = await line.next();
        if (next !== 'ask') return line.ended(next);
        const end = await this.#askInLine(line);
        if (end !== undefined) return end;
      }
    } finally {
      this.engine.waits.leave(line);
    }
  }

  /** One more ask. Resolves to how the wait has ended, if it has. An outage does not end it. */
  async #askInLine(line: InLine): Promise<Lease | Skipped | undefined> {
    if (this.admission.blocked(this.call.name)) return line.startOver();
    const asked = this.send();
    const outcome = await asked.outcome;
    if ('error' in outcome && !(outcome.error instanceof SchedulerLockConfigError))
      return line.failed(outcome.error, asked);
    // If a grant came too late, or while a lost run goes on here, the next ask finds out more.
    if ('result' in outcome && outcome.result.acquired && !this.#isUsable(asked)) return undefined;
    const answer = this.#answered([asked], outcome);
    if (answer instanceof Lease) return line.granted(answer);
    if (line.goesOnAfter(answer)) return undefined;
    // An ask that was not answered may have started this very tick: then that start is taken back.
    return line.isUnsure ? line.startOver() : line.refused(answer);
  }

  #isUsable({ sentAt }: Asked<AcquireResult>): boolean {
    const late = this.engine.clock.monotonic() >= leaseDeadline(sentAt, this.call.settings.ttl);
    return !late && !this.admission.blocked(this.call.name);
  }

  // One ask.

  /** Sends an ask. @param until when to give up, monotonic */
  protected send(until?: number): Asked<AcquireResult> {
    const { clock, store } = this.engine;
    const now = clock.monotonic();
    const limit = until === undefined ? this.call.settings.storeTimeout : Math.max(1, until - now);
    this.line?.sent();
    return store.acquire(this.line?.requestInLine() ?? this.#request, limit, now);
  }

  /** What becomes of the first ask: it may be worth a second one. */
  protected afterFirstAnswer(
    asked: Asked<AcquireResult>,
    outcome: Outcome<AcquireResult>,
  ): Lease | Skipped | Promise<Lease | Skipped> {
    const isLost = 'error' in outcome && !this.engine.closing && isWorthAnother(this.call, outcome.error);
    return isLost ? this.#askAgain(asked, outcome.error) : this.#answered([asked], outcome);
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
    this.line?.doubt(first);
    await engine.store.reconnect();
    if (late !== undefined) return this.#answered([first], late);
    if (engine.closing || call.signal?.aborted === true) return this.#answered([first], { error });
    const second = this.send(first.sentAt + 2 * first.limit);
    const outcome = await Promise.race([granted, second.outcome]);
    // A second one that was certainly not carried out says nothing about the first.
    const isKnown = 'error' in outcome && outcome.error instanceof StoreUnavailableError;
    const isFirst = isKnown && outcome.error.outcome === 'not-applied';
    return this.#answered([first, second], isFirst ? { error } : outcome);
  }

  /** The store has answered the acquire, or not. */
  #answered(copies: Copies, outcome: Outcome<AcquireResult>): Lease | Skipped {
    const { engine, call } = this;
    const request = this.line?.bareRequest ?? this.#request;
    const [{ sentAt }] = copies;
    if ('error' in outcome) return this.#failed(outcome.error, copies);
    const { result } = outcome;
    engine.outages.succeeded(result.acquired ? 'acquire' : 'look', call.name);
    this.line?.answered(result);
    if (!result.acquired) {
      // A call in line goes on with this token.
      if (this.line === undefined) this.#undoOthers(copies, request, 0);
      return refusalOf(request, result);
    }
    if (result.interrupted !== undefined) this.#noteInterruption(result.interrupted);
    const now = engine.clock.monotonic();
    if (this.#isUnwanted(now, sentAt))
      return this.#giveBack({ ...request, fencingToken: result.fencingToken }, copies);
    const ref = leaseRefOf(request, result.fencingToken, result.attempt);
    const lease = new Lease(ref, call.settings, now, sentAt, engine.clock, engine.emit, causeOf(call));
    this.#undoOthers(copies, request, result.fencingToken);
    lease.mismatch = mismatchOf(engine, ref, call.start, result.previousSchedule);
    return lease;
  }

  /** One of two copies that is granted when its call or its run is over leaves a lease behind that nobody uses. @param own its lease */
  #undoOthers(copies: Copies, request: AcquireRequest, own: number): void {
    if (copies.length === 1) return;
    for (const copy of copies)
      copy.listen((outcome) => {
        const other = 'result' in outcome && outcome.result.acquired ? outcome.result.fencingToken : own;
        if (other !== own)
          this.engine.releases.abandon({ ...request, fencingToken: other }, this.call.settings.storeTimeout);
      });
  }

  #noteInterruption(run: Interrupted): void {
    const { engine, call } = this;
    engine.recorder?.noteInterruption(call.name, run);
    // A pause that has run out is no run of anybody.
    if (readPause(run.holder) === undefined) reportInterrupted(engine, call.name, run);
  }

  /** Whether a grant came too late for its caller. */
  #isUnwanted(now: number, sentAt: number): boolean {
    const { signal, settings } = this.call;
    return signal?.aborted === true || this.engine.closing || now >= leaseDeadline(sentAt, settings.ttl);
  }

  /** @throws the reason of the call's signal */
  #giveBack(lease: LeaseRef, copies: Copies): Lease | Skipped {
    const { engine, call } = this;
    engine.releases.abandon(lease, call.settings.storeTimeout, copies.length > 1 ? copies : []);
    if (call.signal?.aborted === true) throw call.signal.reason;
    // That a closing instance does not take the lease is no failure of the store.
    return engine.closing ? { ran: false, reason: 'shutting-down' } : this.#withoutStore(tooLate());
  }

  /** The store has failed, or not answered the acquire in time. */
  #failed(error: Error, copies: Copies): Lease | Skipped {
    const { engine, call, line } = this;
    // The store cannot keep this name: no acquire is on its way, and the store is fine.
    if (error instanceof SchedulerLockConfigError) return { ran: false, reason: 'invalid-name', error };
    if (!wasNotApplied(error)) {
      const request = line?.requestInLine() ?? this.#request;
      engine.releases.abandon({ ...request, fencingToken: 0 }, call.settings.storeTimeout, copies);
    }
    return this.#withoutStore(error);
  }

  /**
   * Goes on without an answer of the store, as `onStoreError` says.
   *
   * @param again whether an earlier call has failed for the same reason, so that this one was not even made
   */
  #withoutStore(error: Error, again = false): Lease | Skipped {
    const { engine, call } = this;
    const skips = call.settings.onStoreError === 'skip';
    const skipped = skips && !isBehindTheScenes(call);
    if (again) engine.outages.failedAgain(skipped);
    else engine.outages.failed(error, { call: 'acquire', locks: [call.name], skipped });
    if (engine.closing) return { ran: false, reason: 'shutting-down' };
    if (skips) return { ran: false, reason: 'store-unavailable', error };
    const { clock, emit } = engine;
    const ref = leaseRefOf(this.#request, 0);
    const lease = new Lease(ref, call.settings, clock.monotonic(), undefined, clock, emit, causeOf(call));
    emit({ type: 'unlocked', ...lease.facts(), error });
    return lease;
  }
}

const causeOf = ({ kind, started }: LockCall): Cause => ({
  origin: kind === 'fired' ? 'schedule' : undefined,
  started,
});

const noLines = ({ name }: LockCall): Error =>
  new SchedulerLockConfigError([`the lock ${JSON.stringify(name)}: ${NO_LINES} Nothing was run.`]);

const tooLate = (): Error =>
  new StoreUnavailableError('The store granted the lease only when it was already over.', {
    outcome: 'unknown',
  });

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
function isWorthAnother({ start, signal }: LockCall, error: Error): boolean {
  if (start === undefined || signal?.aborted === true) return false;
  if (start.tick === undefined && (start.interval ?? 0) < LONGEST_COPY) return false;
  if (error instanceof SchedulerLockConfigError || error instanceof LockStateError) return false;
  return !(error instanceof StoreUnavailableError) || (error.outcome === 'unknown' && !error.refused);
}

/** A run of a job that goes on here. */
export interface OpenRun extends Pick<LeaseRef, 'tick' | 'attempt' | 'fencingToken'> {
  readonly lock: string;
  readonly job: string;
  readonly instance: string;
  /** How long ago its signal aborted (its `timeout` has passed, or its lease is lost), ms; below 0: it has not. */
  readonly overFor: number;
}

/** A call that has its lock, or asks for it. */
export interface OpenCall {
  readonly call: LockCall;
  /** Whether its job goes on under a live lease. */
  readonly isLive: boolean;
  /** The facts about its run, while its job runs. */
  readonly info: OpenRun | undefined;
  /** Another call for the lock was refused, or not even made, because of this one. */
  refused(call: LockCall): void;
}

/** The other calls of its process, as a call sees them. */
export interface Admission {
  /** A call that has waited has its lease, and its job begins. */
  granted(call: OpenCall): void;
  /** A call is over: right before its promise is settled. */
  over(call: OpenCall): void;
  /** Whether a run of the lock goes on here that has lost its lease, or never had one. */
  blocked(name: string): boolean;
  /** The locks that the caller holds. */
  holding(): string[];
}
