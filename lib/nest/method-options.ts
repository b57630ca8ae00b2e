import { isBound, type LockedMethod } from './decorators/locked-method.js';
import { checkLockOptions, withoutEffect } from './options/check.js';
import { readQueue } from './options/parts.js';
import { unknownOptions } from './options/table.js';
import { invalidNames } from './options/values.js';
import { cronOptionsOf, isScheduled, overlongTimerOf } from '../schedule/scheduler-parts.js';
import type { BoundJob } from './bound-job.js';
import type { LockHost } from './lock-host.js';

/** What the options of a guarded method say, and their problems: one sentence each, with where it is. */
interface MethodOptions {
  /** Absent if there are none. */
  readonly facts?: Pick<BoundJob, 'job' | 'name' | 'settings' | 'queue'>;
  readonly problems: readonly string[];
}

/** Reads and checks the options of `@SchedulerLock()` on one method of one instance. */
export function readMethod(
  instance: object,
  method: LockedMethod,
  { settings: module, problems: ofModule }: Pick<LockHost, 'settings' | 'problems'>,
): MethodOptions {
  const { key, options } = method;
  const where = `${instance.constructor.name}.${String(key)}`;
  if (typeof options !== 'object' || options === null)
    return { problems: [`${where}: @SchedulerLock(${String(options)}): expected a name or options.`] };
  const { job = where, name = job } = options;
  const outermost: unknown = Reflect.get(instance, key);
  const scheduled = isScheduled(outermost);
  const { settings, problems } = checkLockOptions(options, module, name);
  const found = [
    ...unknownOptions(options, 'decorator'),
    ...nameProblems(job, name, scheduled),
    ...(isBound(instance, method) ? [BOUND_ALREADY] : []),
    ...(scheduled ? firingProblems(instance, key, outermost) : []),
    ...(['retry', 'spread'] as const)
      .filter((option) => options[option] !== undefined && cronOptionsOf(outermost as object) === undefined)
      .map((option) => `${option}: ${NO_TICKS}`),
    // Problems of the module's own options are reported elsewhere.
    ...problems.filter((problem) => !ofModule.includes(problem)),
  ];
  const queue = readQueue(options, settings.onHeld, scheduled, found);
  // Queued calls have a place in line without `wait`.
  const placed = queue === undefined ? options : { ...options, priority: undefined };
  if (problems.length === 0) found.push(...withoutEffect(placed, settings));
  return { facts: { job, name, settings, queue }, problems: found.map((problem) => `${where}: ${problem}`) };
}

function firingProblems(instance: object, key: string | symbol, outermost: object): string[] {
  const overlong = overlongTimerOf(outermost);
  const problems = Reflect.get(instance, key) === outermost ? [] : [ANEW];
  if (overlong !== undefined)
    problems.push(
      `${overlong} is given more than the timers of Node keep, 24.8 days: it would fire at once. Use @Cron().`,
    );
  return problems;
}

function nameProblems(job: string, name: BoundJob['name'], scheduled: boolean): string[] {
  if (typeof name !== 'function') return invalidNames({ job, name });
  return [...invalidNames({ job }), ...(scheduled && name.length > 0 ? [NO_ARGUMENTS] : [])];
}

const BOUND_ALREADY =
  'this very instance is already bound by another application that has not been closed. Close that one first.';
const NO_TICKS = 'it is for methods with @Cron(), which have dates. Leave it out.';
const NO_ARGUMENTS =
  'name: the scheduler calls the method without arguments, of which this function makes the name. Give a fixed name; for a lock per tenant, ' +
  'let this method call another one with @SchedulerLock(), or SchedulerLockService.run(), for each tenant. If it is called by hand too, ' +
  'give each parameter of the function a default value.';
const ANEW =
  'what wraps its provider makes another function each time the method is looked up. So calls by the scheduler could not be told from calls ' +
  'by hand, and each tick would run on every instance. Have the wrapper keep the function that it has made.';
