import { type Found, hasOwnJob, isSameMethod, whereOf } from './found.js';
import { declaredElection } from './decorators/leader-election.decorator.js';
import { lockedMethods } from './decorators/locked-method.js';
import { mayWait } from '../lock/lock-call.js';
import { NO_LINES } from '../lock/waits.js';
import { nameProblem } from '../base/lock-name.js';
import { NO_QUEUED_CALLS } from '../lock/queue/queues.js';
import { storeLabel } from '../lock/access/safe-store.js';
import type { LockStore } from '../contract/lock-store.js';
import type { BoundJob } from './bound-job.js';

/**
 * What stops the start: jobs, locks and elections that exclude each other, or that the store cannot serve. One sentence each.
 *
 * @param elections where each was declared, by its name
 */
export function clashes(
  found: readonly Found[],
  elections: ReadonlyMap<unknown, string>,
  store: KeyedStore,
): { readonly ofJobs: readonly string[]; readonly ofModule: readonly string[] } {
  const locks = [...found.map(({ bound }) => bound.name), ...elections.keys()];
  return {
    ofJobs: [
      ...sharedNames(found),
      ...namesOfElections(found, elections),
      ...withoutLines(found, store),
      ...withoutQueuedCalls(found, store),
    ],
    ofModule: sharedKeys(store, locks),
  };
}

/** Jobs under the lock of an election: such a job would never run while this instance or another one leads. */
function namesOfElections(found: readonly Found[], elections: ReadonlyMap<unknown, string>): string[] {
  const jobs = found.filter(({ bound }) => elections.has(bound.name));
  return jobs.map(
    ({ bound }) =>
      `${bound.job}: name: "${String(bound.name)}" is the lock of an election. Give the job another name.`,
  );
}

/** Jobs that wait for their lock, with a store that has no lines. */
function withoutLines(found: readonly Found[], store: LockStore): string[] {
  return found.flatMap((one) =>
    noLines(one.bound.settings, store).map((problem) => `${whereOf(one)}: ${problem}`),
  );
}

/** Jobs whose calls are queued, with a store that keeps none. */
function withoutQueuedCalls(found: readonly Found[], store: LockStore): string[] {
  if (store.keeps.queuedCalls) return [];
  const queueing = found.filter(({ bound }) => bound.queue !== undefined);
  return queueing.map((one) => `${whereOf(one)}: ${NO_QUEUED_CALLS} The store is ${storeLabel(store)}.`);
}

/** Why a lock cannot be waited for; empty if it can, or is not. */
export function noLines(settings: BoundJob['settings'], store: LockStore): string[] {
  if (store.keeps.lines || !mayWait(settings)) return [];
  return [`${NO_LINES} The store is ${storeLabel(store)}.`];
}

/** The problems of a class whose instances come and go. */
export function comesAndGoes({
  name,
  prototype,
}: {
  readonly name: string;
  readonly prototype: object;
}): string[] {
  const why =
    'on a request-scoped or transient provider (it is so by itself, or by what it injects). Its instances come and go';
  const problems = lockedMethods(Object.create(prototype) as object).map(
    ({ key }) =>
      `${name}.${String(key)}: @SchedulerLock() ${why}, and the scheduler does not fire their methods. ` +
      'Move the method to a provider with the default scope.',
  );
  if (declaredElection(prototype.constructor) === undefined) return problems;
  return [`${name}: @LeaderElection() ${why}. Use a provider with the default scope.`, ...problems];
}

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

/**
 * Locks that a store cannot keep apart: two have the same key in Redis, and would silently exclude each other. Only a store that
 * makes a key of each name can have such locks. Checks only names that are known at the start, not those that a function makes from
 * the arguments of a call.
 */
export function sharedKeys(store: KeyedStore, locks: readonly unknown[]): string[] {
  return store.sharedKeys?.(locks.filter(isName)) ?? [];
}

/** The key that a store makes of a lock. `undefined`: it makes none, or none of this one. */
export const keyOf = (store: KeyedStore, lock: unknown): string | undefined =>
  isName(lock) ? store.keyOf?.(lock) : undefined;

/** A store that may make a key of each name. */
type KeyedStore = LockStore & {
  sharedKeys?(names: readonly string[]): string[];
  keyOf?(name: string): string | undefined;
};

const isName = (name: unknown): name is string => nameProblem(name) === undefined;
