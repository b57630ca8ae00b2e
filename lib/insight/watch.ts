import { type Clock, inModuleContext, type Timer } from '../base/clock.js';
import type { HistoryStore } from '../contract/history-store.js';
import { Announcer } from './announcer.js';
import { nextRipe } from './dates.js';
import type { JobFacts } from './facts.js';
import type { LockFacts } from './join.js';
import { isExcused, isOff, type Judgement, judge } from './judgement.js';
import type { Reader } from './read.js';
import { AGAIN, goesOnElsewhere, mayHaveChanged, offFor, RECHECK, REPLACED, wentWrong } from './recheck.js';
import { type Lost, SeenJob } from './seen-job.js';
import { againAfter, type AskedFleet, locksOf, noteOff, takeLocks } from './seen-jobs.js';
import { inTurns } from './turns.js';
import type { RunInfo } from './types.js';
import type { Refused, WatchedJob, Watcher } from './watched-job.js';

/** The shortest time between two looks at a job, ms. */
const SOONEST = 1_000;
/** How long a run may go on before it hangs when it should be over, ms: it may be about to end. */
export const HUNG = 60_000;
/** Among how many of the newest runs to look for one that went on at the time of a tick. */
const RUNS = 20;

/**
 * The state of each job, as far as one instance knows, by the same judgement as everywhere. The calls of its scheduler show which ticks
 * were started, here or elsewhere. It asks the store when it begins, and then only if its own facts do not suffice. It notes ticks that
 * were missed, and reports them and the runs that hang here.
 */
