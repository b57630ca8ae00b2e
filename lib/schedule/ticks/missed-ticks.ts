/*
 * lib/schedule/ticks: which tick of a job is fired again, and when: after a start, an outage, the death of the instance that ran it, a change of
 * the leader.
 * May not enter: leases. It learns by refusals and by schedules what has become of a tick.
 */
import type { Clock, Timer } from '../../base/clock.js';
import type { SkipReason } from '../../base/errors.js';
import type { JobStart, Retry } from '../../base/job-start.js';
import type { JobSchedule } from '../job-schedule.js';
import type { JobState } from '../cron-job-state.js';
import type { RefusalFacts } from '../../contract/lock-store.js';

/** A job that the scheduler fires. */
export interface TickedJob {
  readonly schedule: Pick<JobSchedule, 'startAt' | 'next' | 'isCron' | 'initialDelay'> | undefined;
  /** Its options, checked, whole milliseconds; `ttl` is that of its lock. */
  readonly settings: {
    readonly ttl: number;
    readonly oncePerTick: boolean;
    readonly rerun: number;
    readonly retry?: Retry | undefined;
    readonly catchUp: number | false;
  };
  /** Fires the job as the scheduler does, for a given start. */
  readonly fire: (start: JobStart) => unknown;
  /** The state of its cron job on this instance. */
  readonly state: () => JobState;
}

/** The outcome of a call, as far as it decides whether to try again. */
export type TickResult = { readonly ran: true; readonly retryIn?: number | undefined } | Refused;
type Refused = RefusalFacts & { readonly ran: false; readonly reason: SkipReason };

interface Tick extends JobStart {
  readonly tick: number;
}

/** The time in which this instance runs the jobs of the fleet. */
interface Term {
  /** Monotonic. */
  readonly begin: number;
  /** The minimum `catchUp` of each job, ms; the ttl of its lock is added. */
  readonly maxAge: number;
}

/** The start of a tick that this library fires. */
interface Followed extends Tick {
  readonly ask: Ask;
  /** Whether its job was stopped when the tick was first refused: then somebody has fired it by hand, by the scheduler's own job. */
  readonly stopped?: boolean;
  /** How often in a row the store could not be asked. */
  readonly failures?: number;
}

/** How long to wait until the next check whether the scheduler has made its jobs, ms: other modules may be slow to start. */
const WAIT_FOR_JOBS = 1_000;
/** How many such waits: a job that is not there after a minute is never made. */
const MAX_WAITS = 60;
/** How often a tick is asked for that may begin behind a pause, ms: a person may end that at any time, and nobody tells. */
const PAUSED = 30_000;
/** How much later than the instance on which a run has failed the others try it again, ms: they do if that one has died meanwhile. */
const BEHIND_OWN = 1_000;
/** For how long a new leader searches for ticks before it yields to the event loop, ms. */
const STRETCH = 10;

/**
 * Which ticks this library fires again. It only asks the store, and the store decides, as it knows what the other instances
 * have done: so such a tick never runs without the store, whatever `onStoreError` says.
 *
 * - An instance asks for the newest tick of a job when it starts, and when it is elected.
 * - If another lease keeps a tick from its start, the instance asks again as soon as that lease may have ended; if the store is away, as
 *   soon as it may be back.
 * - A run that fails is tried again (`retry`): the instance asks for its tick when the time has come, and so do those that were refused it.
 * - It asks again only while the tick is the newest of its job and the job is not stopped. To begin, the tick must be within the
 *   `catchUp` of its job: a new leader gives each job a minimum.
 *
 * A tick that is fired goes through the gate of the leader, the method and its interceptor, back to `ended()`.
 */
export class MissedTicks {
  readonly #timers: RetryTimers;
  /** The newest term of this instance. Kept when it is over: the gate lets no tick through then. */
  #term: Term | undefined;
  /** The jobs of which this library fires a tick in this moment. The value: what the scheduler has fired meanwhile, which found the lock taken. */
  readonly #firing = new Map<TickedJob, Followed | undefined>();

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
  ended(job: TickedJob, start: JobStart & Partial<Followed>, result: TickResult): void {
    const { tick } = start;
    if (tick === undefined) return;
    if (!result.ran) return this.#refused(job, { ...start, tick }, result);
    // What came meanwhile was late.
    this.#firing.delete(job);
    this.#repeat(job, { ...start, tick }, result.retryIn);
  }

