import { LockStateError } from '../base/errors.js';
import { given } from '../base/shared.js';
import type { Annotation } from '../contract/history-store.js';
import type { DeliveredCall, NextOptions, NextResult } from '../contract/queued-call-store.js';
import type { LeaseRef, ReleaseOutcome } from '../contract/lock-store.js';
import { type Queued, readQueued } from '../contract/queued-arguments.js';
import type { Engine } from './engine.js';
import { Lease } from './lease.js';
import { wasNotApplied } from './access/safe-store.js';
import type { Cause, LockCall, LockSettings, RunResult } from './lock-call.js';
import type { EndOfRun } from './recorder.js';
import { isConfirmed, reportDead, reportReleased } from './reports.js';
import { type Admission, Run } from './run.js';

/** A job whose calls can be queued. */
export interface QueueJob {
  readonly job: string;
  /** Its lock; `undefined` if that depends on the arguments of a call. */
  readonly lock: string | undefined;
  readonly settings: LockSettings;
  readonly run: (args: readonly unknown[]) => unknown;
  readonly isGone: () => boolean;
}

/** For whom a drain runs queued calls. */
export interface Drainer {
  readonly jobs: ReadonlyMap<string, QueueJob>;
  /** The drain asks the store for the next queued call now: the store knows every call that was queued before. */
  asks(): void;
  /** The lock is given away before the next queued call. @param place of that one; absent: there may be none */
  standsBehind(place?: number): void;
}

interface Delivery {
  readonly lease: Lease;
  readonly run: (lease: Lease) => unknown;
}

/** Takes a lock once, and runs its queued calls one after another, each with a fencing token of its own. */
export class Drain {
  readonly #run: Run;
  /** The jobs for which it last asked for a queued call: one may be deleted before the answer. */
  #asked: readonly QueueJob[] = [];
  /** How the last run ended, until the store knows it. */
  #end: EndOfRun | undefined;
  /** Whether the store may have granted a lease for the next queued call, or may still grant it: it did not answer. */
  #mayHaveNext = false;

  constructor(
    private readonly engine: Engine,
    private readonly call: LockCall,
    admission: Admission,
    private readonly drainer: Drainer,
    private readonly within: (lease: Lease, job: () => unknown) => unknown,
  ) {
    this.#run = new Run(engine, call, admission);
  }

  async run(): Promise<RunResult<void>> {
    try {
      const lease = await this.#run.take();
      if (!(lease instanceof Lease)) return lease;
      await this.#runAll(lease);
      return { ran: true, value: undefined };
    } finally {
      this.#run.over();
    }
  }

  /** Each queued call is an ordinary grant, followed by the next one. */
  async #runAll(granted: Lease): Promise<void> {
    let lease = granted;
    let outcome: ReleaseOutcome = 'completed';
    for (;;) {
      const next = await this.#next(lease);
      if (next === undefined) return this.#giveBack(lease, outcome);
      lease = next.lease;
      const ended = await this.#run.hold(lease, next.run);
      this.#end = this.#run.end(lease, ended);
      ({ outcome } = this.#end);
      await lease.renewal;
    }
  }

