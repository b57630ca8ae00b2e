import { type Clock, noLongerThan } from '../../base/clock.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import type { ControlledEvent } from '../../contract/events/call-events.js';
import type { Emit } from '../../contract/events/events.js';
import { pauseNow } from '../controls.js';
import { type Fleet, Reader } from '../read.js';
import { displayName } from '../../base/lock-name.js';
import type { PauseInfo } from '../types.js';
import { PARTS } from '../../contract/allowances.js';
import { TimeLimits } from '../../lock/access/time-limits.js';
import type { ControlAct, HistoryStore, Retention, RunEntry } from '../../contract/history-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { LeaseRef, LockStore } from '../../contract/lock-store.js';
import { nearest } from '../../base/wording.js';
import type { By, NobodyHas, Target } from './types.js';

/** What switches need besides a store. */
export interface ControlOptions {
  readonly clock: Clock;
  /** Names this process in events. */
  readonly instance: string;
  readonly emit?: Emit;
  /** How much of a history is kept at least: an instance may keep more. @default 100 runs, for 30 days */
  readonly kept?: Retention;
  /** How long one call of the store may take, ms. */
  readonly storeTimeout?: number;
  /** Aborts when the application shuts down: from then on, no switch waits for the end of a run. @internal */
  readonly closing?: AbortSignal;
}

/** How often to ask the store, ms. */
export const EVERY = 250;
/** How many entries of a history to look at, of each kind. */
const FEW = 20;

/** The lock that a switch is for. */
export interface Found {
  readonly lock: string;
  /** All jobs under it. */
  readonly jobs: readonly string[];
}

export const KEPT: Retention = { count: PARTS.insight.keep, age: 30 * 86_400_000 };
const STORE_TIMEOUT = 5_000;
/** How many jobs to name if none has a similar name. */
const SOME = 10;

type Pauses = Required<Pick<LockStore, 'pause' | 'resume'>>;

const canPause = (store: LockStore): store is LockStore & Pauses =>
  store.pause !== undefined && store.resume !== undefined;

/** What all switches do with a store. */
export class Desk {
  readonly clock: Clock;
  /** Names this process. */
  readonly instance: string;
  readonly pauses: Pauses;
  readonly closing: AbortSignal;
  readonly #open = new Set<Promise<unknown>>();
  /** The number of the newest note from here. */
  #noted = 0;
  #kept: Retention;
  /** What to add to the monotonic time of here for the store's time, as of the newest look at the fleet. */
  #toStoreTime: number | undefined;
  readonly #limits: TimeLimits;
  readonly #reader: Reader;

  /** @throws SchedulerLockConfigError if the store has no histories */
  constructor(
    readonly store: LockStore,
    private readonly options: ControlOptions,
  ) {
    this.clock = options.clock;
    this.instance = options.instance;
    this.#kept = options.kept ?? KEPT;
    this.closing = options.closing ?? new AbortController().signal;
    this.#limits = new TimeLimits(options.clock);
    if (!store.keeps.histories || !canPause(store))
      throw new SchedulerLockConfigError([
        `the store ${store.label ?? store.constructor.name} keeps no histories and pauses, so nobody can see or note what a switch does. Use Redis, PostgreSQL, MySQL or MongoDB.`,
      ]);
    this.pauses = store;
    this.#reader = new Reader(store.history, store.inspect.bind(store));
  }

  get history(): HistoryStore {
    return this.store.history;
  }

  /** Waits for a call of the store, but not for ever. */
  ask<T>(call: Promise<T>): Promise<T> {
    return this.#limits.within(call, this.options.storeTimeout ?? STORE_TIMEOUT);
  }

  /** A lock, as it is now. */
  async look(lock: string): Promise<LockInfo | undefined> {
    const [info] = await this.ask(this.store.inspect([lock]));
    return info;
  }

  /** The pause of a lock that is in force, and the store's time. */
  async pauseOf(lock: string): Promise<{ pause: PauseInfo; time: number } | undefined> {
    const info = await this.look(lock);
    const pause = pauseNow(info);
    return info === undefined || pause === undefined ? undefined : { pause, time: info.time };
  }

