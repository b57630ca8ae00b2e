import type { Clock } from '../clock.js';
import type { SkipReason } from '../errors.js';
import type { JobStart } from '../job-start.js';
import type { JobSchedule } from '../scheduler/job-schedule.js';
import type { JobState } from '../scheduler/cron-job-state.js';
import { RetryTimers } from './retry-timers.js';
import { type HandOver, Term } from './hand-over.js';

/** How the ticks of a job are treated: its options, checked, whole milliseconds. */
export interface TickSettings {
  /** The ttl of its lock. */
  readonly ttl: number;
  readonly oncePerTick: boolean;
  readonly maxClockSkew: number;
  readonly rerun: number;
  readonly catchUp: number | false;
}

/** A job that the scheduler fires. */
export interface TickedJob {
  readonly schedule: Pick<JobSchedule, 'startAt' | 'isCron' | 'initialDelay' | 'madeAt'> | undefined;
  readonly settings: TickSettings;
  /** Fires the job as the scheduler does, for a given start. */
  readonly fire: (start: JobStart) => unknown;
  /** The state of its cron job on this instance. */
  readonly state: () => JobState;
}

/** The outcome of a call, as far as it decides whether to try again. */
export type TickResult = { readonly ran: true } | Refused;

interface Refused {
  readonly ran: false;
  readonly reason: SkipReason;
  readonly holder?: string;
  readonly tick?: number;
  readonly finished?: boolean;
  readonly expiresIn?: number;
}

/** What the library remembers of a tick from try to try. */
interface FollowedStart extends JobStart {
  /** Whether another instance was running the tick. */
  readonly watching?: boolean;
  /** How often in a row the store did not answer, or was not asked because this very process had the lock. */
  readonly failures?: number;
  /** The state of the job when the tick was first refused: a job that was stopped already was fired by hand. */
  readonly before?: JobState;
  /** Whether the tick is taken over: a lease that a former leader left behind must not make it lost. */
  readonly handOver?: boolean;
  /** Whether the tick is too old for a new leader to begin it, unless such a lease refuses it. The call only finds that out. */
  readonly looking?: boolean;
}

/** How long to wait until the next check whether the scheduler has made its jobs, ms: other modules may be slow to start. */
const WAIT_FOR_JOBS = 1_000;
/** How many such waits: a job that is not there after a minute is never made. */
const MAX_WAITS = 60;
/** For how long a new leader searches for ticks before it yields to the event loop, ms. */
const TURN = 10;

/**
 * Which ticks this library fires again: by `rerun`, by `catchUp`, and those that a new leader takes over.
 *
 * A tick is fired again only while it is the newest one of its job and young enough, and the job is not stopped. Firing it
 * again only asks the store: the store decides whether it runs, as it knows what the other instances have done. So a tick that
 * is fired again never runs without the store, whatever `onStoreError` says.
 *
 * - An instance asks once for the newest tick when it starts, and when it is elected.
 * - A tick whose lock is held for something else asks again when that lease can have ended. With `rerun`, so does a tick that
 *   another instance is running. This costs one store call per reported expiry, and none for renewals in between. With
 *   `catchUp` alone it asks once: the holder may have given the start back without running it.
 * - A tick that could not reach the store asks again until the store answers.
 *
 * A tick is young enough if it is within `catchUp`, or if a leader takes it over.
 */
export class MissedTicks {
  readonly #timers: RetryTimers;
  /** The newest tick of each job that had to wait in a term. Another term may come between that and its turn. */
  readonly #waiting = new WeakMap<TickedJob, number>();
  /** The newest term of this instance. Kept when it is over: the gate lets no tick through then. */
  #term: Term | undefined;

  /** @param onError receives the errors of jobs that are fired again, as the scheduler receives those of all others */
  constructor(
    private readonly clock: Clock,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#timers = new RetryTimers(clock);
  }

  /**
   * The start that a call by the scheduler belongs to.
   *
   * @param given the start, if the call has one: this library fires a tick again, or the call is another try
   * @returns `undefined` if the job has no schedule, or `oncePerTick` is off
   */
  begin(job: TickedJob, given: JobStart | undefined): JobStart | undefined {
    if (job.schedule === undefined || !job.settings.oncePerTick) return undefined;
    const start = given ?? this.#newStart(job, this.clock.now());
    if (start?.tick !== undefined) this.#timers.supersede(job, start.tick);
    return start;
  }

