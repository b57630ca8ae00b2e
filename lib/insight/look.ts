import { UNDATED } from '../contract/history-store.js';
import type { JobFacts, TickFinder } from './facts.js';
import type { KnownByAll, Member } from './fleet-jobs.js';
import { factsOf, type LockFacts } from './join.js';
import type { Fleet, Reader } from './read.js';
import { inTurns, otherWork } from './turns.js';
import type { JobView, Unreadable } from './types.js';
import { attentionFirst, shortViewOf, viewOf } from './view.js';

/** How many entries of a lock tell that all is well, and how many tell how a job is. */
const LEAST = 3;
const FEW = 20;
/** How many entries of a lock tell how a job is that shares the lock: one job may push out the entries of the others. */
export const SOME = 200;

/** What one look at a store shows. */
export interface FleetView {
  /** The store's time. 0: it remembers no instance. */
  readonly time: number;
  /** The instances, without the dates of their jobs. */
  readonly told: readonly Member[];
  readonly jobs: JobView[];
  /** The locks of these jobs, each with what was kept of its runs. */
  readonly locks: ReadonlyMap<string, LockFacts>;
  readonly unreadable: Unreadable;
  /** What is known of each job that needs attention, or is `unknown`. */
  readonly facts: ReadonlyMap<string, JobFacts>;
  /** Finds the dates of schedules, if `cron` is at hand. */
  readonly ticks: TickFinder | undefined;
}

/** What does not come from the store. */
export type Beside = Pick<JobFacts, 'ticks' | 'show'>;

/**
 * Looks at all jobs: at those that are well by little, at the others by more.
 *
 * @param most how many entries of a lock that one job has. Absent: as few as tell how it is
 */
export async function lookAtAll(reader: Reader, beside: Beside, most?: number): Promise<FleetView> {
  const fleet = await reader.fleet(UNDATED);
  const { views, unwell, locks } = await lookInShort(reader, fleet, beside, most);
  // For these jobs, people want to know why: that takes more instances, with their dates.
  const all = unwell.length > 0 ? await reader.fleet(datesFor(unwell, fleet)) : fleet;
  const facts = new Map<string, JobFacts>();
  const more = await inTurns(unwell, (few) => {
    const { job } = few[0].job;
    // As of `fleet.time`: the lock was read before these instances, and says nothing about a tick that has come since.
    const known = jobFacts(all.jobs.get(job) ?? few, locks, fleet.time, beside);
    facts.set(job, known);
    return [viewOf(known)];
  });
  return {
    time: fleet.time,
    told: fleet.told,
    jobs: [...views, ...more].sort(attentionFirst),
    locks,
    unreadable: reader.unreadable,
    facts,
    ticks: beside.ticks,
  };
}

/** Of which instances the judgement of these jobs needs dates. Of one that was not there before, it may. */
function datesFor(jobs: readonly KnownByAll[], { jobs: known, told }: Fleet): (instance: string) => boolean {
  const needless = new Set(told.map(({ info }) => info.instance));
  for (const instance of known.knowing(jobs.map(([{ job }]) => job.job))) needless.delete(instance);
  return (instance) => !needless.has(instance);
}

/** The jobs that are well, the others, and the locks of all. */
async function lookInShort(
  reader: Reader,
  { jobs: known, time }: Fleet,
  beside: Beside,
  most: number | undefined,
): Promise<{ views: JobView[]; unwell: KnownByAll[]; locks: Map<string, LockFacts> }> {
  const jobs = await inTurns(known.names, (name) => {
    const few = known.few(name);
    return few === undefined || known.wasRemoved(few) ? [] : [few];
  });
  const sharing = sharingOf(jobs);
  const isShared = (name: string): boolean => (sharing.get(name) ?? 0) > 1;
  const limitOf = (name: string): number => (isShared(name) ? SOME : (most ?? LEAST));
  const locks = await reader.allLocks([...sharing.keys()], limitOf);
  await warmUp(jobs, time, beside);
  const views: JobView[] = [];
  const look = (some: readonly KnownByAll[], isEnough: (view: JobView, few: KnownByAll) => boolean) =>
    inTurns(some, (few) => {
      const view = shortViewOf(jobFacts(few, locks, time, beside), known.up(few[0].job.job));
      if (view === undefined || !isEnough(view, few)) return [few];
      views.push(view);
      return [];
    });
  if (most !== undefined) return { views, unwell: await look(jobs, () => true), locks };
  const open = await look(jobs, (view, few) => isWell(view) || !isFull(few, locks));
  const short = locksOf(open.filter((few) => isFull(few, locks))).filter((name) => !isShared(name));
  for (const [name, more] of await reader.locks(short, () => FEW)) locks.set(name, more);
  return { views, unwell: await look(open, () => true), locks };
}

/** The first schedule and the first date of a process take `cron` some ten milliseconds each: other work has its turn between them. */
async function warmUp(jobs: readonly KnownByAll[], time: number, { ticks }: Beside): Promise<void> {
  const first = jobs.find(([{ job }]) => job.schedule !== undefined)?.[0].job;
  if (first?.schedule === undefined || ticks === undefined) return;
  const dates = ticks(first.schedule, first.timeZone);
  await otherWork();
  dates?.newest(time);
  await otherWork();
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
  const asOf = known.lockRefusal === undefined ? { asOf: now } : {};
  return factsOf(knownBy, known, { ...beside, time: now, ...asOf });
}

const locksOf = (jobs: readonly KnownByAll[]): string[] =>
  jobs.map(([{ job }]) => job.lock).filter((name) => name !== undefined);

/** How many jobs have each lock. */
function sharingOf(jobs: readonly KnownByAll[]): Map<string, number> {
  const sharing = new Map<string, number>();
  for (const name of locksOf(jobs)) sharing.set(name, (sharing.get(name) ?? 0) + 1);
  return sharing;
}

/** Whether the lock of a job may have more entries than were read. */
const isFull = ([{ job }]: KnownByAll, locks: ReadonlyMap<string, LockFacts>): boolean =>
  (locks.get(job.lock ?? '')?.entries.length ?? 0) >= LEAST;

/** Whether older entries would say the same. */
const isWell = ({ status, failures, last }: JobView): boolean =>
  status === 'ok' && failures === 0 && last !== undefined;
