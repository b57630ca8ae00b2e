import { Injectable } from '@nestjs/common';
import { nameProblem } from '../base/lock-name.js';
import type { LockStore } from '../contract/lock-store.js';
import { storeLabel } from '../lock/access/safe-store.js';
import { mayWait } from '../lock/lock-call.js';
import { NO_QUEUED_CALLS } from '../lock/queue/queues.js';
import { NO_LINES } from '../lock/waits.js';
import {
  type BoundJob,
  type Found,
  hasOwnJob,
  isFired,
  isSameMethod,
  knownNames,
  whereOf,
} from './bound-job.js';
import { LockHost } from './lock-host.js';
import { losesTicks, sharedLocks, tellOf } from './start-warnings.js';

/** A store that may make a key of each name. */
type KeyedStore = LockStore & {
  sharedKeys?(names: readonly string[]): string[];
  keyOf?(name: string): string | undefined;
};

/** What is known of a job before it is bound. */
type Facts = Pick<BoundJob, 'job' | 'name' | 'settings' | 'queue'>;

/** Among so few jobs it is not worthwhile to look for deleted ones. */
const FEW = 100;

/**
 * The jobs of this instance, decorated and made at run time, by their names and by their locks. So a new job is compared only with those of
 * its name or its lock, not with all.
 */
@Injectable()
export class JobRegistry {
  #decorated: readonly BoundJob[] = [];
  /** By their jobs; of several instances of a class the first. */
  #named: ReadonlyMap<string, BoundJob> = new Map();
  /** Decorated jobs that the scheduler does not fire. */
  #unfired: ReadonlySet<BoundJob> = new Set();
  readonly #made = new Map<string, BoundJob>();
  /** By their locks. */
  readonly #sharing = new Map<unknown, Set<BoundJob>>();
  /** The newest lock of each key, where the store makes a key of each name. */
  readonly #locks = new Map<string | undefined, string>();
  /** How many may be made before it looks for deleted ones. */
  #room = FEW;
  /** Shared locks that were named in the log. */
  readonly #told = new Set<string>();

  constructor(private readonly host: LockHost) {}

