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

type Jobs = ReadonlyMap<string, KnownJob>;

/** Instances of one application and one version that started one after another, with the lists of jobs that they have. */
interface Release {
  readonly version: string | undefined;
  readonly lists: Set<Jobs>;
}

/**
 * The deploys, oldest first. An instance is compared with those that started before it: so a deploy and the way back are two. Instances
 * of one version may have different options: more of either kind are no deploy.
 */
export function deploysOf(told: readonly Member[]): Deploy[] {
  const byName = new Map<readonly KnownJob[], Jobs>();
  const releases = new Map<string, Release>();
  const deploys: Deploy[] = [];
  for (const { info, jobs } of [...told].sort((one, other) => upSince(one.info) - upSince(other.info))) {
    const own = byName.get(jobs) ?? new Map(jobs.map((job) => [job.job, job]));
    byName.set(jobs, own);
    const { application = '' } = info;
    const last = releases.get(application);
    const isSame = last !== undefined && last.version === info.version;
    const release = isSame ? last : { version: info.version, lists: new Set<Jobs>() };
    releases.set(application, release);
    if (last !== undefined) deploys.push(...deployOf(info, own, last, release));
    release.lists.add(own);
  }
  return deploys;
}

/** Whether an instance is the first of a deploy. @param last the release before it, or the one that it is of */
function deployOf(info: Member['info'], own: Jobs, last: Release, release: Release): Deploy[] {
  const { version, instance } = info;
  const jobs = release.lists.has(own) ? new Map<string, string>() : changes(own, [...last.lists]);
  const isNew = release !== last && version !== undefined && last.version !== undefined;
  if (!isNew && jobs.size === 0) return [];
  return [{ at: upSince(info), instance, jobs, ...(isNew && { version, before: last.version }) }];
}

/** @param before the lists of those before */
function changes(own: Jobs, before: readonly Jobs[]): Map<string, string> {
  const changed = new Map<string, string>();
  for (const [name, job] of own) {
    const those = before.flatMap((list) => list.get(name) ?? []);
    const last = those.at(-1);
    if (last !== undefined && !those.some((one) => agree(one, job)))
      changed.set(name, `${scheduleOf(job)} instead of ${scheduleOf(last)}`);
    else if (last !== undefined && !those.some(({ enabled }) => enabled === job.enabled))
      changed.set(name, `switched ${job.enabled ? 'on' : 'off'} by its options`);
  }
  return changed;
}
