import type { Clock } from '../clock.js';
import type { SkipReason } from '../errors.js';
import type { JobStart } from '../job-start.js';
import type { JobSchedule } from './job-schedule.js';
import type { JobState } from './made-jobs.js';
import { SecondChances } from './second-chances.js';
import { type HandOver, Term } from './term.js';

/** How a job wants its ticks to be treated: its options, checked, whole milliseconds. */
export interface TickSettings {
  /** Of its lock. */
  readonly ttl: number;
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
  /** What has become of its cron job on this instance. */
  readonly state: () => JobState;
}

/** What became of a call, as far as it says whether to try again. */
export type TickResult = { readonly ran: true } | Refused;

interface Refused {
  readonly ran: false;
  readonly reason: SkipReason;
  readonly holder?: string;
  readonly tick?: number;
  readonly finished?: boolean;
  readonly expiresIn?: number;
}

/** What is remembered of a tick from try to try. */
interface FollowedStart extends JobStart {
  /** Another instance was running it. */
  readonly watching?: boolean;
  /** How often in a row the store did not answer. */
  readonly failures?: number;
  /** In which state its job was when the tick was refused first: one that was stopped already was fired by hand. */
  readonly before?: JobState;
  /** The tick must not be lost because of a lease that a former leader has left behind. */
  readonly handOver?: boolean;
  /** It is too old to be begun by a new leader, unless such a lease is in its way: that is all it asks for. */
  readonly looking?: boolean;
}

/** How long to wait for the scheduler to make its jobs, ms: other modules may be slow to start. */
const WAIT_FOR_JOBS = 1_000;
/** How often: a job that is not there after a minute is not made at all. */
const MAX_WAITS = 60;

/**
 * Which ticks are fired again by this library: `rerun`, `catchUp`, and those of a leader that its predecessor is in the way of.
 *
 * A tick is fired again only while it is the newest one of its job, and the job is not stopped; and it only asks: whether it
 * runs is for the store to decide, which knows what the other instances have done. So a tick that is fired again never runs
 * without the store, whatever `onStoreError` says.
 *
 * - An instance that is refused because another one is running this very tick asks again when that lease can have ended:
 *   one store call for each lease that it is told of, renewals in between cost it nothing.
 * - An instance that starts asks once for the newest tick.
 * - A tick that met a store that was away is asked for again until the store answers.
 * - A leader asks for the newest tick again when a lease can have ended that its predecessor may have left behind.
 */
