import { nextTurn } from '../base/clock.js';
import type { JobFacts, TickFinder } from './facts.js';
import type { KnownJob } from '../contract/history-store.js';
import type { KnownByAll, Member } from './fleet-jobs.js';
import { factsOf, type LockFacts } from './join.js';
import type { Reader } from './read.js';
import { inTurns } from './turns.js';
import type { JobView, Unreadable } from './types.js';
import { attentionFirst, OF_ONE, viewOf } from './view.js';

/** How many entries of a lock tell how its jobs are if several share it: one may push out the entries of the others. */
const OF_SEVERAL = 200;

/** What one look at a store shows. */
export interface FleetView {
  /** The store's time. 0: it remembers no instance. */
  readonly time: number;
  readonly told: readonly Member[];
  readonly jobs: JobView[];
  /** The locks of these jobs, each with what was kept of its runs. */
  readonly locks: ReadonlyMap<string, LockFacts>;
  readonly unreadable: Unreadable;
  /** What is known of each job. */
  readonly facts: ReadonlyMap<string, JobFacts>;
  /** Finds the dates of schedules, if `cron` is at hand. */
  readonly ticks: TickFinder | undefined;
}

/** What does not come from the store. */
export type Beside = Pick<JobFacts, 'ticks' | 'show'>;

/** Looks at all jobs. @param most how many entries of a lock to read. Absent: as many as tell how a job is */
export async function lookAtAll(reader: Reader, beside: Beside, most = 0): Promise<FleetView> {
  const { told, time, jobs: fleet } = await reader.fleet();
  const jobs = await inTurns(fleet.names, (name) => {
    const all = fleet.get(name);
    return all === undefined || fleet.wasRemoved(all) ? [] : [all];
  });
  const known = jobs.map(([{ job }]) => job);
  const names = new Set(known.flatMap(({ lock }) => lock ?? []));
  const depth = depths(known);
  const locks = await reader.locks([...names], (name) => Math.max(most, depth(name)));
  await warmUp(jobs, time, beside);
  const facts = new Map<string, JobFacts>();
  const views = await inTurns(jobs, (knownBy) => {
    const ofJob = jobFacts(knownBy, locks, time, beside);
    if (ofJob.forgotten !== undefined) return [];
    facts.set(ofJob.known.job, ofJob);
    return [viewOf(ofJob)];
  });
  const { unreadable } = reader;
  return { time, told, jobs: views.sort(attentionFirst), locks, unreadable, facts, ticks: beside.ticks };
}

/** How many entries of a lock tell how its jobs are, in each answer about them. */
export function depths(jobs: readonly Pick<KnownJob, 'lock'>[]): (lock: string) => number {
  const [once, shared] = [new Set<string>(), new Set<string>()];
  for (const { lock = '' } of jobs) (once.has(lock) ? shared : once).add(lock);
  return (lock) => (shared.has(lock) ? OF_SEVERAL : OF_ONE);
}

/** The first schedule and the first date of a process take `cron` some ten milliseconds each: other work has its turn between them. */
async function warmUp(jobs: readonly KnownByAll[], time: number, { ticks }: Beside): Promise<void> {
  const first = jobs.find(([{ job }]) => job.schedule !== undefined)?.[0].job;
  if (first?.schedule === undefined || ticks === undefined) return;
  const dates = ticks(first.schedule, first.timeZone);
  await nextTurn();
  dates?.newest(time);
  await nextTurn();
}

/** What is known of a job. @param time the store's */
export function jobFacts(
  knownBy: KnownByAll,
  locks: ReadonlyMap<string, LockFacts>,
  time: number,
  beside: Beside,
): JobFacts {
  const { lock } = knownBy[0].job;
  const known = (lock === undefined ? undefined : locks.get(lock)) ?? { entries: [] };
  const now = Math.max(time, known.lock?.time ?? 0);
  const asOf = known.refusal === undefined ? { asOf: now } : {};
  return factsOf(knownBy, known, { ...beside, time: now, ...asOf });
}
