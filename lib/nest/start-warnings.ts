import { mayWait } from '../lock/lock-call.js';
import { isScheduled, schedulesOf } from '../schedule/scheduler-parts.js';
import type { BoundJob } from './bound-job.js';
import { byMethod, type Found, hasOwnJob, isFired, whereOf } from './found.js';
import { names } from './start-line.js';

/**
 * What may be wrong with the guarded methods, one line each.
 *
 * @param hasScheduler whether anything fires them
 */
export function startWarnings(found: readonly Found[], hasScheduler: boolean): string[] {
  const warnings = [
    minifiedJobs,
    schedulesLeftOut,
    schedulesLost,
    severalInstances,
    ...(hasScheduler ? [] : [neverFired]),
  ];
  return warnings.flatMap((warn) => warn(found) ?? []);
}

/**
 * A warning about scheduled jobs that share a lock, in one line; `undefined` if that cannot lose a tick.
 *
 * @param known the locks that were named before: they are left out, and new ones are added
 */
export function sharedLocks(scheduled: readonly BoundJob[], known: Set<string>): string | undefined {
  const jobs = new Map<string, Set<string>>();
  const losing = new Set<string>();
  for (const { name, job, settings } of scheduled) {
    if (typeof name !== 'string') continue;
    jobs.set(name, (jobs.get(name) ?? new Set()).add(job));
    if (losesTicks(settings)) losing.add(name);
  }
  const shared = [...jobs].filter(([name, { size }]) => size > 1 && losing.has(name) && !known.has(name));
  if (shared.length === 0) return undefined;
  for (const [name] of shared) known.add(name);
  const list = shared.map(([name, sharing]) => `"${name}" (${[...sharing].join(', ')})`).join(', ');
  return (
    `Scheduled jobs share a lock: ${list}. Of two ticks at one time one is skipped as held, unless its job has wait or catchUp. ` +
    'Jobs that may run side by side need locks of their own.'
  );
}

/** Whether a tick that is skipped as held is lost. */
export function losesTicks(settings: BoundJob['settings']): boolean {
  const isLate = settings.catchUp !== false && settings.oncePerTick;
  return !isLate && !mayWait(settings);
}

/** Class names as bundlers make them. */
const MINIFIED = /^[\w$]{1,2}$/;

/** A warning about jobs named after a minified class, in one line; `undefined` if there are none. */
function minifiedJobs(found: readonly Found[]): string | undefined {
  const minified = found.filter((one) => !hasOwnJob(one) && MINIFIED.test(one.instance.constructor.name));
  // Several instances of a class have the same job.
  const jobs = new Set(minified.map(({ bound }) => bound.job));
  if (jobs.size === 0) return undefined;
  return (
    `These jobs seem to be called after minified classes: ${names([...jobs])}. The next build may call them ` +
    'otherwise: then their last runs are forgotten, and while both versions run, locks without a `name` do not exclude each other. ' +
    "Give each a job: '…', or have the bundler keep the names of classes."
  );
}

/** A warning about methods with several schedules, in one line: `@nestjs/schedule` fires one of them, and ignores the others silently. */
function schedulesLeftOut(found: readonly Found[]): string | undefined {
  const list = found.flatMap((one) => {
    const { fires, leftOut } = schedulesOf(
      Reflect.get(one.instance, one.method.key) as object,
      one.method.method,
    );
    if (fires === undefined || leftOut.length === 0) return [];
    return `${whereOf(one)} is fired by ${fires}, not by ${leftOut.join(' or ')}`;
  });
  if (list.length === 0) return undefined;
  const all = [...new Set(list)].join('; ');
  return `A method has one schedule, that of the decorator on top: ${all}. Give the other schedule a method of its own.`;
}

/** A warning about methods whose schedule is on a function that nothing finds any more, in one line. */
function schedulesLost(found: readonly Found[]): string | undefined {
  const lost = new Set(found.filter((one) => isScheduled(one.method.guard) && !isFired(one)).map(whereOf));
  if (lost.size === 0) return undefined;
  return (
    `${names([...lost])} had a schedule, and nothing fires ${lost.size === 1 ? 'it' : 'them'} any more: an override, or a decorator above, has replaced ` +
    'the method that carries it. Put @Cron() on top of the other decorators, and on the override as well.'
  );
}

/** A warning about classes of which the application has several instances, in one line: the scheduler fires the methods of each. */
function severalInstances(found: readonly Found[]): string | undefined {
  const list = byMethod(found.filter(isFired)).flatMap((same) => {
    const modules = new Map(same.map(({ instance, module }) => [instance, module]));
    const of = [...new Set(modules.values())].join(' and ');
    return modules.size < 2 ? [] : `${whereOf(same[0])} (${modules.size} instances, of ${of})`;
  });
  if (list.length === 0) return undefined;
  return (
    `The scheduler fires the same method of several instances: ${names([...new Set(list)])}. Each tick runs on one of them only. ` +
    'Let one module provide the class and export it, and the others import that module.'
  );
}

/** A warning about jobs that the scheduler would fire if there were one. */
function neverFired(found: readonly Found[]): string | undefined {
  const jobs = found.filter(isFired).map(({ bound }) => bound.job);
  if (jobs.length === 0) return undefined;
  return `Nothing fires ${jobs.join(', ')}: no module imports ScheduleModule.forRoot() of @nestjs/schedule.`;
}