  async fleet(): Promise<Fleet> {
    const fleet = await this.ask(this.#reader.fleet());
    this.#kept = mostKept(fleet, this.options.kept ?? KEPT);
    if (fleet.told.length > 0) this.#toStoreTime = fleet.time - this.clock.monotonic();
    return fleet;
  }

  /**
   * The store's time, epoch ms: that of its answer for a lock, or, if the store does not know the lock, that of the newest look at the
   * fleet. `undefined` if it knows no instance either.
   */
  timeOf(info: LockInfo | undefined): number | undefined {
    if (info !== undefined || this.#toStoreTime === undefined) return info?.time;
    return Math.floor(this.clock.monotonic() + this.#toStoreTime);
  }

  /** How much of a history to keep, as of the newest look at the fleet: an entry that keeps less would delete those of instances. */
  get kept(): Retention {
    return this.#kept;
  }

  /** Learns how much to keep, for a switch that needs nothing else of the fleet. If nobody can tell, it goes on. */
  async learnKept(): Promise<void> {
    await this.fleet().catch(() => undefined);
  }

  /**
   * Has instances that hear hints look for queued calls at once; the others look in their own time. Over when the hint has been sent: the
   * shell closes its connection soon. A failure costs time, nothing else.
   */
  async announce(): Promise<void> {
    try {
      await this.ask(this.store.queuedCalls.announce());
    } catch {
      // Whoever looks finds the calls.
    }
  }

  /** The lock of a target, and the jobs that it stops. Who names a lock in the place of a job means that lock. */
  async find({ lock, job }: Target): Promise<Found | NobodyHas> {
    const { jobs } = await this.fleet();
    if (lock !== undefined) return { lock, jobs: jobsUnder(lock, jobs) };
    const known = jobs.listed(job);
    const under = jobsUnder(job, jobs);
    if (known.length === 0)
      return under.length > 0 ? { lock: job, jobs: under } : this.nobodyHas(job, jobs.names);
    const [name] = known.flatMap((each) => each.lock ?? []);
    const made = 'The name of its lock is made from the arguments of each call: name the lock instead.';
    if (name === undefined) return this.nobodyHas(job, [], made);
    return { lock: name, jobs: jobsUnder(name, jobs) };
  }

  /** The answer about a job that no instance knows: perhaps it is a lock. */
  nobodyKnows(job: string, jobs: Fleet['jobs']): NobodyHas {
    const under = jobsUnder(job, jobs);
    if (under.length === 0) return this.nobodyHas(job, jobs.names);
    const of = under.slice(0, SOME).map(displayName).join(', ');
    return this.nobodyHas(job, under, `it is the lock of ${of}, and no job. Name the job.`);
  }

  nobodyHas(job: string, names: readonly string[], why?: string): NobodyHas {
    const near = nearest(job, names);
    const jobs = near === undefined ? [...names].sort().slice(0, SOME) : [near];
    return { result: 'nobody-has-it', job, jobs, ...(why !== undefined && { why }) };
  }

  /**
   * Ends a lease for a person: the record of its end says who did it.
   *
   * @param duration how long it was held, ms
   * @returns whether this call has ended it. The store compares once more: if it has ended before, the record of that end stays
   */
  async end(lease: LeaseRef, act: ControlAct, duration: number): Promise<boolean> {
    const record = { kept: this.kept, duration: Math.max(0, duration), by: act };
    // With this outcome, completed runs do not push the record out of the history.
    const { released } = await this.ask(this.store.release(lease, { outcome: 'aborted', record }));
    if (!released) return false;
    const { name, fencingToken, job } = lease;
    // The store may write the record some time after the release, but before it answers a read of the history: the caller may end the
    // process next.
    await this.ask(this.history.entries({ name, limit: 1 })).catch(() => undefined);
    this.tell(name, act, { fencingToken, ...(job !== undefined && { job }) });
    return true;
  }

  /** Emits the event to the listeners of this process. */
  tell(
    lock: string,
    act: ControlAct,
    more: Pick<ControlledEvent, 'job' | 'fencingToken' | 'until'> = {},
  ): void {
    const { instance, clock } = this;
    this.options.emit?.({ type: 'controlled', lock, instance, at: clock.now(), ...act, ...more });
  }

  /**
   * Notes what a person does to a lock, if the act ends no lease.
   *
   * @param now by the store's clock, epoch ms
   * @returns the number of the entry, in the place of a fencing token: it belongs to no lease, and says when the person acted
   */
  async note(lock: string, act: ControlAct, now: number): Promise<number> {
    const id = (this.#noted = Math.max(
      this.#noted + 1,
      Math.floor(now) * 1_000 + Math.floor(Math.random() * 1_000),
    ));
    const entry = { name: lock, fencingToken: id, holder: act.actor, kept: this.kept, by: act };
    await this.ask(this.history.interrupted(entry));
    return id;
  }

  /** The runs and switches that a lock remembers, newest first. */
  async entriesOf(name: string): Promise<RunEntry[]> {
    const entries = await this.ask(this.history.entries({ name, limit: FEW }));
    return entries.filter((entry): entry is RunEntry => entry.type === 'run');
  }

  /** The application closes its store after this switch. */
  during<T>(work: Promise<T>): Promise<T> {
    this.#open.add(work);
    return work.finally(() => this.#open.delete(work));
  }

  /** Resolves when no switch is under way. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#open);
  }

  /** Waits for something, `limit` milliseconds at most, or until the application shuts down. Keeps the process alive. */
  async wait<T>(limit: number, something?: Promise<T>): Promise<T | undefined> {
    const { closing, clock } = this;
    if (closing.aborted) return undefined;
    let stop: () => void = () => undefined;
    const isOver = new Promise<undefined>((resolve) => (stop = () => resolve(undefined)));
    closing.addEventListener('abort', stop);
    const first = Promise.race([isOver, something ?? isOver]);
    const end = await noLongerThan(limit, first, clock, { keepAlive: true });
    closing.removeEventListener('abort', stop);
    return end;
  }
}

/** Instances that have left count, too: their histories are still there. */
const mostKept = ({ told }: Fleet, least: Retention): Retention =>
  told.reduce(
    (most, { info: { kept = least } }) => ({
      count: Math.max(most.count, kept.count),
      age: Math.max(most.age, kept.age),
    }),
    least,
  );

/** @param started what a person did to begin what this act ends */
export const actOf = (
  action: ControlAct['action'],
  { actor, reason }: By,
  started?: ControlAct,
): ControlAct => ({
  action,
  actor,
  ...(reason !== undefined && { reason }),
  ...(started !== undefined && { started }),
});

const jobsUnder = (lock: string, jobs: Fleet['jobs']): string[] =>
  jobs.names.filter((job) => jobs.listed(job).some((known) => known.lock === lock)).sort();
