import { type Clock, noLongerThan } from '../../base/clock.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import type { ControlledEvent } from '../../contract/events/call-events.js';
import type { Emit } from '../../contract/events/events.js';
import { pauseNow } from '../controls.js';
import { type Fleet, Reader } from '../read.js';
import type { KnownBy } from '../facts.js';
import { names } from '../phrases.js';
import type { PauseInfo } from '../types.js';
import { TimeLimits } from '../../lock/access/time-limits.js';
import type { ControlAct, Retention, RunEntry } from '../../contract/history-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { LockStore } from '../../contract/lock-store.js';
import { given } from '../../base/shared.js';
import { nearest } from '../../base/wording.js';
import type { By, NobodyHas, Target } from './types.js';

/** What switches need besides a store. */
export interface ControlOptions {
  readonly clock: Clock;
  /** Names this process in events. */
  readonly instance: string;
  readonly emit?: Emit;
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
  /** The instances that know the job, the newest first. Empty if a lock was named. */
  readonly knownBy: readonly KnownBy[];
}

/** As much of a history as any instance may keep: the note of a switch pushes out no run. */
export const KEPT: Retention = { count: 10_000, age: 30 * 86_400_000 };
const STORE_TIMEOUT = 5_000;
/** How many jobs to name if none has a similar name. */
const SOME = 10;

type Pauses = Required<Pick<LockStore, 'pause' | 'resume'>>;

/** What all switches do with a store. */
export class Desk {
  readonly clock: Clock;
  readonly pauses: Pauses;
  readonly closing: AbortSignal;
  readonly #open = new Set<Promise<unknown>>();
  /** The number of the newest note from here. */
  #noted = 0;
  readonly #limits: TimeLimits;
  readonly #reader: Reader;

  /** @throws SchedulerLockConfigError if the store has no histories */
  constructor(
    readonly store: LockStore,
    private readonly options: ControlOptions,
  ) {
    this.clock = options.clock;
    this.closing = options.closing ?? new AbortController().signal;
    this.#limits = new TimeLimits(options.clock);
    if (!store.keeps.histories || store.pause === undefined || store.resume === undefined)
      throw new SchedulerLockConfigError([
        `the store ${store.label ?? store.constructor.name} keeps no histories and pauses, so nobody can see or note what a switch does. Use Redis, PostgreSQL, MySQL or MongoDB.`,
      ]);
    this.pauses = store as LockStore & Pauses;
    this.#reader = new Reader(store.history, store.inspect.bind(store));
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

  fleet(): Promise<Fleet> {
    return this.ask(this.#reader.fleet());
  }

  /** The store's time, epoch ms: that of its answer for a lock, or, if it does not know the lock, that of its instances, if there are any. */
  async timeOf(info: LockInfo | undefined): Promise<number> {
    return info?.time ?? ((await this.fleet()).time || this.clock.now());
  }

  /** Has instances that hear hints look for queued calls at once. Over when the hint is sent, or that has failed. */
  async announce(): Promise<void> {
    try {
      await this.ask(this.store.queuedCalls.announce());
    } catch {
      // Whoever looks finds the calls.
    }
  }

  /** The lock of a target, the jobs under it, and who knows the job, if one was named. */
  async find({ lock, job }: Target): Promise<Found | NobodyHas> {
    const { jobs } = await this.fleet();
    const under = jobs.under(lock ?? job);
    if (lock !== undefined) return { lock, jobs: under, knownBy: [] };
    const knownBy = jobs.get(job);
    // Who names a lock in the place of a job means that lock.
    if (knownBy === undefined)
      return under.length > 0 ? { lock: job, jobs: under, knownBy: [] } : nobodyHas(job, jobs.names);
    const [name] = knownBy.flatMap((by) => by.job.lock ?? []);
    return name === undefined
      ? nobodyHas(job, [], WITHOUT_LOCK)
      : { lock: name, jobs: jobs.under(name), knownBy };
  }

  /** As {@link find}, for what a person can do to a job only. */
  async findJob(job: string): Promise<Found | NobodyHas> {
    const found = await this.find({ job });
    if ('result' in found || found.knownBy.length > 0) return found;
    return nobodyHas(job, found.jobs, `it is the lock of ${names(found.jobs)}, and no job. Name the job.`);
  }

  /** Emits the event to the listeners of this process. */
  tell(
    lock: string,
    act: ControlAct,
    more: Pick<ControlledEvent, 'job' | 'fencingToken' | 'until'> = {},
  ): void {
    const { emit, instance, clock } = this.options;
    emit?.({ type: 'controlled', lock, instance, at: clock.now(), ...act, ...more });
  }

  /**
   * Notes what a person does to a lock, if the act ends no lease.
   *
   * @param now by the store's clock, epoch ms
   * @param job if the act is for one job of the lock
   * @returns the number of the entry, in the place of a fencing token: it belongs to no lease, and says when the person acted
   */
  async note(lock: string, act: ControlAct, now: number, job?: string): Promise<number> {
    const id = (this.#noted = Math.max(
      this.#noted + 1,
      Math.floor(now) * 1_000 + Math.floor(Math.random() * 1_000),
    ));
    const entry = { name: lock, fencingToken: id, holder: act.actor, kept: KEPT, by: act, ...given({ job }) };
    await this.ask(this.store.history.interrupted(entry));
    return id;
  }

  /** The runs and switches that a lock remembers, newest first. */
  async entriesOf(name: string): Promise<RunEntry[]> {
    const entries = await this.ask(this.store.history.entries({ name, limit: FEW }));
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
    const end = new AbortController();
    const closed = new Promise<undefined>((resolve) =>
      closing.addEventListener('abort', () => resolve(undefined), { signal: end.signal }),
    );
    const first = Promise.race([closed, something ?? closed]);
    return noLongerThan(limit, first, clock, { keepAlive: true }).finally(() => end.abort());
  }
}

/** @param started what a person did to begin what this act ends */
export const actOf = (
  action: ControlAct['action'],
  { actor, reason }: By,
  started?: ControlAct,
): ControlAct => ({
  action,
  actor,
  ...given({ reason, started }),
});

const WITHOUT_LOCK =
  'The name of its lock is made from the arguments of each call: name the lock, or call the job in an instance that has it.';

export function nobodyHas(job: string, names: readonly string[], why?: string): NobodyHas {
  const near = nearest(job, names);
  const jobs = near === undefined ? [...names].sort().slice(0, SOME) : [near];
  return { result: 'nobody-has-it', job, jobs, ...given({ why }) };
}
