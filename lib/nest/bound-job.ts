import type { LockedMethod } from './decorators/locked-method.js';
import { isScheduled } from '../schedule/scheduler-parts.js';
import type { JobStart } from '../base/job-start.js';
import type { JobSettings } from './options/check.js';
import type { QueueSettings } from './options/parts.js';
import type { JobState } from '../schedule/cron-job-state.js';
import type { JobSchedule } from '../schedule/job-schedule.js';

/** One guarded method of one instance, as the explorer has resolved it. */
export interface BoundJob {
  readonly job: string;
  readonly name: string | ((...args: never[]) => unknown);
  readonly settings: JobSettings;
  /** How its calls are queued that find their lock taken; `undefined`: they are not. */
  readonly queue?: QueueSettings | undefined;
  /** The schedule of the job, if the scheduler fires it. */
  readonly schedule: JobSchedule | undefined;
  /** Fires the method as the scheduler does, for a given start. */
  readonly fire: (start: JobStart) => unknown;
  /** Runs the method itself, without its lock. */
  readonly call: (args: readonly unknown[]) => unknown;
  /** The state of its cron job on this instance. */
  readonly state: () => JobState;
}

/** A lock name that is known at the start, with where it was given. */
export type KnownName = readonly [where: string, name: string];

/** A guarded method of an instance that Nest manages. */
export interface Found {
  readonly instance: object;
  readonly method: LockedMethod;
  readonly bound: BoundJob;
}

/** The names of all locks, without those that a function makes from the arguments of a call. @param elections where each was declared */
export function knownNames(found: readonly Found[], elections: ReadonlyMap<unknown, string>): KnownName[] {
  const known = [
    ...found.map((one) => [whereOf(one), one.bound.name] as const),
    ...[...elections].map(([name, where]) => [`election of ${where}`, name] as const),
  ];
  return known.filter((pair): pair is KnownName => typeof pair[1] === 'string');
}

/** An override and the method that it overrides count as one method; so do the methods of all instances of a class. */
export const isSameMethod = (one: Found, other: Found): boolean =>
  one.instance.constructor === other.instance.constructor && one.method.key === other.method.key;

export const whereOf = ({ instance, method }: Found): string =>
  `${instance.constructor.name}.${String(method.key)}`;

/** Whether the scheduler fires a method. */
export function isFired({ instance, method }: Found): boolean {
  return isScheduled(Reflect.get(instance, method.key));
}
