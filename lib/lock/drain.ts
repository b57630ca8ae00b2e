import { LockStateError } from '../base/errors.js';
import type { DeadLetteredEvent } from '../contract/events/call-events.js';
import type { Annotation } from '../contract/history-store.js';
import type { DeadLetter, DeliveredCall, NextOptions, NextResult } from '../contract/queued-call-store.js';
import type { LeaseRef, Writable } from '../contract/lock-store.js';
import { type Queued, readQueued } from '../contract/queued-arguments.js';
import type { Engine } from './engine.js';
import { Lease } from './lease.js';
import { wasNotApplied } from './access/safe-store.js';
import type { Cause, LockCall, LockSettings, RunResult } from './lock-call.js';
import type { Admission } from './take.js';
import type { EndOfRun } from './recorder.js';
import { isConfirmed, reportReleased } from './reports.js';
import { Holding } from './run.js';

/** A job whose calls can be queued. */
export interface QueueJob {
  readonly job: string;
  /** Its lock; `undefined` if that depends on the arguments of a call. */
  readonly lock: string | undefined;
  readonly settings: LockSettings;
  /** @param args the arguments of the queued call */
  readonly run: (args: readonly unknown[]) => unknown;
  /** Whether it was deleted since. */
  readonly isGone: () => boolean;
}

/** For whom a drain runs queued calls. */
export interface Drainer {
  /** The jobs that can run here. */
  readonly jobs: ReadonlyMap<string, QueueJob>;
  /** The drain asks the store for the next queued call now: the store knows every call that was queued before. */
  asks(): void;
  /** The lock is given away before the next queued call. @param place of that one; absent: there may be none */
  standsBehind(place?: number): void;
}

/** A queued call, and the lease under which it runs. */
interface Delivery {
  readonly lease: Lease;
  readonly run: (lease: Lease) => unknown;
}

/** What an event tells of a dead letter. */
type Letter = Pick<DeadLetter, 'job' | 'deliveries' | 'reason'> & {
  readonly key?: string | undefined;
};

/** That there is no delivery. `unknown`: the store may have granted a lease for the next queued call, or may still grant it. */
type NoDelivery = 'none' | 'unknown';

/** Takes a lock once, and runs its queued calls one after another, each with a fencing token of its own. */
export class Drain extends Holding {
  /** The end of a run that it reported last. */
  #reported: EndOfRun | undefined;
  /** The jobs for which it last asked for a queued call: one may be deleted before the answer. */
  #asked: readonly QueueJob[] = [];

  constructor(
    engine: Engine,
    call: LockCall,
    admission: Admission,
    private readonly drainer: Drainer,
    /** Runs a job in the context of its lock. */
    private readonly within: (lease: Lease, job: () => unknown) => unknown,
  ) {
    super(engine, call, admission);
  }

  async run(): Promise<RunResult<void>> {
    const { underWay } = this.engine;
    underWay.begin();
    try {
      const lease = await this.takeInLine();
      if (!(lease instanceof Lease)) return lease;
      await this.#runAll(lease);
      return { ran: true, value: undefined };
    } finally {
      underWay.end();
      this.over();
    }
  }

