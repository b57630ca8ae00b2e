import { agree } from '../insight/facts.js';
import { type Told, upSince } from '../insight/fleet-jobs.js';
import { scheduleOf } from '../insight/shown.js';
import { inTurns } from '../insight/turns.js';
import type { KnownJob } from '../stores/history-store.js';
import type { Looked } from './looked.js';
import { outagesOf } from './outages.js';

/** Kinds of changes that may explain a problem. The compiler checks that the page has a row for each kind. */
export type ChangeKind = 'miss' | 'version' | 'schedule' | 'switch' | 'gone' | 'outage';

/** Something that changed at a time. Times are the store's where the offset of the instance's clock is known. */
export interface Change {
  readonly kind: ChangeKind;
  readonly at: number;
  /** Absent: a moment, not a period. */
  readonly to?: number;
  readonly text: string;
  /** The job that has changed; `tick`, if the job missed one. */
  readonly job?: string;
  readonly tick?: number;
}

/** How many changes of a kind are shown, the newest ones. */
export const MOST_CHANGES = 40;

/** The changes since a time, newest first. */
export async function changesOf(looked: Looked, since: number): Promise<Change[]> {
  const all = [
    ...missesOf(looked, since),
    ...versionsOf(looked.told),
    ...(await schedulesOf(looked.told, since)),
    ...goneOf(looked.told),
    ...switchesOf(looked),
    ...outagesOf(looked.misses).map(({ from, to, instances, jobs }): Change => ({
      kind: 'outage',
      at: from,
      to: to ?? looked.now,
      text: `The store was away on ${listed(instances)}: ticks of ${listed(jobs)} were missed`,
    })),
  ].filter(({ at, to = at }) => to >= since && at <= looked.now);
  const counts = new Map<ChangeKind, number>();
  return all
    .sort((one, other) => other.at - one.at)
    .filter(({ kind }) => {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      return count <= MOST_CHANGES;
    });
}

function switchesOf({ controls }: Looked): Change[] {
  return controls.map(({ action, actor, reason, at, lock, job }) => ({
    kind: 'switch',
    at,
    text: `${job ?? lock}: ${action} by ${actor}${reason === undefined ? '' : ` (${reason})`}`,
    ...(job !== undefined && { job }),
  }));
}

/** One change for each missed tick: several instances may have noted the same tick. */
function missesOf({ misses }: Looked, since: number): Change[] {
  const seen = new Set<string>();
  return misses.flatMap(({ job, tick, reason, count }) => {
    const key = JSON.stringify([job, tick]);
    if (tick < since || seen.has(key)) return [];
    seen.add(key);
    const again = count > 1 ? `, the last of ${count} in a row` : '';
    return [{ kind: 'miss', at: tick, job, tick, text: `Nobody started ${job} (${reason}${again})` }];
  });
}

/** The first instance of each version of an application. */
function versionsOf(told: readonly Told[]): Change[] {
  const seen = new Map<string, Set<string>>();
  const changes: Change[] = [];
  for (const one of [...told].sort((a, b) => upSince(a.info) - upSince(b.info))) {
    const { application = '', version, instance } = one.info;
    if (version === undefined) continue;
    const versions = seen.get(application) ?? new Set();
    if (versions.size > 0 && !versions.has(version))
      changes.push({
        kind: 'version',
        at: upSince(one.info),
        text: `Version ${version} after ${[...versions].at(-1)}, first on ${instance}`,
      });
    // The version moves to the end: the newest version is the last one.
    versions.delete(version);
    seen.set(application, versions.add(version));
  }
  return changes;
}

/** The jobs whose schedules differ from those of the instance that started before. Most instances share one list of jobs. */
async function schedulesOf(told: readonly Told[], since: number): Promise<Change[]> {
  const first = new Map<readonly KnownJob[], Told>();
  for (const one of [...told].sort((a, b) => upSince(a.info) - upSince(b.info)))
    if (!first.has(one.record.jobs)) first.set(one.record.jobs, one);
  const known = new Map<string, KnownJob>();
  return inTurns(first, ([jobs, one]) => {
    const changes: Change[] = [];
    const at = upSince(one.info);
    for (const job of jobs) {
      const before = known.get(job.job);
      known.set(job.job, job);
      if (before === undefined || at < since) continue;
      const { instance } = one.info;
      const about = { kind: 'schedule', at, job: job.job } as const;
      if (!agree(before, job))
        changes.push({
          ...about,
          text: `${job.job}: ${scheduleOf(job)} after ${scheduleOf(before)}, first on ${instance}`,
        });
      if (before.enabled !== job.enabled)
        changes.push({
          ...about,
          kind: 'switch',
          text: `${job.job}: switched ${job.enabled ? 'on' : 'off'} by its options, first on ${instance}`,
        });
    }
    return changes;
  });
}

function goneOf(told: readonly Told[]): Change[] {
  return told.flatMap(({ info: { instance, state, seenAt } }) => {
    if (state === 'up') return [];
    const how = state === 'gone' ? 'gives no sign of life any more' : 'was shut down';
    return [{ kind: 'gone', at: seenAt, text: `${instance} ${how}` }];
  });
}

function listed(names: readonly string[]): string {
  const [first = '', ...rest] = names;
  return rest.length === 0 ? first : `${first} and ${rest.length} more`;
}