  /** Takes note of a call's outcome, and plans another try if one may be worthwhile. */
  ended(job: TickedJob, start: FollowedStart, result: TickResult): void {
    const { tick, looking = false, failures = 0 } = start;
    if (result.ran || tick === undefined) return;
    const { reason, expiresIn } = result;
    const { rerun, ttl } = job.settings;
    const before = start.before ?? job.state();
    const running = result.tick === tick && result.finished === false;
    const worthwhile = rerun > 0 || (start.watching !== true && !this.#isOld(job, tick, false));
    if (running && worthwhile && expiresIn !== undefined) {
      // Without `rerun` nothing may be run but a start that was given back: not one that a store without its data has forgotten.
      const next = rerun > 0 ? start : asking(start, start.only ?? 'known');
      const again = { ...next, before, watching: true, looking: false, failures: 0 };
      this.#timers.afterLease(job, tick, expiresIn, () => this.#again(job, again));
      return;
    }
    const unstarted = result.tick === undefined || result.tick < tick;
    const taken = unstarted && (reason === 'held' || reason === 'cooling-down');
    if (!taken && reason !== 'store-unavailable') return;
    const leftBehind = taken && reason === 'held' && this.#term?.isLeftBehind(result, ttl) === true;
    const handOver = start.handOver === true || leftBehind;
    const missed = looking && taken ? leftBehind : !this.#isOld(job, tick, handOver || looking);
    const watching = isWatching(job, start);
    // Whether the run of the tick may have been interrupted: seen here, or not yet known to an instance that starts.
    const interrupted = watching || (!taken && rerun > 0 && start.only !== undefined);
    if (!missed && !interrupted) return;
    // After an outage, a store that knows no start of the job may have lost what it knew: rather skip a tick than run it twice.
    const asked = taken || handOver ? start.only : (start.only ?? 'known');
    const only = watching || looking || !missed ? 'interrupted' : asked;
    const next = looking && leftBehind ? this.#taking(job, start, tick) : asking(start, only);
    if (taken && handOver && next.only !== 'interrupted') this.#waiting.set(job, tick);
    const again = { ...next, before, handOver };
    if (taken && expiresIn !== undefined)
      this.#timers.afterLease(job, tick, expiresIn, () => this.#again(job, { ...again, failures: 0 }));
    // The store is away, or this very process has the lock for an unknown time.
    else
      this.#timers.afterOutage(job, tick, failures, () =>
        this.#again(job, { ...again, failures: failures + 1 }),
      );
  }

  /**
   * Fires the newest tick of a job if no instance has started it (`catchUp`), or if its run was interrupted (`rerun`). Called
   * when an instance, or the job itself, starts; waits until its `initialDelay` has passed.
   */
  catchUp(job: TickedJob): void {
    this.#begin(job, undefined);
  }

  /**
   * The same for an instance that runs the jobs of the fleet from now on: it also fires recent unstarted ticks of jobs without
   * `catchUp`.
   */
  lead(jobs: Iterable<TickedJob>, handOver: HandOver): void {
    const term = new Term(this.clock, handOver);
    this.#term = term;
    this.#beginAll(jobs[Symbol.iterator](), term);
  }

  /** Fires nothing any more. */
  stop(): void {
    this.#term = undefined;
    this.#timers.stop();
  }

  /** Begins a few jobs at a time: the search for the newest ticks of all jobs can take longer than a leader's ttl. */
  #beginAll(jobs: Iterator<TickedJob>, term: Term): void {
    const since = this.clock.monotonic();
    while (this.#term === term && this.clock.monotonic() - since < TURN) {
      const next = jobs.next();
      if (next.done === true) return;
      this.#begin(next.value, term);
    }
    if (this.#term === term) this.clock.setTimer(() => this.#beginAll(jobs, term), 0);
  }