  #refused(job: TickedJob, start: Tick & Partial<Followed>, result: Refused): void {
    const { tick, failures = 0 } = start;
    const obstacle = obstacleOf(tick, result);
    if (obstacle === 'own-lock' && start.ask === undefined && this.#firing.has(job))
      this.#firing.set(job, { ...start, ask: 'begin' });
    const next = obstacle && this.#next(job, start, obstacle);
    if (next === undefined) return;
    const again = (failed: number) => (): void => this.#again(job, { ...next, failures: failed });
    if (obstacle === 'own-lock' || obstacle === 'outage')
      return this.#timers.afterOutage(job, tick, failures, again(failures + 1));
    const { expiresIn = 0, reason } = result;
    const mayEnd = reason === 'paused' ? Math.min(expiresIn, PAUSED) : expiresIn;
    this.#timers.afterLease(job, tick, reason === 'already-ran' ? mayEnd + BEHIND_OWN : mayEnd, again(0));
  }

  /** A run here has failed. @param delay until it is tried again, ms; `undefined`: it is not */
  #repeat(job: TickedJob, start: Tick & Partial<Followed>, delay: number | undefined): void {
    if (delay === undefined) return;
    const next = this.#next(job, { ...start, ask: 'known' }, 'running');
    if (next !== undefined) this.#timers.afterLease(job, start.tick, delay, () => this.#again(job, next));
  }

  /** An instance has started, or the job itself: fires the newest tick of the job, if it is still to be run. */
  catchUp(job: TickedJob): void {
    this.#begin(job, undefined);
  }

  /** Catches up on an instance that runs the jobs of the fleet from now on. @param maxAge see {@link Term} */
  lead(jobs: Iterable<TickedJob>, maxAge: number): void {
    const term = (this.#term = { begin: this.clock.monotonic(), maxAge });
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
    while (this.#term === term && this.clock.monotonic() - since < STRETCH) {
      const next = jobs.next();
      if (next.done === true) return;
      this.#begin(next.value, term);
    }
    if (this.#term === term) this.clock.setTimer(() => this.#beginAll(jobs, term), 0);
  }

  #begin(job: TickedJob, term: Term | undefined): void {
    const { oncePerTick, catchUp } = job.settings;
    const asked = isRepeated(job) || catchUp !== false || term !== undefined;
    if (!job.schedule?.isCron || !oncePerTick || !asked) return;
    const { initialDelay } = job.schedule;
    // Most leaders are elected long after their start: then the scheduler has started the job.
    const isStarted = initialDelay === 0 || job.state() === 'started';
    if (term !== undefined && isStarted) this.#look(job, 0, this.#electedAt(term));
    // At the start never at once: the application may still be about to stop the job.
    else this.#timers.afterJobs(job, initialDelay, () => this.#look(job, 0));
  }

  /** @param at when the tick has to be the newest one, epoch milliseconds */
  #look(job: TickedJob, looks: number, at = this.clock.now()): void {
    const start = this.#newStart(job, at);
    const { initialDelay = 0 } = job.schedule ?? {};
    // Its `initialDelay` has just passed, so the scheduler is about to start it.
    const starting = looks === 0 && initialDelay !== 0 && job.state() === 'stopped';
    if (start?.tick !== undefined && !starting) this.#takeUp(job, { ...start, tick: start.tick });
    else if (looks < MAX_WAITS) this.#timers.afterJobs(job, WAIT_FOR_JOBS, () => this.#look(job, looks + 1));
  }

  /** Fires a tick that this instance has not fired yet. Only if its job ran before: the tick may be older than its first deployment. */
  #takeUp(job: TickedJob, start: Tick): void {
    if (job.state() !== 'started') return;
    const asking = this.#asking(job, start, 'known');
    if (asking !== undefined) this.#fire(job, asking);
  }

  /** The next try for a tick that was refused. */
  #next(job: TickedJob, start: Tick & Partial<Followed>, obstacle: Obstacle): Followed | undefined {
    const ask = nextAsk(start.ask ?? 'begin', obstacle, isRepeated(job));
    if (ask === undefined) return undefined;
    const next = this.#asking(job, { ...start, stopped: start.stopped ?? job.state() === 'stopped' }, ask);
    // What the scheduler fires, and is too old from the start, is skipped.
    return start.ask === undefined && next?.ask === 'interrupted' ? undefined : next;
  }

  /** Fires a tick again, if that still makes sense. */
  #again(job: TickedJob, start: Followed): void {
    const state = job.state();
    if (state === 'gone' || (state === 'stopped' && start.stopped !== true)) return;
    const newest = job.schedule?.startAt(this.clock.now()).tick ?? start.tick;
    // There is a newer tick that this instance did not fire: its job was stopped, or it did not lead, when that tick came.
    if (newest > start.tick) return;
    const asking = this.#asking(job, start, start.ask);
    if (asking !== undefined) this.#fire(job, asking);
  }

  /** A start that asks for this. A tick that is too old to begin can only be repeated. */
  #asking(job: TickedJob, start: Tick & Partial<Followed>, wanted: Ask): Followed | undefined {
    const isOld = beginsTick(wanted) && !this.#mayBegin(job, start.tick);
    if (isOld && !isRepeated(job)) return undefined;
    const ask = isOld ? 'interrupted' : wanted;
    const only = onlyOf(ask);
    const { only: _, ...rest } = start;
    return only === undefined ? { ...rest, ask } : { ...rest, ask, only };
  }

  /**
   * Whether the tick is young enough. A leader also begins one of a job without `catchUp`: from before the election, or so soon after it
   * that a lease of the last leader can be in the way, which lives for one ttl.
   */
  #mayBegin({ settings: { catchUp, ttl } }: TickedJob, tick: number): boolean {
    const age = this.clock.now() - tick;
    if (catchUp !== false && age <= catchUp) return true;
    const term = this.#term;
    return term !== undefined && tick <= this.#electedAt(term) + ttl && age <= term.maxAge + ttl;
  }

  /** When this instance was elected, epoch milliseconds, by its clock as it is set now. */
  #electedAt({ begin }: Term): number {
    return Math.ceil(this.clock.now() - (this.clock.monotonic() - begin));
  }

  #fire(job: TickedJob, start: Followed): void {
    this.#firing.set(job, undefined);
    void Promise.resolve(start)
      .then((given) => job.fire(given))
      .catch((error: unknown) => this.onError(error))
      .finally(() => {
        const meanwhile = this.#firing.get(job);
        this.#firing.delete(job);
        if (meanwhile !== undefined) this.#fire(job, meanwhile);
      });
  }

  #newStart({ schedule, settings: { rerun, retry } }: TickedJob, at: number): JobStart | undefined {
    const start = schedule?.startAt(at);
    if (schedule === undefined || start?.tick === undefined || (rerun === 0 && !retry)) return start;
    const before = schedule.next(start.tick);
    return { ...start, ...(rerun > 0 && { rerun }), ...(retry && { retry: { ...retry, before } }) };
  }
}

