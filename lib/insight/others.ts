import type { KnownJob } from '../contract/history-store.js';
import { agree, isOn } from './facts.js';
import { isUp } from './join.js';
import type { Member } from './fleet-jobs.js';
import { some } from './phrases.js';

/**
 * What is wrong between the jobs of this instance and those of others that are up: a sentence for each problem.
 *
 * Another application that has a job of the same name under the same lock takes some of its ticks; an instance that does not give the name
 * of its application is no stranger. Of the same application, another build may call a job otherwise, because somebody or a bundler has
 * renamed its class: each of the two has one that the other has not.
 */
export function problemsWith(
  others: readonly Member[],
  own: readonly KnownJob[],
  application: string | undefined,
): string[] {
  const mine = own.filter(hasTicks);
  const told = new Map<string, string>();
  const tell = (about: string, problem: string): unknown => told.has(about) || told.set(about, problem);
  for (const { info, jobs } of others.filter(({ info: one }) => isUp(one))) {
    const { application: other = application, instance } = info;
    const theirs = jobs.filter(hasTicks);
    if (application !== undefined && other !== undefined && other !== application) {
      const same = theirs.filter((job) => mine.some((one) => one.job === job.job && one.lock === job.lock));
      if (same.length > 0)
        tell(
          `of ${other}`,
          `The application "${other}" (instance ${instance}) has jobs of the same names in this store as "${application}": ${some(names(same), 8)}. ` +
            'Each of their ticks runs in one of the two applications, not in both. ' +
            'Give each application a place of its own: keyPrefix on Redis, schema or table in a database. ' +
            'If they shall share these jobs, give both the same insight.application.',
        );
      continue;
    }
    const [ours, known] = [new Set(names(own)), new Set(names(jobs))];
    const unknown = theirs.filter(({ job }) => !ours.has(job));
    for (const one of mine.filter(({ job }) => !known.has(job))) {
      const renamed = unknown.find((each) => isLikely(one, each))?.job;
      if (renamed !== undefined)
        tell(
          one.job,
          `Was ${renamed} renamed? The live instance ${instance} has it, and this one has ${one.job} with the same schedule: each tick runs under ` +
            `both names. Give the method a fixed job: '${renamed}', or have the bundler keep the names of classes.`,
        );
    }
  }
  return [...told.values()];
}

const names = (jobs: readonly KnownJob[]): string[] => jobs.map(({ job }) => job);

const hasTicks = (job: KnownJob): boolean => isOn(job) && job.kind !== 'hand';

/** Whether two jobs may be one: on one schedule, and under one lock or with names that differ as those of bundlers do. */
const isLikely = (one: KnownJob, other: KnownJob): boolean =>
  agree(one, other) &&
  ((one.lock !== undefined && one.lock === other.lock) || bareName(one.job) === bareName(other.job));

/** Bundlers make `X2`, `X$1` and `_X` of a class `X` of which there is another one. They leave a name without a class as it is. */
const bareName = (job: string): string => job.replace(/^_*(.*?)\$?\d*(\..*)$/s, '$1$2');
