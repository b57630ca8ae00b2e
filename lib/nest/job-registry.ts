import { Injectable } from '@nestjs/common';
import { nameProblem } from '../base/lock-name.js';
import type { LockStore } from '../contract/lock-store.js';
import { storeLabel } from '../lock/access/safe-store.js';
import { mayWait } from '../lock/lock-call.js';
import { NO_QUEUED_CALLS } from '../lock/queue/queues.js';
import { NO_LINES } from '../lock/waits.js';
import { type BoundJob, type Found, isSameMethod, knownNames, whereOf } from './bound-job.js';
import { LockHost } from './lock-host.js';
import { ofModule } from './options/check.js';

/** A store that may make a key of each name. */
type KeyedStore = LockStore & { sharedKeys?(names: readonly string[]): string[] };

/** What is known of a job before it is bound. */
type Facts = Pick<BoundJob, 'job' | 'name' | 'settings' | 'queue'>;

/** The jobs of this instance, decorated and made at run time, by their names: so a new job is not compared with all others. */
@Injectable()
export class JobRegistry {
  #decorated: readonly BoundJob[] = [];
  /** By their jobs; of several instances of a class the first. */
  #named: ReadonlyMap<string, BoundJob> = new Map();
  /** The locks that are known at the start. */
  #locks: readonly string[] = [];
  readonly #made = new Map<string, BoundJob>();
  /** How many may be made before it looks for deleted ones. */
  #room = 100;

  constructor(readonly host: LockHost) {}

  /** All, the decorated ones first. */
  get all(): readonly BoundJob[] {
    return [...this.#decorated, ...this.made];
  }

  /** Those made at run time that are still in the registry of the scheduler. */
  get made(): readonly BoundJob[] {
    return [...this.#made.values()].filter(isThere);
  }

  /** Takes the decorated jobs. @returns why jobs, locks and elections exclude each other, or the store cannot serve them: one sentence each */
  meet(found: readonly Found[]): string[] {
    this.#decorated = found.map(({ bound }) => bound);
    this.#named = new Map(this.#decorated.toReversed().map((bound) => [bound.job, bound]));
    this.#locks = knownNames(found, this.host.elections.declaredAt).map(([, name]) => name);
    const problems = found.flatMap((one) =>
      this.#unserved(one.bound).map((problem) => `${whereOf(one)}: ${problem}`),
    );
    const ofMade = this.made.flatMap((bound) =>
      this.#clashesOf(bound, this.#named.has(bound.job)).map(
        (problem) => `dynamic job "${bound.job}": ${problem}`,
      ),
    );
    return [...sharedNames(found), ...problems, ...ofMade, ...ofModule(this.#sharedKeys(this.#locks))];
  }

  /** A job was made at run time. An earlier one with its name is gone. */
  add(bound: BoundJob): void {
    this.#made.set(bound.job, bound);
    if (this.#made.size <= this.#room) return;
    for (const made of this.#made.values()) if (!isThere(made)) this.#made.delete(made.job);
    this.#room = 100 + 2 * this.#made.size;
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

  #clashesOf(facts: Facts, isTaken: boolean): string[] {
    const { job, name } = facts;
    const taken = `job: "${job}" is a job already, and they would share their ticks. Give one of them another name.`;
    return [
      ...(isTaken ? [taken] : []),
      ...this.#unserved(facts, 'lock'),
      ...this.#sharedKeys([...this.#locks, name]),
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

  /** Locks that the store cannot keep apart: two have the same key in Redis, and would silently exclude each other. */
  #sharedKeys(locks: readonly unknown[]): string[] {
    const store: KeyedStore = this.host.store;
    return store.sharedKeys?.(locks.filter(isName)) ?? [];
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
  return [...methods].flatMap(([job, [first, second]]) => {
    if (first === undefined || second === undefined) return [];
    const other = whereOf(first) === whereOf(second) ? 'another class of this name' : whereOf(first);
    return `${whereOf(second)}: job: "${job}" is the job of ${other} already, and they would share their ticks. Give one of them a \`job\` (and a \`name\`) of its own.`;
  });
}
