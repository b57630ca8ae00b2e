import type { InstanceRecord, KnownJob } from '../contract/history-store.js';
import type { KnownBy } from './facts.js';
import { isUp } from './join.js';
import type { InstanceInfo } from './types.js';

/** An instance: what people see of it, its jobs, and their dates, as the store keeps them. */
export interface Member {
  readonly info: Omit<InstanceInfo, 'jobs'>;
  readonly jobs: readonly KnownJob[];
  readonly dates: Pick<InstanceRecord, 'next' | 'last'>;
}

export type KnownByAll = readonly [KnownBy, ...KnownBy[]];

/**
 * How many of the instances that are no longer up count in full: those seen last. The others only show that the job was there, from when
 * to when, and whether it was switched on: two with a list of jobs show this for all that had the same list.
 */
const RECENT = 100;

/** How long a deploy takes at most, ms: for so long, old and new instances are there at the same time. */
const DEPLOY = 600_000;

/**
 * The jobs of a fleet, each with the instances that know it. After a week of deploys most instances are no longer up, and add nothing to
 * what the others show of today: so it looks at few instances for each job, and only when somebody asks.
 */
export class FleetJobs {
  readonly #recent: readonly Member[];
  readonly #ends: readonly Member[];
  readonly #few: readonly Member[];
  readonly #lists: readonly (readonly KnownJob[])[];
  readonly #upLists: readonly (readonly KnownJob[])[];
  /** The names of the instances that are up and have one of several lists of jobs, by the indexes of these lists. */
  readonly #up = new Map<string, readonly string[]>();
  /** By the list of jobs, which many instances share: the index of each job in it. */
  readonly #indexes = new Map<readonly KnownJob[], Map<string, number>>();

  /** @param told those that are up first, then those seen last @param recent how many that are not up count in full */
  constructor(
    private readonly told: readonly Member[],
    recent = RECENT,
  ) {
    const up = told.filter(({ info }) => isUp(info)).length;
    this.#recent = told.slice(0, up + recent);
    this.#ends = endsOf(told.slice(up + recent));
    this.#few = fewOf(told);
    this.#lists = listsOf(told);
    this.#upLists = listsOf(told.slice(0, up));
  }

