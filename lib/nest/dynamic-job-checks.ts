import { intervalOf, type JobOrchestrator, MAX_TIMER, overlay } from '../schedule/scheduler-parts.js';
import type { CronJobOptions, DynamicJob, IntervalJobOptions } from './options/job-options.js';
import { CRON_PARAMETERS, unknownOptions } from './options/table.js';
import { duration, invalidNames } from './options/values.js';
import { show, unknownNames } from '../base/wording.js';
import {
  checkLockOptions,
  withoutEffect,
  type Checked,
  type JobSettings,
  type ModuleSettings,
} from './options/check.js';

/** The arguments of one call of `cron()` or `interval()`. */
export interface Wanted {
  readonly kind: 'cron' | 'interval';
  readonly name: string;
  readonly options: CronJobOptions | IntervalJobOptions;
  readonly job: DynamicJob;
}

/** Parameters of `cron` for a job, without its callback. */
type CronParameters = ReturnType<typeof cronParameters>;

/** The job, its lock and its settings, with their problems. */
export function checkJob(
  { kind, name, options, job: callback }: Wanted,
  module: ModuleSettings,
): Checked<{ job: string; name: string; settings: JobSettings }> {
  const problems = unknownOptions(Object(options) as object, kind);
  const given = Object(options) as CronJobOptions;
  const { lock = name } = given;
  problems.push(...invalidNames({ name, lock }));
  if (typeof callback !== 'function') problems.push(`${show(callback)} is no function. Give the job to run.`);
  const checked = checkLockOptions(given, module, lock);
  problems.push(...checked.problems);
  if (checked.problems.length === 0) problems.push(...withoutEffect(given, checked.settings));
  return { settings: { job: name, name: lock, settings: checked.settings }, problems };
}

/** Why a job cannot have this name in the scheduler; empty if it can. The name of a deleted job is free again. */
export function takenName({ kind, name }: Wanted, orchestrator: JobOrchestrator): string[] {
  const { schedulerRegistry: registry } = orchestrator;
  const registered =
    kind === 'cron' ? registry.getCronJobs().has(name) : intervalOf(registry, name) !== undefined;
  const records = kind === 'cron' ? orchestrator.cronJobs : orchestrator.intervals;
  // A decorated method has this name, and its job was not made yet.
  const record = Object.hasOwn(records, name) ? records[name] : undefined;
  if (!registered && (record === undefined || record.ref !== undefined)) return [];
  const what = kind === 'cron' ? 'cron job' : 'interval';
  return [`name: the registry has ${kind === 'cron' ? 'a' : 'an'} ${what} of this name already.`];
}

export function cronParameters(name: string, expression: string | Date, { timeZone, cron }: CronJobOptions) {
  return { ...cron, name, cronTime: expression, timeZone };
}

function parameterProblems(cron: CronJobOptions['cron']): string[] {
  if (cron === undefined) return [];
  if (typeof cron !== 'object' || cron === null)
    return [`cron: ${show(cron)} is no object. Give { waitForCompletion: true }, or the like.`];
  return unknownNames(cron, CRON_PARAMETERS).map((problem) => `cron.${problem}`);
}

/** The problems of the parameters of `cron`. Finds them by making a job that is neither started nor registered. */
export function cronProblems(
  parameters: CronParameters,
  { cron }: CronJobOptions,
  orchestrator: JobOrchestrator | undefined,
): string[] {
  const problems = parameterProblems(cron);
  if (orchestrator === undefined || problems.length > 0) return problems;
  const { schedulerRegistry: registry } = orchestrator;
  const schedulerRegistry = Object.assign(Object.create(registry) as typeof registry, {
    addCronJob: () => undefined,
  });
  const record = { options: { ...parameters, disabled: true }, target: () => undefined };
  try {
    overlay(orchestrator, { schedulerRegistry, cronJobs: { [parameters.name]: record } }).mountCron();
    return [];
  } catch (error) {
    return [noCronJob(parameters, error)];
  }
}

/** @param error the error of `cron` */
export function noCronJob({ cronTime, timeZone }: CronParameters, error: unknown): string {
  const zone = timeZone === undefined ? '' : `, timeZone ${show(timeZone)}`;
  const expression = cronTime instanceof Date ? cronTime.toString() : show(cronTime);
  return `expression: cron cannot make a job of ${expression}${zone}: ${error instanceof Error ? error.message : String(error)}`;
}

/** Whole milliseconds. */
export function readInterval(every: unknown, problems: string[]): number {
  const interval = duration()('every', every ?? Number.NaN, problems) ?? 1;
  if (interval <= MAX_TIMER) return interval;
  problems.push(`every: ${show(every)} is longer than Node's timers keep, 24.8 days. Use a cron job.`);
  return 1;
}
