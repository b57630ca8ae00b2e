import { LockStateError } from '../errors.js';
import type { DeadLetteredEvent } from '../events/events.js';
import type { DeadLetter, DeliveredEvent, NextOptions, NextResult } from '../stores/event-store.js';
import type { LeaseRef, ReleaseResult } from '../stores/lock-store.js';
import type { Engine } from './engine.js';
import { Lease } from './lease.js';
import { wasNotApplied } from './undo.js';
import type { LockSettings } from './lock-call.js';
import type { EndOfRun } from './recorder.js';
import { reportReleased } from './reports.js';
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
export interface Delivery {
  readonly lease: Lease;
  readonly run: (lease: Lease) => unknown;
}

/**
 * Why there is no delivery. `silent`: the release has to end the event of the last run. `unknown`: so it has, and the store may have
 * granted a lease for the next one, or grants it yet.
 */
type NoDelivery = 'none' | 'silent' | 'unknown';

/** The events of one lock that run one after another under one lease, each with a fencing token of its own. */
export class Drain {
  constructor(
    private readonly engine: Engine,
    private readonly drainer: Drainer,
    /** Milliseconds that a call of the store may take. */
    private readonly limit: number,
    /** Runs a job in the context of its lock. */
    private readonly within: (lease: Lease, job: () => unknown) => unknown,
  ) {}

  /**
   * Ends the event of the last run, and takes the next one.
   *
   * @param end how the last run ended
   * @returns the event; if there is none, or none for now, the lease has to be released
   */
  async next(lease: Lease, end: EndOfRun | undefined): Promise<Delivery | NoDelivery> {
    const { engine, drainer } = this;
    if (engine.closing || lease.lostReason !== undefined) return 'silent';
    const sentAt = engine.clock.monotonic();
    drainer.asks();
    const takes = [...drainer.jobs.values()].map(({ job, settings }) => ({ job, ttl: settings.ttl }));
    const options = end === undefined ? { takes } : this.#ended(takes, lease, end);
    const outcome = await engine.store.next(lease.ref, options, this.limit, sentAt).outcome;
    if ('error' in outcome) {
      engine.outages.failed(outcome.error, { call: 'release', locks: [lease.ref.name] });
      return wasNotApplied(outcome.error) ? 'silent' : 'unknown';
    }
    engine.outages.succeeded('release', lease.ref.name);
    return this.#answered(lease, outcome.result, end, sentAt);
  }

  /** Gives back what a call for the next event may have taken that was not answered: a lease with the same token. */
  giveUp({ ref: { name, token, holder } }: Lease): void {
    const ttl = Math.max(...[...this.drainer.jobs.values()].map(({ settings }) => settings.ttl));
    this.engine.releases.abandon({ name, token, fencingToken: 0, ttl, holder }, this.limit, 1);
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
      this.ended(lease, end, result.held ? { released: true } : { released: false, reason: 'expired' });
    if (result.event !== undefined) return this.#deliver(ref, result.event, result.fencingToken, sentAt);
    if (result.held && result.place !== undefined) this.drainer.standsBehind(result.place);
    return 'none';
  }

  /** Tells of the end of a run, and of the dead letter that it leaves behind if it failed. */
  ended(lease: Lease, end: EndOfRun, answer: ReleaseResult | Error): void {
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

/** What cannot be read fails its run, and becomes a dead letter. */
function readArguments(lock: string, args: string): readonly unknown[] {
  let read: unknown;
  try {
    read = JSON.parse(args);
  } catch {
    // Its message has a part of the arguments, which are not for the log.
  }
  if (Array.isArray(read)) return read;
  throw new LockStateError(
    lock,
    'the arguments of a kept call are no JSON array, so it cannot run. Only this library should write into its store.',
  );
}
