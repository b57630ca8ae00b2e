import { type Clock, inModuleContext, type Timer } from '../base/clock.js';
import type { HistoryStore } from '../contract/history-store.js';
import { Alarms } from './alarms.js';
import { nextRipe } from './dates.js';
import type { JobFacts } from './facts.js';
import type { LockFacts } from './join.js';
import { isExcused, isOff, type Judgement, judge } from './judgement.js';
import type { Fleet, Reader } from './read.js';
import { isNotAmong, type Lost, RECHECK, SeenJob } from './seen-job.js';
import { inTurns } from './turns.js';
import { OF_ONE } from './view.js';
import type { JobStatus, RunInfo } from './types.js';
import { HUNG, type Refused, type WatchedJob, type Watcher } from './watched-job.js';

/** The shortest time between two looks at a job, ms. */
const SOONEST = 1_000;
/** How long to wait after a call that failed, ms: while the store is away, nobody knows what the others have done. */
const AGAIN = 5_000;
/** After what time to look whether a job that was deleted is there again, ms. */
const BACK = 60_000;
/** After what time it asks again about what no tick would show, ms. */
const RARELY = 3_600_000;

/** These may change though no tick comes, and though nothing is wrong. */
const UNSETTLED: ReadonlySet<JobStatus> = new Set(['off', 'paused', 'unknown']);
/** Of these, the history tells more than the lock. */
const WRONG: ReadonlySet<JobStatus> = new Set(['overdue', 'failing', 'hollow', 'interrupted']);

/**
 * The state of each job, as far as one instance knows, by the same judgement as everywhere. When the grace of a tick is over, it asks the
 * store who has started it, unless its own calls have shown that; it asks again while a job is not settled. It notes ticks that were
 * missed, and reports them and the runs that hang here.
 */
export class Watch {
  readonly #states = new Map<string, SeenJob>();
  readonly #alarms: Alarms;
  /** Who is there, and when the store was asked, by its clock. */
  #fleet: (Fleet & { readonly askedAt: number }) | undefined;
  /** Why the store has refused the last beat: what it remembers of runs is in the same place. */
  #problem: string | undefined;
  /** The runs that go on here. */
  #here: readonly RunInfo[] = [];
  #timer: Timer | undefined;
  /** When the timer fires, by the store's clock. */
  #armedFor = Infinity;
  /** Whether the clock of the store is known. */
  #knowsTime = false;
  #stopped = false;