  /** The names of all jobs. */
  get names(): string[] {
    return [...new Set(this.#lists.flatMap((jobs) => jobs.map(({ job }) => job)))];
  }

  /**
   * The few instances that decide whether a job is well, the newest first, without its dates: others with the same list of jobs add
   * nothing. If the job is not well by these, ask for more: a job that was made at run time may be younger than its instance.
   */
  few(job: string): KnownByAll | undefined {
    return asKnown(this.#of(job, this.#few, true));
  }

  /** The instances that are up and know a job, the newest first. */
  up(job: string): readonly string[] {
    const lists = this.#upLists.filter((jobs) => this.#indexesIn(jobs).has(job));
    const key = lists.map((jobs) => this.#upLists.indexOf(jobs)).join();
    const found =
      this.#up.get(key) ??
      this.told
        .filter(({ info, jobs }) => isUp(info) && lists.includes(jobs))
        .map(({ info }) => info.instance);
    this.#up.set(key, found);
    return found;
  }

  /** The instances that know a job, the newest first: those that are up, and as many others as the judgement needs. */
  get(job: string): KnownByAll | undefined {
    const recent = this.#of(job, this.#recent);
    return recent.length === 0 ? this.every(job) : asKnown(this.#of(job, this.#ends, false, recent));
  }

  /** The instances that {@link get} returns for any of these jobs. */
  knowing(jobs: Iterable<string>): Set<string> {
    const recent = listsOf(this.#recent);
    const isRecent = (job: string): boolean => recent.some((list) => this.#indexesIn(list).has(job));
    const [some, old]: [string[], string[]] = [[], []];
    for (const job of jobs) (isRecent(job) ? some : old).push(job);
    const found = [
      ...this.#withAny(some, [...this.#recent, ...this.#ends]),
      ...this.#withAny(old, this.told),
    ];
    return new Set(found.map(({ info }) => info.instance));
  }

  /** What all instances that are remembered know of a job, also those that are gone. */
  every(job: string): KnownByAll | undefined {
    return asKnown(this.#of(job, this.told));
  }

  /** A job, as each remembered list has it. */
  listed(job: string): KnownJob[] {
    return this.#lists.flatMap((jobs) => jobs[this.#indexesIn(jobs).get(job) ?? -1] ?? []);
  }

  /**
   * Whether a deploy has removed the job: after the last instance that knew it, one of the same application started (it knows other jobs
   * of that instance) that does not know this one. If there is no such instance, the whole application may be down. If the last one was not
   * shut down, and such instances have lived beside those that knew the job for longer than a deploy takes, they never had it.
   */
  wasRemoved(knownBy: KnownByAll): boolean {
    const [last] = knownBy;
    if (isUp(last)) return false;
    const others = this.#without(last);
    const isReplaced = others.some(({ info }) => isUp(info) && upSince(info) > last.startedAt);
    if (!isReplaced || last.state === 'left') return isReplaced;
    return !knownBy.some((by) => others.some(({ info }) => together(by, info) > DEPLOY));
  }

  /** The instances of the same application that do not know a job. */
  #without({ instance, job: { job } }: KnownBy): Member[] {
    const known = this.told.find(({ info }) => info.instance === instance)?.jobs ?? [];
    const lists = this.#lists.filter((jobs) => {
      const indexes = this.#indexesIn(jobs);
      return !indexes.has(job) && known.some((one) => indexes.has(one.job));
    });
    return this.told.filter(({ jobs }) => lists.includes(jobs));
  }

  /** Those that know at least one of these jobs. */
  #withAny(jobs: readonly string[], told: readonly Member[]): Member[] {
    const lists = this.#lists.filter((list) => jobs.some((job) => this.#indexesIn(list).has(job)));
    return told.filter((one) => lists.includes(one.jobs));
  }

  /** @param all where those are put that know the job */
  #of(job: string, told: readonly Member[], brief = false, all: KnownBy[] = []): KnownBy[] {
    let list: readonly KnownJob[] | undefined;
    let index: number | undefined;
    for (const one of told) {
      const { jobs } = one;
      // Most of them come one after another.
      if (jobs !== list) {
        list = jobs;
        index = this.#indexesIn(jobs).get(job);
      }
      if (index !== undefined)
        all.push(new KnowsJob(one, jobs[index] as KnownJob, brief ? undefined : index));
    }
    return all;
  }

  #indexesIn(jobs: readonly KnownJob[]): Map<string, number> {
    let indexes = this.#indexes.get(jobs);
    if (indexes === undefined) {
      indexes = new Map(jobs.map(({ job }, index) => [job, index]));
      this.#indexes.set(jobs, indexes);
    }
    return indexes;
  }
}

const listsOf = (told: readonly Member[]): (readonly KnownJob[])[] => [
  ...new Set(told.map(({ jobs }) => jobs)),
];

const asKnown = (known: readonly KnownBy[]): KnownByAll | undefined => (isSome(known) ? known : undefined);

const isSome = (known: readonly KnownBy[]): known is KnownByAll => known.length > 0;

/** An instance that knows a job. There may be a hundred thousand of these: each reads from its instance, and copies nothing. */
class KnowsJob implements KnownBy {
  constructor(
    private readonly told: Member,
    readonly job: KnownJob,
    /** Index of the job in the list of its instance; `undefined`: nobody asks for its dates. */
    private readonly index: number | undefined,
  ) {}

  get instance(): string {
    return this.told.info.instance;
  }

  get state(): KnownBy['state'] {
    return this.told.info.state;
  }

  get startedAt(): number {
    return upSince(this.told.info);
  }

  get seenAt(): number {
    return this.told.info.seenAt;
  }

  get clockOffset(): number | undefined {
    return this.told.info.clockOffset;
  }

  get kept(): KnownBy['kept'] {
    return this.told.info.kept;
  }

  /** The runs of an instance end with it. */
  get hung(): KnownBy['hung'] {
    const { hung, state } = this.told.info;
    return state === 'up' ? hung?.filter(({ job }) => job === this.job.job) : undefined;
  }

  get next(): number | undefined {
    return this.index === undefined ? undefined : (this.told.dates.next[this.index] ?? undefined);
  }

  get last(): number | undefined {
    return this.index === undefined ? undefined : (this.told.dates.last[this.index] ?? undefined);
  }
}

/**
 * For each list of jobs two instances among those that are gone, and two among those that have left: the first to start, and the one seen
 * last. @param told those seen last first
 */
function endsOf(told: readonly Member[]): Member[] {
  const ends = new Map<readonly KnownJob[], Map<string, { readonly last: Member; first: Member }>>();
  for (const one of told) {
    const { info, jobs } = one;
    const ofList = ends.get(jobs) ?? new Map<string, { readonly last: Member; first: Member }>();
    ends.set(jobs, ofList);
    const before = ofList.get(info.state);
    if (before === undefined) ofList.set(info.state, { last: one, first: one });
    else if (upSince(info) < upSince(before.first.info)) before.first = one;
  }
  const all = [...ends.values()].flatMap((ofList) => [...ofList.values()]);
  return [...new Set(all.flatMap(({ last, first }) => [last, first]))];
}

/**
 * Of the instances with the same list of jobs and the same state: the newest, whose view of the job counts; the first to start; the one
 * whose clock is least behind; and those on which a run hangs.
 */
function fewOf(told: readonly Member[]): Member[] {
  const groups = new Map<
    readonly KnownJob[],
    Map<string, { newest: Member; first: Member; clock: Member }>
  >();
  const few = new Set<Member>();
  for (const one of told) {
    const { info, jobs } = one;
    if (info.hung !== undefined) few.add(one);
    const ofList = groups.get(jobs) ?? new Map<string, { newest: Member; first: Member; clock: Member }>();
    groups.set(jobs, ofList);
    const group = ofList.get(info.state);
    if (group === undefined) ofList.set(info.state, { newest: one, first: one, clock: one });
    else {
      if (upSince(info) < upSince(group.first.info)) group.first = one;
      if ((info.clockOffset ?? 0) < (group.clock.info.clockOffset ?? 0)) group.clock = one;
    }
  }
  for (const ofList of groups.values())
    for (const { newest, first, clock } of ofList.values()) few.add(newest).add(first).add(clock);
  return told.filter((one) => few.has(one));
}

/** For how long two instances were there at the same time, ms. */
const together = (one: KnownBy, other: Member['info']): number =>
  Math.min(one.seenAt, other.seenAt) - Math.max(one.startedAt, upSince(other));

/** When an instance started, by the store's clock. */
export const upSince = ({ startedAt, clockOffset = 0 }: Member['info']): number => startedAt + clockOffset;