/** Whether a run of a tick may be repeated: one that was interrupted, or one that failed. */
const isRepeated = ({ settings: { rerun, retry } }: TickedJob): boolean => rerun > 0 || retry !== undefined;

/** Why the tick was refused, if it may run later. */
function obstacleOf(
  tick: number,
  { reason, tick: last, finished, expiresIn }: Refused,
): Obstacle | undefined {
  if (reason === 'store-unavailable') return 'outage';
  if (last === tick && finished === false && expiresIn !== undefined) return 'running';
  const isUnstarted = last === undefined || last < tick;
  if (!isUnstarted || (reason !== 'held' && reason !== 'cooling-down' && reason !== 'paused'))
    return undefined;
  return expiresIn === undefined ? 'own-lock' : 'locked';
}

/** What this library asks of the store when it fires a tick again. */
export type Ask =
  /** Begin the tick. */
  | 'begin'
  /** Begin it, if its job ran before: the tick may be older than the job's first deployment, or the store may have lost its data. */
  | 'known'
  /** Begin it once, if its job ran before: the instance that runs the tick may give it back before the job begins. */
  | 'given-back'
  /** Run it if the instance that runs it is interrupted, or fails, or gives it back. */
  | 'watch'
  /** Run it if its run was interrupted, or has failed. */
  | 'interrupted';