  /** The release has to say how the last run ended, unless the store has heard it already. */
  async #giveBack(lease: Lease, outcome: ReleaseOutcome): Promise<void> {
    const end = this.#end;
    const answer = await this.#run.giveBack(lease, outcome, end);
    if (this.#mayHaveNext) {
      // The lease of the next one would have the same token. A call that arrives after this finds no live lease, and so grants nothing.
      const { name, token, ttl, holder } = lease.ref;
      const ref = { name, token, fencingToken: 0, ttl, holder };
      this.engine.releases.abandon(ref, this.call.settings.storeTimeout);
    }
    if (end !== undefined) this.#reportEnd(lease, end, isConfirmed(answer));
  }

  /** Ends the queued call of the last run, and takes the next one. `undefined`: there is none, or none for now. */
  async #next(lease: Lease): Promise<Delivery | undefined> {
    const { engine, drainer } = this;
    if (engine.closing || lease.lostReason !== undefined) return undefined;
    const sentAt = engine.clock.monotonic();
    // The lock is kept for `atLeast` before the next one, if there is any.
    if (lease.keptUntil > sentAt) {
      drainer.standsBehind();
      return undefined;
    }
    drainer.asks();
    const asked = engine.store.next(lease.ref, this.#ask(lease), this.call.settings.storeTimeout, sentAt);
    const outcome = await asked.outcome;
    if ('result' in outcome) return this.#answered(lease, outcome.result, sentAt);
    engine.outages.failed(outcome.error, 'next', [lease.ref.name]);
    this.#mayHaveNext = !wasNotApplied(outcome.error);
    return undefined;
  }

  #ask(lease: Lease): NextOptions {
    const end = this.#end;
    this.#asked = [...this.drainer.jobs.values()].filter(
      ({ lock }) => lock === undefined || lock === this.call.name,
    );
    const takes = this.#asked.map(({ job, settings }) => ({ job, ttl: settings.ttl }));
    if (end === undefined) return { takes };
    return { takes, outcome: end.outcome, ...given({ record: this.engine.recorder?.record(lease, end) }) };
  }

  #answered(lease: Lease, result: NextResult, sentAt: number): Delivery | undefined {
    const { engine, drainer } = this;
    engine.outages.succeeded('next', lease.ref.name);
    for (const letter of result.dead) reportDead(engine, lease, letter);
    if (this.#end !== undefined) this.#reportEnd(lease, this.#end, result.held);
    if (result.queuedCall !== undefined) return this.#deliver(lease.ref, result, sentAt);
    if (result.held && result.place !== undefined) drainer.standsBehind(result.place);
    return undefined;
  }

  /** Reports the end of a run, and the dead letter that a failed run leaves behind. */
  #reportEnd(lease: Lease, end: EndOfRun, confirmed: boolean): void {
    const { queuedCall, ref } = lease;
    const { outcome: reason, ended } = end;
    this.#end = undefined;
    reportReleased(this.engine, lease, end, confirmed);
    if (queuedCall === undefined || (reason !== 'failed' && reason !== 'timed-out')) return;
    const { key, delivery: deliveries } = queuedCall;
    const letter = { job: ref.job ?? '', deliveries, reason, ...given({ key }) };
    reportDead(this.engine, lease, letter, 'error' in ended ? ended.error : undefined);
  }

  #deliver(
    { name, token, holder }: LeaseRef,
    { queuedCall, fencingToken }: Extract<NextResult, { queuedCall: DeliveredCall }>,
    sentAt: number,
  ): Delivery {
    const { clock, emit } = this.engine;
    const { id, job, key, args, delivery, queuedAt, merged } = queuedCall;
    const { settings, run } = this.#asked.find((each) => each.job === job) as QueueJob;
    const ref = { name, token, fencingToken, ttl: settings.ttl, holder, job, queuedCall: id };
    const { args: values, by }: Partial<Queued> = readQueued(args) ?? {};
    const cause: Cause = {
      origin: { key, delivery, queuedAt, merged },
      // Of several that became one, whoever asked waits for the one that is kept.
      started: by === undefined ? QUEUED : { trigger: 'control', by: { ...by, call: id } },
    };
    const lease = new Lease(ref, settings, clock.monotonic(), sentAt, clock, emit, cause);
    // The call fails, and becomes a dead letter. The message of a parser would quote the arguments, which are not for the log.
    const call = (): unknown => {
      if (values === undefined) throw new LockStateError(name, NO_JSON);
      return run(values);
    };
    return { lease, run: (own) => this.within(own, call) };
  }
}

const QUEUED: Annotation = { trigger: 'queued' };
const NO_JSON =
  'the arguments of a queued call are no JSON array, so it cannot run. Only this library should write into its store.';
