import { type Found, isFired, whereOf, type BoundJob } from './bound-job.js';
import { mayWait } from '../lock/lock-call.js';
import { isScheduled, schedulesOf } from '../schedule/scheduler-parts.js';
import type { Clock } from '../base/clock.js';
import { logWarning } from './log/log-phrases.js';
import { isTool } from './options/application.js';
import { counted } from '../base/wording.js';

/** All that is wrong at the start, in one message. */
export function tellOf(problems: readonly string[]): void {
  if (problems.length === 0) return;
  const list = problems.map((problem) => `\n  - ${problem}`).join('');
  logWarning(() =>
    problems.length === 1 ? problems[0] : `${problems.length} problems at the start:${list}`,
  );
}

/** What is wrong with the guarded methods, so that runs are lost: one line each. @param hasScheduler whether anything fires them */
export function startWarnings(found: readonly Found[], hasScheduler: boolean): string[] {
  const warnings = [schedulesLeftOut, schedulesLost, ...(hasScheduler ? [] : [neverFired])];
  return warnings.flatMap((warn) => warn(found) ?? []);
}

/** A warning about scheduled jobs that share a lock, in one line; `undefined` if that cannot lose a tick. */
export function sharedLocks(all: readonly BoundJob[]): string | undefined {
  const jobs = new Map<string, Set<string>>();
  const losing = new Set<string>();
  for (const { name, job, settings, schedule } of all) {
    if (typeof name !== 'string' || schedule === undefined) continue;
    jobs.set(name, (jobs.get(name) ?? new Set()).add(job));
    if (losesTicks(settings)) losing.add(name);
  }
  const shared = [...jobs].filter(([name, { size }]) => size > 1 && losing.has(name));
  if (shared.length === 0) return undefined;
  const list = shared.map(([name, sharing]) => `"${name}" (${[...sharing].join(', ')})`).join(', ');
  return (
    `Scheduled jobs share a lock: ${list}. Of two ticks at one time one is skipped as held, unless its job has wait or catchUp. ` +
    'Jobs that may run side by side need locks of their own.'
  );
}

/** Whether a tick that is skipped as held is lost. */
function losesTicks(settings: BoundJob['settings']): boolean {
  const isLate = settings.catchUp !== false && settings.oncePerTick;
  return !isLate && !mayWait(settings);
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

/** A warning about jobs that the scheduler would fire if there were one. */
function neverFired(found: readonly Found[]): string | undefined {
  const jobs = found.filter(isFired).map(({ bound }) => bound.job);
  if (jobs.length === 0) return undefined;
  return `Nothing fires ${jobs.join(', ')}: no module imports ScheduleModule.forRoot() of @nestjs/schedule.`;
}

/** How long after the start `main.ts` may still call `enableShutdownHooks()`, ms. */
const HOOKS_LIMIT = 1_000;
const UTC = /^(Etc\/)?(UTC|UCT|GMT|Zulu|Universal)$/;

/** Warns of shutdown hooks that are off, when `main.ts` has had the time to call them. @returns a function that ends this */
export function tellOfHooks({ length }: readonly BoundJob[], clock: Clock): () => void {
  if (length === 0 || isTool(process.argv[1])) return () => undefined;
  const timer = clock.setTimer(() => {
    if (process.listenerCount('SIGTERM') === 0) logWarning(() => NO_HOOKS);
  }, HOOKS_LIMIT);
  return () => timer.cancel();
}

const NO_HOOKS =
  'Shutdown hooks are off: nothing listens to SIGTERM, so a deploy kills this instance in the middle of its jobs, and nobody runs them ' +
  'until their ttl is over. Call app.enableShutdownHooks() in main.ts.';

/** A warning about cron jobs whose dates depend on the zone of the process, in one line. */
export function withoutZone(jobs: readonly BoundJob[]): string | undefined {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zoneless = new Set(jobs.filter(({ schedule }) => schedule?.isZoneless).map(({ job }) => job));
  if (zoneless.size === 0 || UTC.test(zone) || isTool(process.argv[1])) return undefined;
  const [run, each] = zoneless.size === 1 ? ['runs', 'it'] : ['run', 'each'];
  return (
    `The time zone of this process, ${zone}, decides when ${names([...zoneless])} ${run}. On an instance with another one they run at other ` +
    `times, too. Give ${each} a timeZone, such as { timeZone: '${zone}' }.`
  );
}

/** How many jobs are named; the others are only counted, so that people can read the line. */
const MAX_NAMES = 8;

/** The log line at the start: what is guarded, on which instance, and in which store. `undefined` if nothing is. */
export function startLine(
  scheduled: readonly BoundJob[],
  others: readonly BoundJob[],
  { instance, store, leader }: { instance: string; store: string; leader?: string | undefined },
): string | undefined {
  const jobs = [...scheduled, ...others];
  if (jobs.length === 0) return undefined;
  const counts = [
    scheduled.length > 0 && counted(scheduled.length, 'scheduled job'),
    others.length > 0 && counted(others.length, scheduled.length > 0 ? 'other method' : 'method'),
  ];
  const what = counts.filter(Boolean).join(' and ');
  const elected =
    leader === undefined || scheduled.length === 0 || others.length > 0 ? '' : `, which leads "${leader}"`;
  const run = jobs.length === 1 ? 'runs' : 'run';
  const all = names(jobs.map(({ job }) => job));
  return `${what} ${run} on one instance at a time${elected} (${all})${notHere(jobs)}: this is instance ${instance}, its locks are in ${store}`;
}

function notHere(jobs: readonly BoundJob[]): string {
  const off = jobs.filter(({ settings }) => !settings.enabled);
  if (off.length === 0) return '';
  if (off.length < jobs.length) return `, but not here (enabled: false): ${names(off.map(({ job }) => job))}`;
  return `, but ${off.length === 1 ? 'not' : 'none of them'} here (enabled: false)`;
}

/** The first jobs by name, and how many more there are. */
export function names(jobs: readonly string[]): string {
  const shown = jobs.slice(0, MAX_NAMES);
  const more = jobs.length - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`;
}
