import type { Clock } from '../clock.js';
import type { SkipReason } from '../errors.js';
import type { JobStart } from '../job-start.js';
import type { JobSchedule } from './job-schedule.js';
import { SecondChances } from './second-chances.js';

/** How a job wants its ticks to be treated: its options, checked, whole milliseconds. */
export interface TickSettings {
  readonly oncePerTick: boolean;
  readonly maxClockSkew: number;
  readonly rerun: number;
  readonly catchUp: number | false;
}

/** A job that the scheduler fires. */
export interface TickedJob {
  readonly schedule: Pick<JobSchedule, 'startAt' | 'isCron' | 'initialDelay'> | undefined;
  readonly settings: TickSettings;
  /** Fires the job as the scheduler does, for a given start. */
  readonly fire: (start: JobStart) => unknown;
}

/** What a new leader takes over. */
export interface HandOver {
  /** How old a tick may be that it runs though its job has no `catchUp`, milliseconds. */
  readonly maxAge: number;
  /**
   * Since when this instance stands by, monotonic. A tick that came later fell into a fleet that was up: it is run also
   * if its job never ran before. An older one may come from before the first deployment of its job.
   */
  readonly since: number;
}

/** What became of a call, as far as it says whether to try again. */
export type TickResult =
  | { readonly ran: true }
  | {
      readonly ran: false;
      readonly reason: SkipReason;
      readonly tick?: number;
      readonly finished?: boolean;
      readonly expiresIn?: number;
    };

/** What is remembered of a tick from try to try. */
interface FollowedStart extends JobStart {
  /** Another instance was running it. */
  readonly watching?: boolean;
  /** How often in a row the store did not answer. */
  readonly failures?: number;
  /** It is fired by a new leader: the tick must not be lost because of the lease that its predecessor has left behind. */
  readonly handOver?: boolean;
}

/** How long to wait for the scheduler to make its jobs, ms: other modules may be slow to start. */
const WAIT_FOR_JOBS = 1_000;
/** How often: a job that is not there after a minute is not made at all. */
const MAX_WAITS = 60;

/**
 * Which ticks are fired again by this library: `rerun` and `catchUp`.
 *
 * A tick is fired again only while it is the newest one of its job, and only asks: whether it runs is for the store to
 * decide, which knows what the other instances have done. So a tick that is fired again never runs without the store,
 * whatever `onStoreError` says.
 *
 * - An instance that is refused because another one is running this very tick asks again when that lease can have ended:
 *   one store call for each lease that it is told of, renewals in between cost it nothing.
 * - An instance that starts asks once for the newest tick.
 * - A tick that met a store that was away is asked for again until the store answers.
 */
export class FollowUps {
  readonly #chances: SecondChances;

  /** @param onError is told what a job that is fired again throws, as the scheduler is of all others */
  constructor(
    private readonly clock: Clock,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#chances = new SecondChances(clock);
  }

  /**
   * The start that a call by the scheduler belongs to.
   *
   * @param given the start, if this library fires it again
   * @returns `undefined` if the job does not care for ticks
   */
  begin(job: TickedJob, given: JobStart | undefined): JobStart | undefined {
    if (job.schedule === undefined || !job.settings.oncePerTick) return undefined;
    const start = given ?? this.#newStart(job);
    if (start?.tick !== undefined) this.#chances.supersede(job, start.tick);
    return start;
  }

