import type { KnownJob } from '../contract/history-store.js';
import type { KnownBy } from './facts.js';
import { isUp } from './join.js';
import type { InstanceInfo } from './types.js';

/** An instance: what people see of it, and its list of jobs, which it may share with others. */
export interface Member {
  readonly info: Omit<InstanceInfo, 'jobs'>;
  readonly jobs: readonly KnownJob[];
}

export type KnownByAll = readonly [KnownBy, ...KnownBy[]];

/** How long a deploy takes at most, ms: for so long, old and new instances are there at the same time. */
const DEPLOY = 600_000;

/** The jobs of a fleet, each with the instances that know it. */
export class FleetJobs {
  /** Where each job stands in each list. */
  readonly #indexes = new Map<readonly KnownJob[], ReadonlyMap<string, number>>();

  /** @param told those that are up first, then those seen last */
  constructor(private readonly told: readonly Member[]) {
    for (const { jobs } of told)
      if (!this.#indexes.has(jobs))
        this.#indexes.set(jobs, new Map(jobs.map(({ job }, index) => [job, index])));
  }

  /** The names of all jobs. */
  get names(): string[] {
    return [...new Set([...this.#indexes.keys()].flatMap((jobs) => jobs.map(({ job }) => job)))];
  }

  /** The instances that know a job, the newest first: those that are up, then those that are gone. */
  get(job: string): KnownByAll | undefined {
    const known: KnownBy[] = [];
    for (const one of this.told) {
      const index = this.#indexes.get(one.jobs)?.get(job);
      if (index !== undefined) known.push(knownBy(one, index));
    }
    const [first, ...others] = known;
    return first && [first, ...others];
  }

  /** A job, as each list has it. */
  listed(job: string): KnownJob[] {
    return [...this.#indexes].flatMap(([jobs, indexes]) => jobs[indexes.get(job) ?? -1] ?? []);
  }

  /** The names of the jobs under a lock. */
  under(lock: string): string[] {
    return this.names.filter((job) => this.listed(job).some((known) => known.lock === lock)).sort();
  }

  /**
   * Whether a deploy has removed the job: after the last instance that knew it, one of the same application started (it knows other jobs
   * of that instance) that does not know this one. If there is no such instance, the whole application may be down. If the last one was not
   * shut down, and such instances have lived beside those that knew the job for longer than a deploy takes, they never had it.
   */
  wasRemoved(all: KnownByAll): boolean {
    const [last] = all;
    if (isUp(last)) return false;
    const others = this.#without(last);
    const isReplaced = others.some(({ info }) => isUp(info) && upSince(info) > last.startedAt);
    if (!isReplaced || last.state === 'left') return isReplaced;
    return !all.some((by) => others.some(({ info }) => together(by, info) > DEPLOY));
  }

  /** The instances of the same application that do not know a job. */
  #without({ instance, job: { job } }: KnownBy): Member[] {
    const known = this.told.find(({ info }) => info.instance === instance)?.jobs ?? [];
    return this.told.filter(({ jobs }) => {
      const indexes = this.#indexes.get(jobs);
      return indexes?.has(job) === false && known.some((one) => indexes.has(one.job));
    });
  }
}

/** An instance, as one that knows the job at this place of its list. */
function knownBy(one: Member, index: number): KnownBy {
  const { instance, state, seenAt, clockOffset = 0, kept, hung } = one.info;
  const job = jobAt(one, index);
  return {
    instance,
    state,
    seenAt,
    // It cannot have run the job before it had it.
    startedAt: Math.max(upSince(one.info), (one.info.added?.[index] ?? -Infinity) + clockOffset),
    clockOffset,
    kept,
    job,
    // The runs of an instance end with it.
    hung: state === 'up' ? hung?.filter((run) => run.job === job.job) : undefined,
  };
}

function jobAt({ info, jobs }: Member, index: number): KnownJob {
  const job = jobs[index] as KnownJob;
  return info.stopped?.includes(index) ? { ...job, stopped: true } : job;
}

/** The jobs of an instance, with those that are stopped there. */
export const jobsOf = (one: Member): KnownJob[] => one.jobs.map((_job, index) => jobAt(one, index));

/** For how long two instances were there at the same time, ms. */
const together = (one: KnownBy, other: Member['info']): number =>
  Math.min(one.seenAt, other.seenAt) - Math.max(one.startedAt, upSince(other));

/** When an instance started, by the store's clock. */
export const upSince = ({ startedAt, clockOffset = 0 }: Member['info']): number => startedAt + clockOffset;