  /** All, the decorated ones first. */
  get all(): readonly BoundJob[] {
    return [...this.#decorated, ...this.made];
  }

  /** Those made at run time that are still in the registry of the scheduler. */
  get made(): readonly BoundJob[] {
    return [...this.#made.values()].filter(isThere);
  }

  /**
   * Takes the decorated jobs, once they are found.
   *
   * @returns what stops the start: jobs, locks and elections that exclude each other, or that the store cannot serve. One sentence each
   */
  meet(found: readonly Found[]): {
    readonly ofJobs: readonly string[];
    readonly ofModule: readonly string[];
  } {
    this.#decorated = found.map(({ bound }) => bound);
    this.#named = new Map(this.#decorated.toReversed().map((bound) => [bound.job, bound]));
    this.#unfired = new Set(found.filter((one) => !isFired(one)).map(({ bound }) => bound));
    for (const bound of this.#decorated) this.#put(bound);
    for (const lock of this.host.elections.declaredAt.keys()) this.#putLock(lock);
    const locks = knownNames(found, this.host.elections.declaredAt).map(([, name]) => name);
    const problems = found.flatMap((one) =>
      this.#unserved(one.bound).map((problem) => `${whereOf(one)}: ${problem}`),
    );
    const ofMade = this.made.flatMap((bound) =>
      this.#clashesOf(bound, this.#named.has(bound.job)).map(
        (problem) => `dynamic job "${bound.job}": ${problem}`,
      ),
    );
    return { ofJobs: [...sharedNames(found), ...problems, ...ofMade], ofModule: this.#sharedKeys(locks) };
  }

  /** A job was made at run time. An earlier one with its name is gone. */
  add(bound: BoundJob): void {
    const before = this.#made.get(bound.job);
    if (before !== undefined) this.#remove(before);
    this.#made.set(bound.job, bound);
    this.#put(bound);
    if (this.#made.size <= this.#room) return;
    for (const made of this.#made.values()) if (!isThere(made)) this.#remove(made);
    this.#room = FEW + 2 * this.#made.size;
  }

  /** The job of this name. */
  get(name: string): BoundJob | undefined {
    const made = this.#made.get(name);
    return this.#named.get(name) ?? (made !== undefined && isThere(made) ? made : undefined);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** Why a job cannot be made at run time: one sentence each. */
  clashesOf(facts: Facts): string[] {
    return this.#clashesOf(facts, this.has(facts.job));
  }

  get settings(): LockHost['settings'] {
    return this.host.settings;
  }

  /** The application has started. */
  start(): void {
    // When a constructor made its jobs, it was not known yet whether the store keeps queued calls.
    for (const bound of this.made) this.#takeQueued(bound);
  }

  /** A warning about jobs that share a lock, once for each lock. */
  sharedLocks(jobs: readonly BoundJob[] = this.all): string[] {
    return sharedLocks(
      jobs.filter((job) => !this.#unfired.has(job)),
      this.#told,
    );
  }

  /**
   * A job was made after the start. Warns of it and the jobs under its lock. If two of those could lose a tick, an earlier warning has named
   * them.
   */
  opened(bound: BoundJob): void {
    this.#takeQueued(bound);
    if (this.#told.has(String(bound.name))) return;
    const mayLose = losesTicks(bound.settings);
    let others = 0;
    for (const other of this.under(bound.name)) {
      if (other !== bound && !this.#unfired.has(other)) others++;
      if (others > 1 && !mayLose) return;
    }
    if (others > 0) tellOf(this.sharedLocks([...this.under(bound.name)]));
  }

  /** Queued calls of the job can run here from now on. */
  #takeQueued(bound: BoundJob): void {
    this.host.addQueueJob(bound, () => !isThere(bound));
  }

  #clashesOf(facts: Facts, isTaken: boolean): string[] {
    const { job, name } = facts;
    const taken = `job: "${job}" is a job already, and they would share their ticks. Give one of them another name.`;
    return [
      ...(isTaken ? [taken] : []),
      ...this.#unserved(facts, 'lock'),
      ...this.#sharedKeys([this.#rivalOf(name), name]),
    ];
  }

  /** Why the lock of a job cannot serve it. @param option the one that names it */
  #unserved({ name, settings, queue }: Facts, option = 'name'): string[] {
    const { store, elections } = this.host;
    const problems: string[] = [];
    // Such a job would never run while this instance or another one leads.
    if (elections.declaredAt.has(name))
      problems.push(
        `${option}: "${String(name)}" is the lock of an election. Give the job another ${option}.`,
      );
    const label = `The store is ${storeLabel(store)}.`;
    if (mayWait(settings) && !store.keeps.lines) problems.push(`${NO_LINES} ${label}`);
    if (queue !== undefined && !store.keeps.queuedCalls) problems.push(`${NO_QUEUED_CALLS} ${label}`);
    return problems;
  }

  /**
   * Locks that the store cannot keep apart: two have the same key in Redis, and would silently exclude each other. Checks the names that are
   * known at the start, not those that a function makes from the arguments of a call.
   */
  #sharedKeys(locks: readonly unknown[]): string[] {
    return this.#store.sharedKeys?.(locks.filter(isName)) ?? [];
  }

  /** Another lock in use that the store does not keep apart from this one. */
  #rivalOf(lock: unknown): string | undefined {
    const other = this.#locks.get(this.#keyOf(lock));
    if (other === undefined || other === lock) return undefined;
    if (this.host.elections.declaredAt.has(other)) return other;
    for (const _job of this.under(other)) return other;
    return undefined;
  }

  get #store(): KeyedStore {
    return this.host.store;
  }

  #keyOf(lock: unknown): string | undefined {
    return isName(lock) ? this.#store.keyOf?.(lock) : undefined;
  }

  /** The jobs under a lock. A decorated one stays, whatever becomes of its cron job. */
  *under(lock: unknown): Iterable<BoundJob> {
    for (const job of this.#sharing.get(lock) ?? [])
      if (this.#made.get(job.job) !== job || isThere(job)) yield job;
  }

  #put(bound: BoundJob): void {
    const sharing = this.#sharing.get(bound.name) ?? new Set();
    this.#sharing.set(bound.name, sharing.add(bound));
    this.#putLock(bound.name);
  }

  #putLock(lock: unknown): void {
    const key = this.#keyOf(lock);
    if (key !== undefined) this.#locks.set(key, String(lock));
  }

  #remove(bound: BoundJob): void {
    this.#made.delete(bound.job);
    const sharing = this.#sharing.get(bound.name);
    sharing?.delete(bound);
    if (sharing?.size !== 0) return;
    this.#sharing.delete(bound.name);
    const key = this.#keyOf(bound.name);
    if (this.#locks.get(key) === bound.name) this.#locks.delete(key);
  }
}

const isName = (name: unknown): name is string => nameProblem(name) === undefined;
const isThere = (job: BoundJob): boolean => job.state() !== 'gone';

/**
 * Methods with the same job. Under one lock they would share their ticks: the other method would never run a tick that the first has started.
 * Under two, histories, status and `why` would take them for one.
 */
function sharedNames(found: readonly Found[]): string[] {
  const methods = new Map<string, Found[]>();
  for (const other of found) {
    const { job } = other.bound;
    const same = methods.get(job) ?? [];
    if (!same.some((known) => isSameMethod(known, other))) methods.set(job, [...same, other]);
  }
  return [...methods].flatMap(([job, same]) => {
    const [first, second] = same;
    if (first === undefined || second === undefined) return [];
    const explicit = same.find(hasOwnJob);
    if (explicit !== undefined) {
      const [one, other] = [first, explicit === first ? second : explicit];
      return `${whereOf(other)}: job: "${job}" is the job of ${whereOf(one)} already, and they would share their ticks. Give one of them another.`;
    }
    return `${job}: two different classes of this name have this method, and both jobs would be "${job}". Give at least one of them a \`job\` (and a \`name\`) of its own.`;
  });
}
