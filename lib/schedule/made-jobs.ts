/** A cron job that the scheduler has made, or is still to make, of a decorated method. */
interface CronRecord {
  /** What `@Cron()` has noted on the method: the very object. */
  readonly options?: unknown;
  /** Absent until it is made. */
  readonly ref?: unknown;
}

/** The parts of the scheduler that know its cron jobs. */
export interface CronKeepers {
  readonly registry: { getCronJobs(): ReadonlyMap<string, object> };
  /** Absent if it is none that is known: then nobody can say which job was made of which method. */
  readonly orchestrator: { readonly cronJobs: Readonly<Record<string, CronRecord>> } | undefined;
}

/** What has become of a cron job: stopped by the application, or deleted from the registry, or replaced there. */
export type JobState = 'started' | 'stopped' | 'gone';

/** What tells whether a cron job is started. */
interface StartedJob {
  readonly cronTime?: { readonly realDate: boolean };
  /** From version 4 of `cron` on; `running` before. */
  readonly isActive?: boolean;
  readonly running?: boolean;
}

/**
 * Which cron job the scheduler has made of which method. By name or expression that cannot always be told: jobs without a
 * name look the same, and a name can be given to another job.
 */
export class MadeJobs {
  /** Who has a method, and in which place the scheduler finds them, by what `@Cron()` has noted on it. */
  readonly #owners = new Map<object, Map<object, number>>();
  #records: Map<unknown, [key: string, record: CronRecord][]> | undefined;

  /**
   * @param keepers found when they are needed
   * @param hasStopped whether the application has stopped a job that is still in the registry
   */
  constructor(
    private readonly keepers: () => CronKeepers | undefined,
    private readonly hasStopped: (job: object) => boolean,
  ) {}

  /**
   * To be called for each method of each instance, in the order in which the scheduler looks for them.
   *
   * @returns what tells the state of the job of this method
   */
  claim(method: object, owner: object): () => JobState {
    const options = Reflect.getMetadata('SCHEDULE_CRON_OPTIONS', method) as object | undefined;
    if (options === undefined) return () => 'started';
    const owners = this.#owners.get(options) ?? new Map<object, number>();
    if (!owners.has(owner)) owners.set(owner, owners.size);
    this.#owners.set(options, owners);
    return () => {
      const states = this.#of(options, owner).map(([key, { ref }]) => this.#state(key, ref));
      return (
        states.find((state) => state === 'gone') ?? states.find((state) => state === 'stopped') ?? 'started'
      );
    };
  }

  /**
   * The job of this owner. All jobs of this method, where the scheduler has made more or fewer of them than it has owners
   * (an alias of a provider is scheduled again): a job that skips a tick is annoying, one that runs though stopped is worse.
   */
  #of(options: object, owner: object): readonly [key: string, record: CronRecord][] {
    const records = this.#all().get(options) ?? [];
    const owners = this.#owners.get(options);
    const place = owners?.get(owner) ?? 0;
    return records.length === owners?.size ? records.slice(place, place + 1) : records;
  }

  /** Looked up once: after the start of the application none is added. */
  #all(): ReadonlyMap<unknown, [key: string, record: CronRecord][]> {
    if (this.#records !== undefined) return this.#records;
    const records = new Map<unknown, [key: string, record: CronRecord][]>();
    for (const entry of Object.entries(this.keepers()?.orchestrator?.cronJobs ?? {})) {
      const { options } = entry[1];
      const same = records.get(options);
      if (same === undefined) records.set(options, [entry]);
      else same.push(entry);
    }
    return (this.#records = records);
  }

  #state(key: string, job: unknown): JobState {
    // It is still to be made.
    if (typeof job !== 'object' || job === null) return 'started';
    if (this.keepers()?.registry.getCronJobs().get(key) !== job) return 'gone';
    return this.hasStopped(job) ? 'stopped' : 'started';
  }
}

/** Whether a job that nobody pauses is stopped. One with a single date is so as well when that has come. */
export function isInactive({ cronTime, isActive, running }: StartedJob): boolean {
  return cronTime?.realDate === false && (isActive ?? running) === false;
}
