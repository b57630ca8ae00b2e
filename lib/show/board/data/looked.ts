import { given } from '../../../base/shared.js';
import { type JobFacts } from '../../../insight/facts.js';
import type { FleetView } from '../../../insight/look.js';
import { controlsOf, isRun } from '../../../insight/controls.js';
import { leasesOf, type LockFacts } from '../../../insight/join.js';
import { sentenceOf } from '../../../insight/sentence.js';
import { inTurns } from '../../../insight/turns.js';
import type { ControlInfo, JobView, RunInfo } from '../../../insight/types.js';
import type { MissEntry } from '../../../contract/history-store.js';
import { Renewals } from './renewals.js';

/** What is kept of a job. */
export interface JobRecords {
  /** Newest first. */
  readonly runs: RunInfo[];
  /** Newest first: one entry for each instance that noted a miss. */
  readonly misses: MissEntry[];
}

/** One answer of the store, put in order for people. */
export interface Looked extends Omit<FleetView, 'jobs'> {
  /** The store's time. */
  readonly now: number;
  /** The jobs that need attention come first. */
  readonly jobs: readonly JobView[];
  readonly kept: ReadonlyMap<string, JobRecords>;
  /** All runs that are kept, newest first, with runs that belong to no job. */
  readonly runs: readonly RunInfo[];
  /** What people did, newest first. */
  readonly controls: readonly ControlInfo[];
  /** The newest first. */
  readonly misses: readonly MissEntry[];
  /** By lock and fencing token, see `keyOfLease`: a time since which the lease was renewed, by the store's clock. Absent: nobody has seen that. */
  readonly renewals: ReadonlyMap<string, number>;
}

export const NOTHING_KEPT: JobRecords = { runs: [], misses: [] };

/** Puts an answer of the store in order, a few milliseconds at a stretch. */
export async function lookedAt(look: FleetView, renewals = new Renewals()): Promise<Looked> {
  const kept = new Map<string, JobRecords>();
  const of = (job: string): JobRecords => {
    const found = kept.get(job) ?? { runs: [], misses: [] };
    kept.set(job, found);
    return found;
  };
  const controls: ControlInfo[] = [];
  let now = look.time;
  const runs = await inTurns(look.locks.values(), (facts) => {
    now = Math.max(now, facts.lock?.time ?? 0);
    for (const entry of facts.entries) if (entry.type === 'miss') of(entry.job).misses.push(entry);
    const leases = leasesOf(facts);
    controls.push(...controlsOf(leases, facts.lock));
    const found = leases.filter(isRun);
    for (const run of found) if (run.job !== undefined) of(run.job).runs.push(run);
    return found;
  });
  for (const { misses } of kept.values()) misses.sort((one, other) => other.tick - one.tick);
  const misses = [...kept.values()].flatMap((each) => each.misses);
  return {
    ...look,
    now,
    kept,
    controls: controls.sort((one, other) => other.at - one.at),
    runs: runs.sort((one, other) => other.fencingToken - one.fencingToken),
    misses: misses.sort((one, other) => other.tick - one.tick),
    renewals: renewals.see(look.locks),
  };
}

/** Why a job is in its state, with times in the zone of this viewer. */
export function sentenceIn(
  facts: JobFacts | undefined,
  view: JobView,
  show: (time: number) => string,
): string | undefined {
  const { why } = view;
  if (why === undefined || facts === undefined) return why?.sentence;
  return sentenceOf({ ...facts, ...given({ show }) }, why, why.tick);
}

export const lockOf = ({ locks }: Pick<Looked, 'locks'>, { lock }: JobView): LockFacts | undefined =>
  lock === undefined ? undefined : locks.get(lock);
