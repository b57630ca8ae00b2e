import type { KnownJob } from '../contract/history-store.js';
import { isOn } from './facts.js';
import { isUp } from './join.js';
import type { Member } from './fleet-jobs.js';
import { some } from './phrases.js';

/** How many jobs a sentence names. */
const NAMED = 8;

/** What is wrong between the jobs of this instance and those of others that are up: a sentence for each problem. */
export function problemsWith(
  others: readonly Member[],
  own: readonly KnownJob[],
  application: string | undefined,
): string[] {
  const [ours, strange]: [Member[], Member[]] = [[], []];
  for (const one of others.filter(({ info }) => isUp(info))) {
    const { application: other = application } = one.info;
    (application === undefined || other === application ? ours : strange).push(one);
  }
  return [...renamedAmong(ours, own), ...strangersAmong(strange, own, application)];
}

/**
 * The other applications that have a job of the same name under the same lock: each takes some of its ticks. An instance that does not
 * give the name of its application is no stranger, and jobs that are called by hand have no ticks.
 */
function strangersAmong(
  strangers: readonly Member[],
  own: readonly KnownJob[],
  application: string | undefined,
): string[] {
  const mine = new Set(own.filter(hasTicks).map(keyOf));
  const told = new Map<string | undefined, string>();
  for (const { info, jobs } of strangers) {
    const same = jobs.filter((job) => hasTicks(job) && mine.has(keyOf(job))).map(({ job }) => job);
    if (same.length === 0 || told.has(info.application)) continue;
    told.set(
      info.application,
      `The application "${info.application}" (instance ${info.instance}) has jobs of the same names in this store as "${application}": ${some(same, NAMED)}. ` +
        'Each of their ticks runs in one of the two applications, not in both. ' +
        'Give each application a place of its own: keyPrefix on Redis, schema or table in a database. ' +
        'If they shall share these jobs, give both the same insight.application.',
    );
  }
  return [...told.values()];
}

/**
 * Jobs that another build calls otherwise, because somebody or a bundler has renamed their classes: each of two live instances has one
 * that the other has not, with one schedule, and under one lock or with names that differ as those of bundlers do.
 */
function renamedAmong(others: readonly Member[], own: readonly KnownJob[]): string[] {
  const mine = new Set(own.map(({ job }) => job));
  const told = new Map<string, string>();
  for (const { info, jobs } of others) {
    const theirs = new Set(jobs.map(({ job }) => job));
    const unknown = jobs.filter((job) => hasTicks(job) && !mine.has(job.job));
    for (const one of own) {
      const { job } = one;
      if (told.has(job) || !hasTicks(one) || theirs.has(job)) continue;
      const other = unknown.find((each) => isLikely(one, each))?.job;
      if (other === undefined) continue;
      told.set(
        job,
        `Was ${other} renamed? The live instance ${info.instance} has it, and this one has ${job} with the same schedule: each tick runs under ` +
          `both names. Give the method a fixed job: '${other}', or have the bundler keep the names of classes.`,
      );
    }
  }
  return [...told.values()];
}

const hasTicks = (job: KnownJob): boolean => isOn(job) && job.kind !== 'hand';
const keyOf = ({ job, lock }: KnownJob): string => JSON.stringify([job, lock]);

const isLikely = (one: KnownJob, other: KnownJob): boolean =>
  scheduleOf(one) === scheduleOf(other) &&
  ((one.lock !== undefined && one.lock === other.lock) || bareName(one.job) === bareName(other.job));

const scheduleOf = ({ schedule, timeZone, interval }: KnownJob): string =>
  JSON.stringify([schedule, timeZone, interval]);

/** Bundlers make `X2`, `X$1` and `_X` of a class `X` of which there is another one. They leave a name without a class as it is. */
const bareName = (job: string): string => job.replace(/^_*(.*?)\$?\d*(\..*)$/s, '$1$2');