  #begin(job: TickedJob, term: Term | undefined): void {
    const { oncePerTick, rerun, catchUp } = job.settings;
    const asked = rerun > 0 || catchUp !== false || term !== undefined;
    if (!job.schedule?.isCron || !oncePerTick || !asked) return;
    // Most leaders are elected long after their start: then the delay has passed.
    const delay = job.schedule.initialDelay - (term?.uptime(job.schedule.madeAt) ?? 0);
    if (term !== undefined && delay <= 0) this.#catchUp(job, term, 0, term.electedAt);
    // At the start never at once: the application may still be about to stop the job.
    else this.#timers.afterJobs(job, Math.max(delay, 0), () => this.#catchUp(job, term, 0));
  }

  /** @param at when the tick has to be the newest one, epoch milliseconds */
  #catchUp(job: TickedJob, term: Term | undefined, looks: number, at = this.clock.now()): void {
    const { rerun, catchUp, ttl } = job.settings;
    const start = this.#newStart(job, at);
    const state = job.state();
    // Its `initialDelay` has just passed, so the scheduler is about to start it.
    const starting =
      term === undefined && state === 'stopped' && job.schedule?.initialDelay !== 0 && looks === 0;
    if (start?.tick === undefined || starting) {
      if (looks < MAX_WAITS)
        this.#timers.afterJobs(job, WAIT_FOR_JOBS, () => this.#catchUp(job, term, looks + 1));
      return;
    }
    if (state !== 'started') return;
    const { tick } = start;
    const waits = term?.waitsFor(tick, ttl) === true;
    if (term?.takesOver(tick, at) || (waits && this.#waiting.get(job) === tick))
      return this.#fire(job, this.#taking(job, start, tick));
    if (catchUp !== false && this.clock.now() - tick <= catchUp)
      return this.#fire(job, { ...start, only: 'known', handOver: term !== undefined });
    if (rerun > 0 || waits) this.#fire(job, { ...start, only: 'interrupted', looking: waits });
  }

  /** A tick that a new leader wants to begin. */
  #taking({ schedule }: TickedJob, start: FollowedStart, tick: number): FollowedStart {
    const sawItCome = this.#term?.sawItCome(tick, schedule?.initialDelay ?? 0, schedule?.madeAt);
    const { looking: _, ...rest } = asking(start, sawItCome ? undefined : 'known');
    return { ...rest, handOver: true };
  }

  /** Whether an unstarted tick is too old to run. */
  #isOld({ settings: { catchUp, ttl } }: TickedJob, tick: number, handOver: boolean): boolean {
    if (catchUp !== false && this.clock.now() - tick <= catchUp) return false;
    return !handOver || this.#term?.waitsFor(tick, ttl) !== true;
  }

  /** Fires a tick again, if that still makes sense. */
  #again(job: TickedJob, start: FollowedStart): void {
    const { tick = 0, only, handOver = false, before } = start;
    const state = job.state();
    if (state === 'gone' || (state === 'stopped' && before !== 'stopped')) return;
    const newest = job.schedule?.startAt(this.clock.now()).tick ?? tick;
    // There is a newer tick that this instance did not fire: its job was stopped, or it did not lead, when that tick came.
    if (newest > tick) return;
    const old = !isWatching(job, start) && only !== 'interrupted' && this.#isOld(job, tick, handOver);
    if (!old) return this.#fire(job, start);
    if (job.settings.rerun > 0) this.#fire(job, asking(start, 'interrupted'));
  }

  #fire(job: TickedJob, start: FollowedStart): void {
    Promise.resolve(start)
      .then((given) => job.fire(given))
      .catch((error: unknown) => this.onError(error));
  }

  #newStart({ schedule, settings: { maxClockSkew, rerun } }: TickedJob, at: number): JobStart | undefined {
    const start = schedule?.startAt(at);
    if (start?.tick === undefined) return start;
    return { ...start, maxClockSkew, ...(rerun > 0 ? { rerun } : undefined) };
  }
}

/** Whether another instance was running the tick, and the job may be run again if that was interrupted. */
const isWatching = ({ settings }: TickedJob, { watching = false }: FollowedStart): boolean =>
  watching && settings.rerun > 0;

/** The same start with this `only`. */
function asking(start: FollowedStart, only: 'known' | 'interrupted' | undefined): FollowedStart {
  const { only: _, ...rest } = start;
  return only === undefined ? rest : { ...rest, only };
}