  /** Notes what became of a start, and when it may be worth another try. */
  ended(job: TickedJob, start: FollowedStart, result: TickResult): void {
    const { tick, watching = false, failures = 0, handOver = false } = start;
    if (result.ran || tick === undefined) return;
    const { rerun, catchUp } = job.settings;
    const running = result.tick === tick && result.finished === false;
    if (rerun > 0 && running && result.expiresIn !== undefined) {
      const again = { ...start, watching: true, failures: 0 };
      this.#chances.afterLease(job, tick, result.expiresIn, () => this.#fire(job, again));
      return;
    }
    const notStarted = result.tick === undefined || result.tick < tick;
    if (handOver && notStarted && result.reason === 'held' && result.expiresIn !== undefined) {
      this.#chances.afterLease(job, tick, result.expiresIn, () => this.#fire(job, start));
      return;
    }
    const notOld = catchUp !== false && this.clock.now() - tick <= catchUp;
    const missed = notOld || (handOver && start.only !== 'interrupted');
    // Whether it may be waiting for somebody to run it again: seen here, or not yet known by an instance that starts.
    const interrupted = watching || (rerun > 0 && start.only !== undefined);
    // `held` by this very process, by a call by hand or another job of this lock: nobody knows for how long.
    const inTheWay = (watching || (handOver && notStarted)) && result.reason === 'held';
    if (!inTheWay && (result.reason !== 'store-unavailable' || !(missed || interrupted))) return;
    const ever = handOver && start.only === undefined;
    const only = watching || !missed ? 'interrupted' : ever ? undefined : 'known';
    const again = { ...asking(start, only), failures: failures + 1 };
    this.#chances.afterOutage(job, tick, failures, () => this.#fire(job, again));
  }

  /**
   * Fires the newest tick of a job if nobody has started it (`catchUp`), or if its run was interrupted (`rerun`): for the
   * start of an instance, not before its `initialDelay` has passed; or for that of a leader.
   *
   * @param handOver given for a new leader, who runs a tick that nobody started though its job has no `catchUp`
   */
  catchUp(job: TickedJob, handOver?: HandOver): void {
    const { oncePerTick, rerun, catchUp } = job.settings;
    const asked = rerun > 0 || catchUp !== false || handOver !== undefined;
    if (!job.schedule?.isCron || !oncePerTick || !asked) return;
    // Most leaders are elected long after their start: then it has passed.
    const passed = handOver === undefined ? 0 : this.clock.monotonic() - handOver.since;
    const delay = job.schedule.initialDelay - passed;
    if (delay <= 0) this.#catchUp(job, handOver, 0);
    else this.#chances.afterJobs(job, delay, () => this.#catchUp(job, handOver, 0));
  }

  /** Fires nothing any more. */
  stop(): void {
    this.#chances.stop();
  }

  #catchUp(job: TickedJob, handOver: HandOver | undefined, tries: number): void {
    const { rerun, catchUp } = job.settings;
    const start = this.#newStart(job);
    if (start?.tick === undefined) {
      if (tries < MAX_WAITS)
        this.#chances.afterJobs(job, WAIT_FOR_JOBS, () => this.#catchUp(job, handOver, tries + 1));
      return;
    }
    const age = this.clock.now() - start.tick;
    if (handOver !== undefined && age <= handOver.maxAge) {
      const only = this.#sawItCome(job, age, handOver) ? undefined : 'known';
      return this.#fire(job, { ...asking(start, only), handOver: true });
    }
    const only = catchUp !== false && age <= catchUp ? 'known' : 'interrupted';
    if (only === 'interrupted' && rerun === 0) return;
    this.#fire(job, { ...start, only, handOver: handOver !== undefined });
  }

  /** Whether this instance stood by, and would have fired the tick had it led. Judged by age: clocks are set. */
  #sawItCome({ schedule }: TickedJob, age: number, { since }: HandOver): boolean {
    return age < this.clock.monotonic() - since - (schedule?.initialDelay ?? 0);
  }

  #fire(job: TickedJob, start: FollowedStart): void {
    Promise.resolve(start)
      .then((given) => job.fire(given))
      .catch((error: unknown) => this.onError(error));
  }

  #newStart({ schedule, settings: { maxClockSkew, rerun } }: TickedJob): JobStart | undefined {
    const start = schedule?.startAt(this.clock.now());
    if (start?.tick === undefined) return start;
    return { ...start, maxClockSkew, ...(rerun > 0 ? { rerun } : undefined) };
  }
}

/** A start that is refused, or not, by what is known of its job. */
function asking(start: FollowedStart, only: 'known' | 'interrupted' | undefined): FollowedStart {
  const { only: _, ...rest } = start;
  return only === undefined ? rest : { ...rest, only };
}