export class Watch {
  readonly #states = new Map<string, SeenJob>();
  readonly #announcer: Announcer;
  #fleet: AskedFleet | undefined;
  /** Why the store does not show runs: the same reason for all locks. */
  #refusal: Error | undefined;
  /** Why the store has refused the last beat. */
  #problem: string | undefined;
  /** Whether the next look has to ask if the store shows runs. */
  #asksOfRuns = true;
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
    this.#announcer = new Announcer(history, clock, watcher);
  }

  /** The judgement of each job that is watched. */
  get judgements(): ReadonlyMap<string, Judgement> {
    this.#here = this.watcher.runs();
    const there = [...this.#states].filter(([, state]) => state.job.isThere());
    return new Map(there.map(([job, state]) => [job, this.#judged(state)]));
  }

  /** The jobs that are watched. */
  get jobs(): string[] {
    return [...this.#states.keys()];
  }

  /** Whether each tick of a job is heard of here: it is watched, and may be overdue. */
  hasTicks(job: string): boolean {
    return (this.#states.get(job)?.job.grace ?? false) !== false;
  }

  /** Watches a job from now on, instead of an earlier one with its name. */
  add(job: WatchedJob): void {
    if (this.#stopped) return;
    const lookAt = this.#firstLookAt(job);
    this.#states.set(job.job, new SeenJob(job, this.clock, lookAt));
    // Many may be added at a time.
    if (lookAt < this.#armedFor) this.arm();
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
    const { withTicks } = this.watcher;
    state?.refused(tick, why, { now: this.#now(), own: this.clock.now(), withTicks });
    if (state !== undefined && state.lookAt < this.#armedFor) this.arm();
  }

  /** A run of the job should be over: looks some time later whether it hangs. */
  soon(job: string | undefined): void {
    const state = this.#states.get(job ?? '');
    if (state === undefined) return;
    state.lookAt = Math.min(state.lookAt, this.#now() + HUNG);
    this.arm();
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
    this.#announcer.stop();
  }

  /** A beat was answered, or refused. @param problem why it was refused: then the store may show no runs, either */
  answered(problem: string | undefined): void {
    if (problem !== this.#problem || this.#refusal !== undefined) {
      this.#asksOfRuns = true;
      for (const state of this.#states.values()) state.lookAt = -Infinity;
    }
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
  #firstLookAt({ comesLate }: WatchedJob): number {
    return comesLate ? this.#now() + AGAIN : -Infinity;
  }

  /** Notes a missed tick, unless somebody has started it in this moment. */
  async #note(state: SeenJob, tick: number, lost?: Lost): Promise<void> {
    const started = await this.#announcer.missed(state, tick, lost);
    if (started === undefined) return;
    state.see(started, started > tick ? started : this.#now() + (state.job.interval ?? 0));
  }

  #judged(state: SeenJob): Judgement {
    const isOver = this.#now() >= state.lookAt || state.judgement?.run !== undefined;
    if (state.judgement === undefined || isOver) state.judgement = judge(this.#facts(state));
    return state.judgement;
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
    for (const state of some) if (!state.job.isThere()) state.lookAt = this.#now() + REPLACED;
    for (const state of states) state.look(this.#now());
    if (states[0] !== undefined && this.#asksOfRuns) await this.#askOfRuns(states[0]);
    const doubtful = await this.#those(states, (state) => this.#isDoubtful(state));
    if (doubtful.length > 0) await this.#ask(doubtful);
    await inTurns(states, (state) => this.#tell(state).then(() => []), this.clock);
    this.arm();
  }

  /** The states for which `isTrue` answers true. */
  #those(states: readonly SeenJob[], isTrue: (state: SeenJob) => boolean): Promise<SeenJob[]> {
    return inTurns(states, (state) => (isTrue(state) ? [state] : []), this.clock);
  }

  #facts(state: SeenJob): JobFacts {
    const fleet = this.#fleet?.jobs;
    const { watcher } = this;
    return state.facts({ watcher, time: this.#now(), fleet, here: this.#here, refusal: this.#refusal });
  }

  /** Whether the judgement of a job needs an answer of the store. */
  #isDoubtful(state: SeenJob): boolean {
    const judgement = this.#judged(state);
    const { status, disagree } = judgement;
    if (this.#now() >= state.afterLease) return true;
    if (disagree === true && this.#isFleetOld(REPLACED)) return true;
    if (status === 'off') return this.#isFleetOld(offFor(this.clock.now() - state.since));
    if (status === 'disagree') return this.#isFleetOld();
    return mayHaveChanged(judgement, this.watcher.instance);
  }

  async #askOfRuns({ job }: SeenJob): Promise<void> {
    this.#asksOfRuns = false;
    try {
      this.#refusal = await this.reader.refusalOf(job.lock);
    } catch (error) {
      this.#asksOfRuns = true;
      throw error;
    }
    for (const state of this.#states.values()) state.judgement = undefined;
  }

  #isFleetOld(age = RECHECK): boolean {
    return this.#fleet === undefined || this.#now() - this.#fleet.askedAt >= age - AGAIN;
  }

  async #ask(states: readonly SeenJob[]): Promise<void> {
    // Only its entry tells how a run by hand has ended.
    const wrong = new Set(locksOf(states.filter((state) => wentWrong(this.#judged(state)))));
    const most = (name: string): number => (wrong.has(name) ? RUNS : 0);
    // What has become of a run elsewhere is no question about the fleet.
    const { instance } = this.watcher;
    const areRuns = states.every(
      (state) => this.#now() >= state.afterLease || goesOnElsewhere(this.#judged(state), { instance }),
    );
    this.#take(states, this.#now(), await this.reader.locks(locksOf(states), most));
    const isUnwell = (state: SeenJob): boolean => {
      const { status, tick, disagree } = this.#judged(state);
      return (status === 'overdue' && tick !== state.noted) || disagree === true || status === 'off';
    };
    const unwell = await this.#those(states, isUnwell);
    const isFleetOld = this.#isFleetOld(areRuns ? Infinity : RECHECK);
    if (!isFleetOld && unwell.length === 0) return;
    const askedAt = this.#now();
    const wereOff = [...this.#states.values()].filter((state) => state.judgement?.status === 'off');
    const before = this.#fleet;
    this.#fleet = { ...(await this.reader.fleet()), askedAt };
    noteOff(wereOff, before, this.#fleet, instance);
    for (const state of states) state.judgement = undefined;
    const missed = await this.#those(states, (state) => this.#judged(state).status === 'overdue');
    if (missed.length === 0) return;
    this.#take(missed, this.#now(), await this.reader.locks(locksOf(missed), () => RUNS));
  }

  #take(states: readonly SeenJob[], asOf: number, locks: ReadonlyMap<string, LockFacts>): void {
    takeLocks(states, asOf, locks, this.watcher);
  }

  /** Reports what people have to know, and sets when to look again. */
  async #tell(state: SeenJob): Promise<void> {
    const judgement = this.#judged(state);
    const { status, attention, tick, run } = judgement;
    if (attention && run?.outcome === 'running') this.#announcer.hung(state, run, this.#now());
    if (status === 'overdue' && tick !== undefined && tick !== state.noted) await this.#note(state, tick);
    const now = this.#now();
    state.disagreeSince = judgement.disagree === true ? (state.disagreeSince ?? now) : undefined;
    // Its schedule may have changed, which needs no answer of the store.
    const again = Math.min(nextRipe(this.#facts(state)), state.afterLease);
    const next = Math.min(
      again,
      now + againAfter(state, judgement, this.watcher, { now, own: this.clock.now() }),
    );
    state.lookAt = Math.min(state.lookAt, Math.max(next, now + SOONEST));
  }

  async #tellLost(state: SeenJob, lost: Lost): Promise<void> {
    const { tick } = lost;
    if (!this.#watches(state) || tick === state.noted) return;
    this.#take([state], this.#now(), await this.reader.locks([state.job.lock], () => RUNS));
    const facts = this.#facts(state);
    if (!isExcused(facts, tick) && !isOff(facts)) await this.#note(state, tick, lost);
  }

  /** Whether the job is still there, and no other one has taken its name. */
  #watches(state: SeenJob): boolean {
    return state.job.isThere() && this.#states.get(state.job.job) === state;
  }
}