  async #runAll(granted: Lease): Promise<void> {
    const { underWay } = this.engine;
    let lease = granted;
    let end: EndOfRun | undefined;
    for (;;) {
      const next = await this.#next(lease, end).catch((error: unknown) => this.#broken(lease, end, error));
      if (typeof next === 'string') return this.#giveBack(lease, end, next);
      lease = next.lease;
      underWay.end();
      const ended = await this.hold(lease, next.run);
      underWay.begin();
      end = this.end(lease, ended);
      await lease.renewal;
    }
  }

  /** What the store has done wrong must not keep the lock until its ttl is over. @throws the error */
  async #broken(lease: Lease, end: EndOfRun | undefined, error: unknown): Promise<never> {
    await this.#giveBack(lease, end, 'unknown');
    throw error;
  }

  /** @param end how the last run ended */
  async #giveBack(lease: Lease, end: EndOfRun | undefined, why: NoDelivery): Promise<void> {
    const { releases } = this.engine;
    // The release has to say how the last run ended, unless the store has heard it already.
    const unsaid = end === this.#reported ? undefined : end;
    const release = this.releaseOf(lease, end?.outcome ?? 'completed', unsaid);
    const asked = releases.send(release);
    const answer = releases.tried(release, asked, await asked.outcome);
    if (why === 'unknown') this.#abandonNext(lease);
    if (unsaid !== undefined) this.#reportEnd(lease, unsaid, isConfirmed(answer));
  }

  /**
   * Ends the queued call of the last run, and takes the next one.
   *
   * @param end how the last run ended
   * @returns the queued call; if there is none, or none for now, the lease has to be released
   */
  async #next(lease: Lease, end: EndOfRun | undefined): Promise<Delivery | NoDelivery> {
    const { engine, drainer } = this;
    if (engine.closing || lease.lostReason !== undefined) return 'none';
    const sentAt = engine.clock.monotonic();
    // The lock is kept for `atLeast` before the next one, if there is any.
    if (lease.keptUntil > sentAt) {
      drainer.standsBehind();
      return 'none';
    }
    drainer.asks();
    this.#asked = [...drainer.jobs.values()].filter(
      ({ lock }) => lock === undefined || lock === this.call.name,
    );
    const takes = this.#asked.map(({ job, settings }) => ({ job, ttl: settings.ttl }));
    const options = end === undefined ? { takes } : this.#ended(takes, lease, end);
    const { storeTimeout } = this.call.settings;
    const outcome = await engine.store.next(lease.ref, options, storeTimeout, sentAt).outcome;
    if ('error' in outcome) {
      engine.outages.failed(outcome.error, { call: 'next', locks: [lease.ref.name] });
      return wasNotApplied(outcome.error) ? 'none' : 'unknown';
    }
    engine.outages.succeeded('next', lease.ref.name);
    return this.#answered(lease, outcome.result, end, sentAt);
  }

  /**
   * The store did not answer the call for the next queued call. Gives back the lease that it may have granted, which has the same token. A
   * call that arrives after this finds no live lease, and so grants nothing.
   */
  #abandonNext({ ref: { name, token, ttl, holder } }: Lease): void {
    const { storeTimeout } = this.call.settings;
    this.engine.releases.abandon({ name, token, fencingToken: 0, ttl, holder }, storeTimeout);
  }

  #ended(takes: NextOptions['takes'], lease: Lease, end: EndOfRun): NextOptions {
    const record = this.engine.recorder?.record(lease, end);
    const { outcome } = end;
    return record === undefined ? { takes, outcome } : { takes, outcome, record };
  }

  #answered(
    lease: Lease,
    result: NextResult,
    end: EndOfRun | undefined,
    sentAt: number,
  ): Delivery | NoDelivery {
    const { ref } = lease;
    for (const letter of result.dead) this.#report(ref, letter);
    if (end !== undefined) this.#reportEnd(lease, end, result.held);
    if (result.queuedCall !== undefined)
      return this.#deliver(ref, result.queuedCall, result.fencingToken, sentAt);
    if (result.held && result.place !== undefined) this.drainer.standsBehind(result.place);
    return 'none';
  }

  /** Reports the end of a run, and the dead letter that a failed run leaves behind. */
  #reportEnd(lease: Lease, end: EndOfRun, confirmed: boolean): void {
    const { ref, queuedCall } = lease;
    const { outcome, ended } = end;
    this.#reported = end;
    reportReleased(this.engine, lease, end, confirmed);
    if (queuedCall === undefined || (outcome !== 'failed' && outcome !== 'timed-out')) return;
    const { key, delivery } = queuedCall;
    const letter = { job: ref.job ?? '', key, deliveries: delivery, reason: outcome };
    this.#report(ref, letter, 'error' in ended ? ended.error : undefined);
  }

  #deliver(
    { name, token, holder }: LeaseRef,
    queuedCall: DeliveredCall,
    fencingToken: number,
    sentAt: number,
  ): Delivery {
    const { clock, emit } = this.engine;
    const { id, job, key, args, delivery, queuedAt, merged } = queuedCall;
    const { settings, run } = this.#asked.find((each) => each.job === job) as QueueJob;
    const ref = { name, token, fencingToken, ttl: settings.ttl, holder, job, queuedCall: id };
    const { args: given, by }: Partial<Queued> = readQueued(args) ?? {};
    const cause: Cause = {
      origin: { key, delivery, queuedAt, merged },
      // Of several that became one, whoever asked waits for the one that is kept.
      started: by === undefined ? QUEUED : { trigger: 'control', by: { ...by, call: id } },
    };
    const lease = new Lease(ref, settings, clock.monotonic(), sentAt, clock, emit, cause);
    return { lease, run: (own) => this.within(own, () => run(given ?? unreadable(name))) };
  }

  #report({ name }: LeaseRef, { job, key, deliveries, reason }: Letter, error?: unknown): void {
    const { instance, clock, emit } = this.engine;
    const event: Writable<DeadLetteredEvent> = {
      type: 'dead-lettered',
      lock: name,
      job,
      instance,
      at: clock.now(),
      deliveries,
      reason,
    };
    if (key !== undefined) event.key = key;
    if (error !== undefined) event.error = error;
    emit(event);
  }
}

const QUEUED: Annotation = { trigger: 'queued' };

/**
 * A call whose arguments cannot be read fails, and becomes a dead letter. The message of a parser would quote the arguments, which are
 * not for the log.
 */
function unreadable(lock: string): never {
  throw new LockStateError(
    lock,
    'the arguments of a queued call are no JSON array, so it cannot run. Only this library should write into its store.',
  );
}