/** Why a tick was refused that may run later. */
export type Obstacle =
  /** Another instance runs it. */
  | 'running'
  /** Its lock is taken for something else; nobody has started it. */
  | 'locked'
  /** This very process has its lock, so the store was not asked. */
  | 'own-lock'
  /** The store did not answer. */
  | 'outage';

/**
 * What to ask for next. After an outage a tick is begun only if its job is known: rather skip a tick than run it twice because
 * the store has lost its data.
 */
const NEXT: Record<Ask, Record<Exclude<Obstacle, 'running'>, Ask | undefined>> = {
  begin: { locked: 'begin', 'own-lock': 'begin', outage: 'known' },
  known: { locked: 'known', 'own-lock': 'known', outage: 'known' },
  'given-back': { locked: 'known', 'own-lock': 'given-back', outage: 'given-back' },
  watch: { locked: 'known', 'own-lock': 'interrupted', outage: 'interrupted' },
  // Nobody has started it: there is nothing to repeat.
  interrupted: { locked: undefined, 'own-lock': 'interrupted', outage: 'interrupted' },
};

/** @param repeated whether a run of the tick may be repeated */
export function nextAsk(ask: Ask, obstacle: Obstacle, repeated: boolean): Ask | undefined {
  if (obstacle !== 'running') return NEXT[ask][obstacle];
  if (repeated) return 'watch';
  return ask === 'begin' || ask === 'known' ? 'given-back' : undefined;
}

/** Whether the tick must be young for this. Else it is enough that it is the newest of its job. */
export const beginsTick = (ask: Ask): boolean => ask !== 'watch' && ask !== 'interrupted';

/** What the store may start for this: see `only` of an attempt. */
export const onlyOf = (ask: Ask): 'known' | 'interrupted' | undefined =>
  ask === 'begin' ? undefined : ask === 'interrupted' ? 'interrupted' : 'known';

/** The first wait when its length is unknown, as for a store that is away, ms. It doubles each time, up to the longest. */
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 30_000;
/** Watchers of one lease ask at moments that differ by up to this, ms. */
const SPREAD = 50;

/**
 * Refused ticks that may have to run after all: the lock may become free, the store may come back. One per job; a newer tick
 * supersedes it.
 */
export class RetryTimers {
  readonly #timers = new Map<unknown, { readonly tick: number; readonly timer: Timer }>();
  #closed = false;

  constructor(private readonly clock: Clock) {}

  /** Forgets an older tick of the job. */
  supersede(job: unknown, tick: number): void {
    const chance = this.#timers.get(job);
    if (chance === undefined || chance.tick >= tick) return;
    chance.timer.cancel();
    this.#timers.delete(job);
  }

  /** Calls `fire` when the holder's lease can have ended, unless a newer tick comes before. */
  afterLease(job: unknown, tick: number, expiresIn: number, fire: () => void): void {
    this.#after(job, tick, expiresIn + Math.random() * SPREAD, fire);
  }

  /** Calls `fire` when the store may be back, or this process may be done with the lock. @param failures tries in a row that have failed */
  afterOutage(job: unknown, tick: number, failures: number, fire: () => void): void {
    this.#after(job, tick, Math.min(FIRST_WAIT * 2 ** failures, LONGEST_WAIT), fire);
  }

  /** Calls `fire` when the scheduler may have made its jobs. */
  afterJobs(job: unknown, delay: number, fire: () => void): void {
    this.#after(job, -Infinity, delay, fire);
  }

  stop(): void {
    this.#closed = true;
    for (const { timer } of this.#timers.values()) timer.cancel();
  }

  #after(job: unknown, tick: number, delay: number, fire: () => void): void {
    const known = this.#timers.get(job);
    if (this.#closed || (known !== undefined && known.tick >= tick)) return;
    known?.timer.cancel();
    const timer = this.clock.setTimer(() => {
      this.#timers.delete(job);
      fire();
    }, delay);
    this.#timers.set(job, { tick, timer });
  }
}
