import type { DeadLetteredEvent } from '../events/events.js';
import type { DeadLetter, DeliveredEvent, NextOptions, NextResult } from '../stores/event-store.js';
import type { Annotation } from '../stores/history-store.js';
import type { LeaseRef, ReleaseResult } from '../stores/lock-store.js';
import type { Engine } from './engine.js';
import { Lease } from './lease.js';
import { personOf, readArguments } from './queued-arguments.js';
import { wasNotApplied } from './undo.js';
import type { LockCall, LockSettings, RunResult } from './lock-call.js';
import type { Admission } from './open-call.js';
import type { EndOfRun } from './recorder.js';
import { reportReleased } from './reports.js';
import { Holding } from './run.js';
import type { Writable } from './writable.js';

/** A job that runs for events. */
export interface EventJob {
  readonly job: string;
  readonly settings: LockSettings;
  /** @param args those of the call that was kept */
  readonly run: (args: readonly unknown[]) => unknown;
}

/** Who works events off. */
export interface Drainer {
  /** The jobs that can run here. */
  readonly jobs: ReadonlyMap<string, EventJob>;
  /** The store is asked for the next event now: it knows those that were kept before. */
  asks(): void;
  /** A call in line goes before the next event, whose place this is. */
  standsBehind(place: number): void;
}

/** An event, and the lease under which it runs. */
interface Delivery {
  readonly lease: Lease;
  readonly run: (lease: Lease) => unknown;
}

/**
 * Why there is no delivery. `silent`: the release has to end the event of the last run. `unknown`: so it has, and the store may have
 * granted a lease for the next one, or grants it yet.
 */
type NoDelivery = 'none' | 'silent' | 'unknown';

/** Works the events of one lock off: takes the lock once, then runs one event after another, each with a fencing token of its own. */
export class Drain extends Holding {
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
    const { waiting } = this.engine;
    waiting.begin();
    try {
      const lease = await this.take();
      if (!(lease instanceof Lease)) return lease;
      await this.#workOff(lease);
      return { ran: true, value: undefined };
    } finally {
      waiting.end();
      this.over();
    }
  }

  async #workOff(granted: Lease): Promise<void> {
    const { waiting } = this.engine;
    let lease = granted;
    let end: EndOfRun | undefined;
    for (;;) {
      const next = await this.#next(lease, end);
      if (typeof next === 'string') return this.#giveBack(lease, end, next);
      lease = next.lease;
      waiting.end();
      const ended = await this.begin(lease, next.run);
      waiting.begin();
      end = this.end(lease, ended);
      if (lease.renewal !== undefined) await lease.renewal;
    }
  }

  /** @param end how the last run ended */
  async #giveBack(lease: Lease, end: EndOfRun | undefined, why: NoDelivery): Promise<void> {
    const { releases } = this.engine;
    // The store has the record of the last run, if it has answered.
    const unsaid = why === 'none' ? undefined : end;
    const release = this.releaseOf(lease, end?.outcome ?? 'completed', unsaid);
    const asked = releases.send(release);
    const answer = releases.tried(release, asked, await asked.outcome);
    if (why === 'unknown') this.#abandonNext(lease);
    if (unsaid !== undefined) this.#reportEnd(lease, unsaid, answer);
  }

  /**
   * Ends the event of the last run, and takes the next one.
   *
   * @param end how the last run ended
   * @returns the event; if there is none, or none for now, the lease has to be released
   */
  async #next(lease: Lease, end: EndOfRun | undefined): Promise<Delivery | NoDelivery> {
    const { engine, drainer } = this;
    if (engine.closing || lease.lostReason !== undefined) return 'silent';
    const sentAt = engine.clock.monotonic();
    drainer.asks();
    const takes = [...drainer.jobs.values()].map(({ job, settings }) => ({ job, ttl: settings.ttl }));
    const options = end === undefined ? { takes } : this.#ended(takes, lease, end);
    const { storeTimeout } = this.call.settings;
    const outcome = await engine.store.next(lease.ref, options, storeTimeout, sentAt).outcome;
    if ('error' in outcome) {
      engine.outages.failed(outcome.error, { call: 'release', locks: [lease.ref.name] });
      return wasNotApplied(outcome.error) ? 'silent' : 'unknown';
    }
    engine.outages.succeeded('release', lease.ref.name);
    return this.#answered(lease, outcome.result, end, sentAt);
  }

  /** Gives back what a call for the next event may have taken that was not answered: a lease with the same token. */
  #abandonNext({ ref: { name, token, holder } }: Lease): void {
    const ttl = Math.max(...[...this.drainer.jobs.values()].map(({ settings }) => settings.ttl));
    const { storeTimeout } = this.call.settings;
    this.engine.releases.abandon({ name, token, fencingToken: 0, ttl, holder }, storeTimeout, 1);
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
    if (end !== undefined)
      this.#reportEnd(lease, end, result.held ? { released: true } : { released: false, reason: 'expired' });
    if (result.event !== undefined) return this.#deliver(ref, result.event, result.fencingToken, sentAt);
    if (result.held && result.place !== undefined) this.drainer.standsBehind(result.place);
    return 'none';
  }

  /** Tells of the end of a run, and of the dead letter that it leaves behind if it failed. */
  #reportEnd(lease: Lease, end: EndOfRun, answer: ReleaseResult | Error): void {
    const { ref, event } = lease;
    const { outcome, ended } = end;
    reportReleased(this.engine, lease, end, answer);
    if (event === undefined || (outcome !== 'failed' && outcome !== 'timed-out')) return;
    const { key, delivery } = event;
    const letter = { id: ref.event ?? '', job: ref.job ?? '', ...(key === undefined ? undefined : { key }) };
    const error = 'error' in ended ? ended.error : undefined;
    this.#report(ref, { ...letter, deliveries: delivery, reason: outcome, at: 0 }, error);
  }

  #deliver(
    { name, token, holder }: LeaseRef,
    event: DeliveredEvent,
    fencingToken: number,
    sentAt: number,
  ): Delivery {
    const { clock, emit } = this.engine;
    const { id, job, key, args, delivery, queuedAt, merged } = event;
    const { settings, run } = this.drainer.jobs.get(job) as EventJob;
    const ref = { name, token, fencingToken, ttl: settings.ttl, holder, job, event: id };
    const facts = { key, delivery, queuedAt, merged };
    const lease = new Lease(ref, settings, clock.monotonic(), sentAt, clock, emit, facts);
    const by = personOf(args);
    lease.wasStarted(by === undefined ? QUEUED : { trigger: 'control', by });
    return { lease, run: (own) => this.within(own, () => run(readArguments(name, args))) };
  }

  #report({ name }: LeaseRef, { job, key, deliveries, reason }: DeadLetter, error?: unknown): void {
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