  constructor(
    private readonly reader: Reader,
    history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {
    this.#alarms = new Alarms(history, clock, watcher);
  }

  /** The judgement of each job, as far as this instance knows; of one whose lock has no fixed name, only if it hangs. */
  get judgements(): ReadonlyMap<string, Judgement> {
    this.#here = this.watcher.runs();
    const judgements = new Map<string, Judgement>();
    for (const [job, state] of this.#states) {
      const judgement = this.#judged(state);
      if (state.job.isThere() && (state.job.lock !== '' || judgement.status === 'hung'))
        judgements.set(job, judgement);
    }
    return judgements;
  }

  /** The jobs that are watched. */
  get jobs(): string[] {
    return [...this.#states.keys()];
  }

  /** Whether each tick of a job is heard of here: it is watched, and may be overdue. */
  hasTicks(job: string): boolean {
    return (this.#states.get(job)?.job.grace ?? false) !== false;
  }

  /** Watches a job from now on, instead of an earlier one with its name. One that is never overdue may still hang. */
  add(job: WatchedJob): void {
    if (this.#stopped) return;
    const state = new SeenJob(job, this.clock, Infinity);
    this.#states.set(job.job, state);
    this.#lookBy(state, this.#firstLookAt(job));
  }

  remove(job: string): void {
    this.#states.delete(job);
  }

  /** A run of the job begins here. @param tick its tick, if it has one @param isUnlocked whether the store does not know of it */
  began(job: string, tick: number | undefined, isUnlocked = false): void {
    this.#states.get(job)?.began(tick, this.#now(), isUnlocked ? this.clock.now() : undefined);
  }

  /** A call by the scheduler did not start the job. @param tick its tick, if it has one */
  refused(job: string, tick: number | undefined, why: Refused): void {
    const state = this.#states.get(job);
    const now = this.#now();
    state?.refused(tick, why, now, this.clock.now());
    if (state === undefined || why.reason !== 'held' || this.watcher.withTicks) return;
    const { interval, dates, grace } = state.job;
    // The holder may be killed. If another tick comes soon, that shows the same, for nothing.
    if ((interval ?? dates.next(now) - now) <= RARELY) return;
    state.mustAsk = true;
    this.#lookBy(state, now + (grace || RECHECK));
  }

  /** A run of the job should be over: looks some time later whether it hangs. */
  soon(job = ''): void {
    const state = this.#states.get(job);
    if (state !== undefined) this.#lookBy(state, this.#now() + HUNG);
  }

  /**
   * The store answers again. This instance notes the tick that it skipped meanwhile, unless another one has started it: when the grace of
   * that tick is over, and even if newer ticks hide it by then.
   */
  available(): void {
    for (const state of this.#states.values()) {
      const lost = state.available(this.clock.now());
      if (lost === undefined) continue;
      const tell = (): void => void inModuleContext(() => this.#tellLost(state, lost)).catch(() => undefined);
      // The judgement of the tick comes first.
      const over = lost.tick + (state.job.grace || 0);
      this.clock.setTimer(tell, Math.max(0, over + SOONEST - this.#now()));
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#states.clear();
    this.#alarms.stop();
  }

  /** A beat was answered, or refused. @param problem why it was refused */
  answered(problem: string | undefined): void {
    if (problem !== this.#problem) for (const state of this.#states.values()) state.lookAt = -Infinity;
    this.#problem = problem;
    this.arm();
  }

  /** Goes on when the clock of the store is known: before that, nobody knows which ticks have come. */
  arm(): void {
    this.#timer?.cancel();
    this.#armedFor = Infinity;
    if (this.#stopped || this.watcher.clockOffset() === undefined) return;
    if (!this.#knowsTime)
      for (const state of this.#states.values()) state.lookAt = this.#firstLookAt(state.job);
    this.#knowsTime = true;
    let next = Infinity;
    for (const { lookAt } of this.#states.values()) next = Math.min(next, lookAt);
    if (next === Infinity) return;
    this.#armedFor = next;
    this.#timer = this.clock.setTimer(() => this.#wake(), Math.max(0, next - this.#now()));
  }

  /** By the store's clock. */
  #now(): number {
    return this.clock.now() + (this.watcher.clockOffset() ?? 0);
  }

  /** When to look for the first time: a tick that was missed while no instance was up may be running late in this moment. */
  #firstLookAt({ comesLate, lock }: WatchedJob): number {
    if (lock === '') return Infinity;
    return comesLate ? this.#now() + AGAIN : -Infinity;
  }

  /** Looks at a job at this time, by the store's clock, or before. */
  #lookBy(state: SeenJob, time: number): void {
    state.lookAt = Math.min(state.lookAt, time);
    // Many may be added at a time.
    if (state.lookAt < this.#armedFor) this.arm();
  }

  #judged(state: SeenJob): Judgement {
    const isOver = this.#now() >= state.lookAt || state.judgement?.run !== undefined;
    if (state.judgement === undefined || isOver) state.judgement = judge(this.#facts(state));
    return state.judgement;
  }

  #facts(state: SeenJob): JobFacts {
    return state.facts(this.watcher, this.#now(), this.#fleet?.jobs, this.#here, this.#problem);
  }

  #wake(): void {
    const now = this.#now();
    const states = [...this.#states.values()].filter(({ lookAt }) => lookAt <= now);
    // Until this look has ended, no other one is due.
    for (const state of states) state.lookAt = Infinity;
    void inModuleContext(() => this.#look(states)).catch(() => {
      // The calls that ask for locks report the outage.
      for (const state of states) state.lookAt = Math.min(state.lookAt, this.#now() + AGAIN);
      this.arm();
    });
    this.arm();
  }

  async #look(some: readonly SeenJob[]): Promise<void> {
    this.#here = this.watcher.runs();
    const states = some.filter((state) => this.#watches(state));
    // A job that was deleted may be put back.
    for (const state of some) if (!state.job.isThere()) state.lookAt = this.#now() + BACK;
    for (const state of states) state.look(this.#now());
    const doubtful = await this.#those(states, (state) => state.mustAsk || this.#mayChange(state));
    if (doubtful.length > 0) await this.#ask(doubtful);
    await inTurns(states, (state) => this.#tell(state).then(() => []), this.clock);
    this.arm();
  }

  /** The states for which `isTrue` answers true. */
  #those(states: readonly SeenJob[], isTrue: (state: SeenJob) => boolean): Promise<SeenJob[]> {
    return inTurns(states, (state) => (isTrue(state) ? [state] : []), this.clock);
  }

  /** Whether an answer of the store may change the judgement, though no tick comes. */
  #mayChange(state: SeenJob): boolean {
    const { status, attention, run, reason, disagree = false } = this.#judged(state);
    if (reason === 'no-dates' || state.job.lock === '') return false;
    if (run?.outcome === 'running') return disagree || isNotAmong(this.#here, run);
    return attention || disagree || UNSETTLED.has(status);
  }

  /** Asks for locks, and for histories of jobs that went wrong; for who is there only if that may matter. */
  async #ask(states: readonly SeenJob[]): Promise<void> {
    await this.#read(states, (state) => (WRONG.has(this.#judged(state).status) ? OF_ONE : 0));
    const isOfFleet = (state: SeenJob): boolean => {
      const { status, attention, disagree = false } = this.#judged(state);
      return attention || disagree || status === 'off';
    };
    const ofFleet = await this.#those(states, isOfFleet);
    const before = this.#fleet;
    if (before !== undefined && ofFleet.length === 0) return;
    const askedAt = this.#now();
    const wereOff = [...this.#states.values()].filter(({ judgement }) => judgement?.status === 'off');
    this.#fleet = { ...(await this.reader.fleet()), askedAt };
    for (const state of wereOff) state.wasOff(before?.askedAt ?? -Infinity, askedAt, this.#fleet.jobs);
    for (const state of states) state.judgement = undefined;
    const missed = await this.#those(states, (state) => this.#judged(state).status === 'overdue');
    if (missed.length > 0) await this.#read(missed, () => OF_ONE);
  }

  /** Reads the locks of jobs. @param mostOf how many of their newest entries */
  async #read(states: readonly SeenJob[], mostOf: (state: SeenJob) => number): Promise<void> {
    const most = new Map<string, number>();
    for (const state of states)
      most.set(state.job.lock, Math.max(most.get(state.job.lock) ?? 0, mostOf(state)));
    const asOf = this.#now();
    const locks = await this.reader.locks([...most.keys()], (name) => most.get(name) ?? 0);
    for (const state of states) {
      const told: LockFacts = locks.get(state.job.lock) ?? { entries: [] };
      // Asks again later, as if the store had not answered.
      if (told.refusal !== undefined && told.lock === undefined) throw told.refusal;
      state.take(asOf, told);
    }
  }

  /** Reports what people have to know, and sets when to look again. */
  async #tell(state: SeenJob): Promise<void> {
    const judgement = this.#judged(state);
    const { status, attention, tick, run } = judgement;
    if (attention && run?.outcome === 'running')
      for (const each of this.#here)
        if (each.job === state.job.job && (each.hung === true || !isNotAmong([each], run)))
          this.#alarms.hung(each);
    if (status === 'overdue' && tick !== undefined && tick !== state.noted) await this.#note(state, tick);
    const now = this.#now();
    // Its schedule may have changed, which needs no answer of the store.
    const next = Math.min(nextRipe(this.#facts(state)), now + this.#again(state, judgement));
    state.lookAt = Math.min(state.lookAt, Math.max(next, now + SOONEST));
  }

  /** After what time to ask again about a job, ms; Infinity: its next tick is soon enough. */
  #again(state: SeenJob, { run, reason, disagree, attention }: Judgement): number {
    const now = this.#now();
    state.disagreeSince = disagree === true ? (state.disagreeSince ?? now) : undefined;
    const goesOn = run?.outcome === 'running';
    if (!this.#mayChange(state) && !(goesOn && attention)) return Infinity;
    if (reason === 'not-asked' || reason === 'old-facts') return AGAIN;
    // By the next question after a deploy, the old instance has left. Runs keep the store awake.
    const isFresh = now - (state.disagreeSince ?? -Infinity) < RECHECK - AGAIN;
    return goesOn || isFresh ? RECHECK : this.#withTicks(state.job, now);
  }

  #withTicks({ interval, dates }: WatchedJob, now: number): number {
    if (this.watcher.withTicks !== true) return RECHECK;
    if (interval !== undefined) return Math.max(interval, RECHECK);
    return dates.next(now) < Infinity ? Infinity : RARELY;
  }

  /** Notes a missed tick, unless somebody has started it in this moment. */
  async #note(state: SeenJob, tick: number, lost?: Lost): Promise<void> {
    const started = await this.#alarms.missed(state, tick, lost);
    if (started === undefined) return;
    state.see(started, started > tick ? started : this.#now() + (state.job.interval ?? 0));
  }

  async #tellLost(state: SeenJob, lost: Lost): Promise<void> {
    const { tick } = lost;
    if (!this.#watches(state) || tick === state.noted) return;
    await this.#read([state], () => OF_ONE);
    const facts = this.#facts(state);
    if (!isExcused(facts, tick) && !isOff(facts)) await this.#note(state, tick, lost);
  }

  /** Whether the job is still there, and no other one has taken its name. */
  #watches(state: SeenJob): boolean {
    return state.job.isThere() && this.#states.get(state.job.job) === state;
  }
}