export class FollowUps {
  readonly #chances: SecondChances;
  /** The newest tick of each job that had to wait in a term: another one may be between that and its turn. */
  readonly #waiting = new WeakMap<TickedJob, number>();
  /** The newest one of this instance. Kept when it is over: the gate lets no tick through then. */
  #term: Term | undefined;

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
    const { tick, watching = false, looking = false, failures = 0 } = start;
    if (result.ran || tick === undefined) return;
    const { rerun, ttl } = job.settings;
    const before = start.before ?? job.state();
    const running = result.tick === tick && result.finished === false;
    if (rerun > 0 && running && result.expiresIn !== undefined) {
      const again = { ...start, before, watching: true, looking: false, failures: 0 };
      this.#chances.afterLease(job, tick, result.expiresIn, () => this.#again(job, again));
      return;
    }
    const held = result.reason === 'held' && (result.tick === undefined || result.tick < tick);
    const leftBehind = held && this.#term?.isLeftBehind(result, ttl) === true;
    const handOver = start.handOver === true || leftBehind;
    if (handOver && held && result.expiresIn !== undefined) {
      const wanted = looking && leftBehind ? this.#taking(job, start, tick) : start;
      const again = { ...wanted, before, handOver };
      if (again.only !== 'interrupted') this.#waiting.set(job, tick);
      this.#chances.afterLease(job, tick, result.expiresIn, () => this.#again(job, again));
      return;
    }
    const missed = !this.#isOld(job, tick, looking || (handOver && start.only !== 'interrupted'));
    // Whether it may be waiting for somebody to run it again: seen here, or not yet known by an instance that starts.
    const interrupted = watching || (rerun > 0 && start.only !== undefined);
    // `held` by this very process, by a call by hand or another job of this lock: nobody knows for how long.
    const inTheWay = watching ? result.reason === 'held' : handOver && held;
    if (!(inTheWay || result.reason === 'store-unavailable') || !(missed || interrupted)) return;
    const ever = handOver && start.only === undefined;
    const only = watching || looking || !missed ? 'interrupted' : ever ? undefined : 'known';
    const again = { ...asking(start, only), before, failures: failures + 1 };
    this.#chances.afterOutage(job, tick, failures, () => this.#again(job, again));
  }

  /**
   * Fires the newest tick of a job if nobody has started it (`catchUp`), or if its run was interrupted (`rerun`): for the
   * start of an instance, not before its `initialDelay` has passed.
   */
  catchUp(job: TickedJob): void {
    this.#begin(job, undefined);
  }

  /** The same for an instance that runs the jobs of the fleet from now on: what nobody started, also without `catchUp`. */
  lead(jobs: Iterable<TickedJob>, handOver: HandOver): void {
    const term = new Term(this.clock, handOver);
    this.#term = term;
    for (const job of jobs) this.#begin(job, term);
  }

  /** Fires nothing any more. */
  stop(): void {
    this.#chances.stop();
  }

  #begin(job: TickedJob, term: Term | undefined): void {
    const { oncePerTick, rerun, catchUp } = job.settings;
    const asked = rerun > 0 || catchUp !== false || term !== undefined;
    if (!job.schedule?.isCron || !oncePerTick || !asked) return;
    // Most leaders are elected long after their start: then it has passed.
    const delay = job.schedule.initialDelay - (term?.uptime ?? 0);
    if (term !== undefined && delay <= 0) this.#catchUp(job, term, 0);
    // Never at once at the start: the application may still be about to stop the job.
    else this.#chances.afterJobs(job, Math.max(delay, 0), () => this.#catchUp(job, term, 0));
  }

  #catchUp(job: TickedJob, term: Term | undefined, looks: number): void {
    const { rerun, catchUp, ttl } = job.settings;
    const start = this.#newStart(job);
    const state = job.state();
    // By its `initialDelay` it is to be started just now.
    const starting =
      term === undefined && state === 'stopped' && job.schedule?.initialDelay !== 0 && looks === 0;
    if (start?.tick === undefined || starting) {
      if (looks < MAX_WAITS)
        this.#chances.afterJobs(job, WAIT_FOR_JOBS, () => this.#catchUp(job, term, looks + 1));
      return;
    }
    if (state !== 'started') return;
    const { tick } = start;
    const waits = term?.waitsFor(tick, ttl) === true;
    if (term?.takesOver(tick) || (waits && this.#waiting.get(job) === tick))
      return this.#fire(job, this.#taking(job, start, tick));
    if (catchUp !== false && this.clock.now() - tick <= catchUp)
      return this.#fire(job, { ...start, only: 'known', handOver: term !== undefined });
    if (rerun === 0 && !waits) return;
    const handOver = term !== undefined && rerun > 0;
    this.#fire(job, { ...start, only: 'interrupted', handOver, looking: waits });
  }

  /** A tick as a new leader asks for it: to begin it. */
  #taking({ schedule }: TickedJob, start: FollowedStart, tick: number): FollowedStart {
    const sawItCome = this.#term?.sawItCome(tick, schedule?.initialDelay ?? 0);
    const { looking: _, ...rest } = asking(start, sawItCome ? undefined : 'known');
    return { ...rest, handOver: true };
  }

  /** Whether a tick that nobody started is not to be run any more. */
  #isOld({ settings: { catchUp, ttl } }: TickedJob, tick: number, handOver: boolean): boolean {
    if (catchUp !== false && this.clock.now() - tick <= catchUp) return false;
    return !handOver || this.#term?.waitsFor(tick, ttl) !== true;
  }

  /** Fires a tick for another time, if that still makes sense. */
  #again(job: TickedJob, start: FollowedStart): void {
    const { tick = 0, only, handOver = false, watching = false, before } = start;
    const state = job.state();
    if (state === 'gone' || (state === 'stopped' && before !== 'stopped')) return;
    const newest = job.schedule?.startAt(this.clock.now()).tick ?? tick;
    // A newer one that this instance did not fire: it was stopped, or did not lead, when that came.
    if (newest > tick) return;
    const old = handOver && !watching && only !== 'interrupted' && this.#isOld(job, tick, handOver);
    if (!old) return this.#fire(job, start);
    if (job.settings.rerun > 0) this.#fire(job, asking(start, 'interrupted'));
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
