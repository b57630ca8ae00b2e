import type { InstanceRecord, KnownJob } from '../stores/history-store.js';
import { given, type KnownBy } from './facts.js';
import { isUp } from './join.js';
import type { InstanceInfo } from './types.js';

/** An instance, and what the store has told of it. */
export interface Told {
  readonly info: Omit<InstanceInfo, 'jobs'>;
  readonly record: InstanceRecord;
}

type DatedJob = InstanceInfo['jobs'][number];

export type KnownByAll = readonly [KnownBy, ...KnownBy[]];

/** How many of the instances that are not up any more tell how a job is now: those seen last, and of the others the first of each list. */
const RECENT = 20;

/**
 * The jobs of a fleet, each with the instances that know it. After a week of deploys most instances are not up any more, and tell nothing
 * of today that others do not: so not all are looked at for each job, and only when somebody asks.
 */
export class FleetJobs {
  readonly #telling: readonly Told[];
  /** By the list of jobs, which many instances share: the place of each job in it. */
  readonly #places = new Map<readonly KnownJob[], Map<string, number>>();

  /** @param told the newest first */
  constructor(private readonly told: readonly Told[]) {
    this.#telling = tellingOf(told);
  }

  /** The names of all jobs. */
  get names(): string[] {
    const lists = new Set(this.told.map(({ record }) => record.jobs));
    return [...new Set([...lists].flatMap((jobs) => jobs.map(({ job }) => job)))];
  }

  /** The instances that know a job, the newest first: those that are up, and as many others as it takes to tell how it is. */
  get(job: string): KnownByAll | undefined {
    return this.#of(job, this.#telling) ?? this.every(job);
  }

  /** The same of all instances that are remembered. */
  every(job: string): KnownByAll | undefined {
    return this.#of(job, this.told);
  }

  /**
   * Whether a deploy has removed the job: the last instance that knew it is followed by one of the same application (it knows other jobs
   * of it), which does not know this one. If there is no such instance, the whole application may be down.
   */
  wasRemoved([last]: KnownByAll): boolean {
    if (isUp(last)) return false;
    const before = this.told.find(({ info }) => info.instance === last.instance)?.record.jobs ?? [];
    const followers = this.told.filter(({ info }) => isUp(info) && info.startedAt > last.startedAt);
    return [...new Set(followers.map(({ record }) => record.jobs))].some(
      (jobs) => jobs === before || before.some(({ job }) => this.#placesIn(jobs).has(job)),
    );
  }

  #of(job: string, told: readonly Told[]): KnownByAll | undefined {
    const all: KnownBy[] = [];
    const alike = new Map<readonly KnownJob[], DatedJob>();
    for (const one of told) {
      const { jobs } = one.record;
      const place = this.#placesIn(jobs).get(job);
      if (place === undefined) continue;
      const by = knownBy(one, place, alike.get(jobs));
      alike.set(jobs, by.job);
      all.push(by);
    }
    const [first, ...others] = all;
    return first === undefined ? undefined : [first, ...others];
  }

  #placesIn(jobs: readonly KnownJob[]): Map<string, number> {
    let places = this.#places.get(jobs);
    if (places === undefined) {
      places = new Map(jobs.map(({ job }, place) => [job, place]));
      this.#places.set(jobs, places);
    }
    return places;
  }
}

/** A job with its dates, as an instance has told them. @param like one that has perhaps the same: then it is taken again */
export function jobAt({ jobs, next, last }: InstanceRecord, place: number, like?: DatedJob): DatedJob {
  const [coming, newest] = [next[place] ?? undefined, last[place] ?? undefined];
  if (like !== undefined && like.next === coming && like.last === newest) return like;
  return { ...(jobs[place] as KnownJob), ...given({ next: coming, last: newest }) };
}

function knownBy({ info, record }: Told, place: number, like: DatedJob | undefined): KnownBy {
  const { instance, state, seenAt, startedAt, clockOffset = 0, hung = [], kept } = info;
  const job = jobAt(record, place, like);
  // What goes on there ends with it.
  const open = state === 'up' && hung.length > 0 ? hung.filter((run) => run.job === job.job) : [];
  const by = { instance, state, seenAt, clockOffset, startedAt: startedAt + clockOffset, job, hung: open };
  return kept === undefined ? by : { ...by, kept };
}

function tellingOf(told: readonly Told[]): Told[] {
  const [up, rest] = [told.filter(({ info }) => isUp(info)), told.filter(({ info }) => !isUp(info))];
  const first = new Map<readonly KnownJob[], Map<string, Told>>();
  for (const one of rest.slice(RECENT)) {
    const { info, record } = one;
    const ofList = first.get(record.jobs) ?? new Map<string, Told>();
    first.set(record.jobs, ofList);
    const before = ofList.get(info.state);
    if (before === undefined || info.startedAt < before.info.startedAt) ofList.set(info.state, one);
  }
  const firsts = [...first.values()].flatMap((ofList) => [...ofList.values()]).slice(0, RECENT);
  return [...up, ...rest.slice(0, RECENT), ...firsts];
}
