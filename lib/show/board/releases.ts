import { agree } from '../../insight/facts.js';
import { type Member, upSince } from '../../insight/fleet-jobs.js';
import { scheduleOf } from '../../insight/shown.js';
import { inTurns } from '../../insight/turns.js';
import type { KnownJob } from '../../contract/history-store.js';
import type { Change } from './data/change.js';

/** Instances of one application and one version that started one after another. */
class Release {
  /** By each list of jobs that these instances had: until when one with this list was up. */
  readonly #lists = new Map<readonly KnownJob[], number>();

  /** @param before the instances of another version that started before these */
  constructor(
    readonly version: string | undefined,
    private readonly before: Release | undefined,
  ) {}

  /**
   * The lists with which that of another instance is compared, the newest last: those of the version before; those of instances that were
   * up at that time; and the newest. None, if one of these had the same list: then another one with the list changes nothing.
   */
  listsBefore(own: readonly KnownJob[], at: number): (readonly KnownJob[])[] {
    if ((this.#lists.get(own) ?? -Infinity) >= at) return [];
    const before = this.before === undefined ? [] : [...this.before.#lists.keys()];
    const newest = [...this.#lists.keys()].at(-1);
    const those = [...this.#lists].filter(([jobs, until]) => until >= at || jobs === newest);
    return [...before, ...those.map(([jobs]) => jobs)];
  }

  add({ info, jobs }: Member): void {
    const until = Math.max(this.#lists.get(jobs) ?? 0, info.state === 'up' ? Infinity : info.seenAt);
    this.#lists.delete(jobs);
    this.#lists.set(jobs, until);
  }
}

/**
 * What changed when an instance started: its version, and the schedules of its jobs. It is compared with the instances of its application
 * that started just before, so a deploy and the way back are two changes. Instances of one version may have different options: then another
 * instance of either kind changes nothing.
 */
export async function releasesOf(told: readonly Member[], since: number): Promise<Change[]> {
  const inOrder = [...told].sort((one, other) => upSince(one.info) - upSince(other.info));
  const newest = new Map<string, Release>();
  const jobIn = finder();
  return inTurns(inOrder, (one) => {
    const { application = '', version } = one.info;
    const { jobs } = one;
    const at = upSince(one.info);
    const last = newest.get(application);
    const now = last !== undefined && last.version === version ? last : new Release(version, last);
    newest.set(application, now);
    const before = at < since ? [] : now.listsBefore(jobs, at);
    now.add(one);
    return [
      ...(now === last ? [] : versionChange(one, last?.version)),
      ...(before.length === 0 ? [] : jobs.flatMap((job) => jobChanges(job, jobIn(job.job, before), one))),
    ];
  });
}

function versionChange({ info }: Member, before: string | undefined): Change[] {
  const { version, instance } = info;
  if (version === undefined || before === undefined) return [];
  const text = `Version ${version} after ${before}, first on ${instance}`;
  return [{ kind: 'version', at: upSince(info), text }];
}

/** @param before the job, as instances before this one had it, the newest last */
function jobChanges(job: KnownJob, before: readonly KnownJob[], { info }: Member): Change[] {
  const last = before.at(-1);
  if (last === undefined) return [];
  const about = { kind: 'schedule', at: upSince(info), job: job.job } as const;
  const changes: Change[] = [];
  if (!before.some((one) => agree(one, job)))
    changes.push({
      ...about,
      text: `${job.job}: ${scheduleOf(job)} after ${scheduleOf(last)}, first on ${info.instance}`,
    });
  if (!before.some(({ enabled }) => enabled === job.enabled))
    changes.push({
      ...about,
      kind: 'switch',
      text: `${job.job}: switched ${job.enabled ? 'on' : 'off'} by its options, first on ${info.instance}`,
    });
  return changes;
}

/** Finds a job in lists. Most instances share one list. */
function finder(): (job: string, lists: readonly (readonly KnownJob[])[]) => KnownJob[] {
  const known = new Map<readonly KnownJob[], Map<string, KnownJob>>();
  return (job, lists) =>
    lists.flatMap((list) => {
      const byName = known.get(list) ?? new Map(list.map((each) => [each.job, each]));
      known.set(list, byName);
      return byName.get(job) ?? [];
    });
}
