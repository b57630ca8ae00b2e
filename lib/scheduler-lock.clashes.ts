import type { GuardedMethod } from './guard.js';
import { nameProblem } from './lock-name.js';
import type { BoundJob } from './scheduler-lock.interceptor.js';
import type { KnownName } from './scheduler-lock.kept-names.js';

/** A guarded method of an instance that Nest manages. */
export interface Found {
  readonly instance: object;
  readonly method: GuardedMethod;
  readonly bound: BoundJob;
}

/**
 * The names of all locks that are known at the start: what a function makes of the arguments of a call is not.
 *
 * @param elections where each was declared, by its name
 */
export function knownNames(found: readonly Found[], elections: ReadonlyMap<unknown, string>): KnownName[] {
  const ofJobs = found.map(({ instance, method, bound }): [string, unknown] => {
    return [`${instance.constructor.name}.${String(method.key)}`, bound.name];
  });
  const ofElections = [...elections].map(([name, place]): [string, unknown] => [
    `election of ${place}`,
    name,
  ]);
  return [...ofJobs, ...ofElections].filter(
    (known): known is [string, string] => typeof known[1] === 'string',
  );
}

/** A job under the lock of an election would never run while this instance leads, nor while another one does. */
export function namesOfElections(found: readonly Found[], elections: ReadonlyMap<unknown, string>): string[] {
  const jobs = found.filter(({ bound }) => elections.has(bound.name));
  return jobs.map(
    ({ bound }) =>
      `${bound.job}: name: "${String(bound.name)}" is the lock of an election. Give the job another name.`,
  );
}

/** Two classes of one name make two jobs of one name: they would exclude each other, and share their ticks. */
export function sharedNames(found: readonly Found[]): string[] {
  const owners = new Map<string, Function>();
  const problems: string[] = [];
  for (const { instance, method, bound } of found) {
    if (method.options.job !== undefined) continue;
    const lock = typeof bound.name === 'string' ? bound.name : '';
    const identity = JSON.stringify([bound.job, lock]);
    const owner = owners.get(identity) ?? instance.constructor;
    owners.set(identity, owner);
    if (owner !== instance.constructor && !problems.some((problem) => problem.startsWith(`${bound.job}:`))) {
      problems.push(
        `${bound.job}: two different classes of this name have this method, and both jobs would be "${bound.job}". Give at least one of them a \`job\` (and a \`name\`) of its own.`,
      );
    }
  }
  return problems;
}

/**
 * Two locks with one key in Redis would exclude each other, without a word. Only names that are known at the start are looked
 * at: what a function makes of the arguments of a call is not.
 *
 * @param key what gives the Redis key of a lock; often a function of the user's
 */
export function sharedKeys(locks: readonly unknown[], key: (name: string) => unknown): string[] {
  const names = new Set(locks.filter((name): name is string => nameProblem(name) === undefined));
  const owners = new Map<string, string>();
  const problems: string[] = [];
  for (const name of names) {
    let made: unknown;
    try {
      made = key(name);
    } catch (error) {
      problems.push(`key: it failed for the lock "${name}": ${String(error)}`);
      continue;
    }
    if (typeof made !== 'string' || made === '') {
      problems.push(
        `key: it gave ${made === '' ? "''" : String(made)} for the lock "${name}". Give a text that is not empty.`,
      );
      continue;
    }
    const owner = owners.get(made);
    owners.set(made, owner ?? name);
    if (owner !== undefined) {
      problems.push(
        `key: it gave "${made}" for the lock "${owner}" and for the lock "${name}", so that they would exclude each other. Give each name a key of its own; jobs that are to exclude each other share one name.`,
      );
    }
  }
  return problems;
}
