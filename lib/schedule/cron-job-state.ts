import { type CronJobLike, cronOptionsOf, type CronTimeLike, type JobRecord } from './scheduler-parts.js';

/** The part of the scheduler that makes cron jobs from decorated methods. */
interface CronMaker {
  readonly schedulerRegistry: { getCronJobs(): ReadonlyMap<string, object> };
  readonly cronJobs: Readonly<Record<string, CronRecord>>;
}

type CronRecord = Pick<JobRecord, 'options' | 'ref'>;

/** The state of a cron job. `stopped`: by the application; `gone`: deleted from the registry, or replaced there. */
export type JobState = 'started' | 'stopped' | 'gone';

/** The cron jobs that the scheduler has made from one method of one instance. */
interface MadeJob {
  state(): JobState;
  /** The current `CronTime` of each of its cron jobs: the application may have replaced them. Empty before the jobs are made. */
  cronTimes(): CronTimeLike[];
}

/** One cron job, with the maker that has it. */
interface Made {
  readonly maker: CronMaker;
  readonly key: string;
  readonly record: CronRecord;
}

/**
 * Which cron job the scheduler has made from which method. Name and expression do not show it: jobs without a name look the
 * same, and another job can be given the same name.
 */
export class CronJobState {
  /** By the `@Cron()` options of the method, in the order in which the scheduler finds the methods. */
  readonly #claims = new Map<object, { readonly method: object; readonly owner: object }[]>();
  #made: ReadonlyMap<unknown, Made[]>[] | undefined;

  /** @param makers called when they are needed */
  constructor(private readonly makers: () => readonly CronMaker[]) {}

  /** Call this for each method of each instance, in the order in which the scheduler looks for them. */
  claim(method: object, owner: object): MadeJob {
    const options = cronOptionsOf(method);
    if (options === undefined) return { state: () => 'started', cronTimes: () => [] };
    const claims = this.#claims.get(options) ?? [];
    this.#claims.set(options, claims);
    let index = claims.findIndex((claim) => claim.method === method && claim.owner === owner);
    if (index < 0) index = claims.push({ method, owner }) - 1;
    return {
      state: () => {
        const states = this.#of(options, index).map(({ maker, key, record }) =>
          stateOf(maker.schedulerRegistry, key, record.ref),
        );
        return (['gone', 'stopped'] as const).find((state) => states.includes(state)) ?? 'started';
      },
      cronTimes: () => this.#of(options, index).flatMap(({ record }) => cronTimeOf(record.ref)),
    };
  }

  /**
   * The job of the claim with this index, of each maker. If a maker has made more or fewer jobs of these options than there are claims, all
   * its jobs of these options (an alias of a provider is scheduled twice). A job that skips a tick is annoying, but one that
   * runs though it was stopped is worse.
   */
  #of(options: object, index: number): readonly Made[] {
    const claims = this.#claims.get(options)?.length;
    return this.#all().flatMap((made) => {
      const same = made.get(options) ?? [];
      return same.length === claims ? same.slice(index, index + 1) : same;
    });
  }

  /** Kept once the first job was made: until then the scheduler may still be looking for methods. */
  #all(): readonly ReadonlyMap<unknown, Made[]>[] {
    if (this.#made !== undefined) return this.#made;
    let begun = false;
    const all = this.makers().map((maker) => {
      const made = new Map<unknown, Made[]>();
      for (const [key, record] of Object.entries(maker.cronJobs)) {
        begun ||= record.ref !== undefined;
        const { options } = record;
        const same = made.get(options) ?? [];
        made.set(options, same);
        same.push({ maker, key, record });
      }
      return made;
    });
    if (begun) this.#made = all;
    return all;
  }
}

/** The state of a cron job. @param job `undefined` while the scheduler has not made it */
export function stateOf(registry: CronMaker['schedulerRegistry'], key: string, job: unknown): JobState {
  if (typeof job !== 'object' || job === null) return 'started';
  if (registry.getCronJobs().get(key) !== job) return 'gone';
  return isInactive(job) ? 'stopped' : 'started';
}

const cronTimeOf = (job: unknown): CronTimeLike | [] =>
  (job as { cronTime: CronTimeLike } | undefined)?.cronTime ?? [];

/** Whether a cron job is stopped. Not for a job with a single date: that becomes inactive by itself when its date has come. */
export function isInactive({
  cronTime,
  isActive,
  running,
}: Pick<CronJobLike, 'isActive' | 'running'> & { readonly cronTime?: Partial<CronTimeLike> }): boolean {
  return cronTime?.realDate === false && (isActive ?? running) === false;
}
