import type { KnownJob } from '../../../contract/history-store.js';
import { agree } from '../../../insight/facts.js';
import { type Member, upSince } from '../../../insight/fleet-jobs.js';
import { scheduleOf } from '../../../insight/shown.js';

/** Another version of an application, or another list of its jobs. */
export interface Deploy {
  /** When its first instance started, by the store's clock. */
  readonly at: number;
  readonly instance: string;
  readonly version?: string;
  /** What another one of its application had before. */
  readonly before?: string;
  /** What it has changed of a job: its schedule, or whether it is there. */
  readonly jobs: ReadonlyMap<string, string>;
}

/** A version of an application, and the lists of jobs that its instances have. */
interface Release {
  readonly version: string | undefined;
  readonly lists: (readonly KnownJob[])[];
}

/**
 * The deploys, oldest first. An instance is compared with those of its application that started before it: so a deploy and the way back
 * are two. Instances of one version may have different options: more of either kind are no deploy.
 */
export function deploysOf(told: readonly Member[]): Deploy[] {
  const releases = new Map<string, Release>();
  const deploys: Deploy[] = [];
  for (const one of [...told].sort((a, b) => upSince(a.info) - upSince(b.info))) {
    const { application = '', version } = one.info;
    const last = releases.get(application);
    const release = last !== undefined && last.version === version ? last : { version, lists: [] };
    releases.set(application, release);
    if (last !== undefined && !release.lists.includes(one.jobs)) deploys.push(...deployOf(one, last));
    release.lists.push(one.jobs);
  }
  return deploys;
}

/** Whether an instance is the first of a deploy. @param last the release before it, or the one that it is of */
function deployOf({ info, jobs }: Member, last: Release): Deploy[] {
  const { version, instance } = info;
  const changed = changes(jobs, last.lists);
  const deploy = { at: upSince(info), instance, jobs: changed };
  if (version !== last.version && version !== undefined && last.version !== undefined)
    return [{ ...deploy, version, before: last.version }];
  return changed.size === 0 ? [] : [deploy];
}

/** @param before the lists of those before */
function changes(jobs: readonly KnownJob[], before: readonly (readonly KnownJob[])[]): Map<string, string> {
  const lists = [...new Set(before)].map((list) => new Map(list.map((job) => [job.job, job])));
  const changed = new Map<string, string>();
  for (const job of jobs) {
    const those = lists.flatMap((list) => list.get(job.job) ?? []);
    const last = those.at(-1);
    if (last !== undefined && !those.some((one) => agree(one, job)))
      changed.set(job.job, `${scheduleOf(job)} instead of ${scheduleOf(last)}`);
    else if (last !== undefined && !those.some(({ enabled }) => enabled === job.enabled))
      changed.set(job.job, `switched ${job.enabled ? 'on' : 'off'} by its options`);
  }
  return changed;
}
