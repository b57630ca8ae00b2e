import { type Clock, inModuleContext, type Timer } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import type { HistoryStore, Miss, MissReason, MissResult } from '../stores/history-store.js';
import { INTERVAL_ALLOWANCE } from '../stores/rules.js';
import { Alarms } from './alarms.js';
import { nextRipe } from './dates.js';
import type { ShownJob } from './beats.js';
import { given, type JobFacts, type KnownBy, type Seen, wentOn } from './facts.js';
import { factsOf, type LockFacts } from './join.js';
import { type Judgement, judge } from './judgement.js';
import type { Fleet, Reader } from './read.js';
import type { RunInfo } from './types.js';
import type { Refused, WatchedJob, Watcher } from './watched-job.js';

/** Why an instance did not start the newest ticks of a job. */
type Skips = MissReason & { readonly tick: number | undefined };

/** What this instance knows of a job. */
interface State {
  readonly job: WatchedJob;
  /** Since when its scheduler may fire it, this machine's clock. */
  readonly since: number;
  /** What the store has told, and when, by its clock. */
  told: LockFacts;
  asOf: number | undefined;
  /** What this instance has seen since. */
  seen: Seen;
  /** Whether the newest start that it has seen was its own. */
  ranHere: boolean;
  judgement: Judgement | undefined;
  lookAt: number;
  skips: Skips | undefined;
  /** The newest tick that an outage has cost this instance, as far as it is to tell of it. */
  lost: number | undefined;
  /** The missed tick that was noted last. */
  noted: number | undefined;
  /** When people were told last that a run hangs here. */
  toldOfHung: number;
}

/** The shortest time between two looks at a job, ms. */
const SOONEST = 1_000;
/** How long to wait after a call that failed, ms: while the store is away, nobody knows what the others have done. */
const AGAIN = 5_000;
/** After what time it is asked again how a job is that is not well, and who is up, ms. */
const RECHECK = 300_000;
/** After what time people are told again of a run that hangs, ms. */
const REPEAT = 3_600_000;
/** How long a run may go on before it hangs when it should be over, ms: it may be about to end. */
export const HUNG = 60_000;
/** How many of the newest runs may tell that one went on at the time of a tick. */
const RUNS = 20;

/**
 * How each job is, as far as one instance knows: the same judgement as everybody's. Calls that its scheduler makes show it which ticks
 * were started, here or elsewhere. It asks the store when it begins, and then only if its facts do not tell. It notes ticks that were
 * missed, and tells people of them, and of runs that hang here.
 */
export class Watch {
  readonly #states = new Map<string, State>();
  readonly #alarms: Alarms;
  #fleet: (Fleet & { readonly askedAt: number }) | undefined;
  /** The runs that go on here. */
  #here: readonly RunInfo[] = [];
  #timer: Timer | undefined;
  /** When it is to wake up, by the store's clock. */
  #armedFor = Infinity;
  #stopped = false;

  constructor(
    private readonly reader: Reader,
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {
    this.#alarms = new Alarms(history, clock, watcher);
  }

  /** How each job is that is watched. */
  get judgements(): ReadonlyMap<string, Judgement> {
    this.#here = this.watcher.runs();
    return new Map([...this.#states].map(([job, state]) => [job, this.#judged(state)]));
  }

  /** The jobs that are watched. */
  get jobs(): string[] {
    return [...this.#states.keys()];
  }

  /** Watches a job from now on, in place of one that had its name. */
  add(job: WatchedJob): void {
    if (this.#stopped) return;
    const now = this.clock.now();
    // What it missed while nobody was up it may be running in this moment.
    const lookAt = job.comesLate ? now + AGAIN : -Infinity;
    this.#states.set(job.job, {
      job,
      since: now + job.initialDelay,
      told: { entries: [] },
      asOf: undefined,
      seen: { tick: -Infinity },
      ranHere: false,
      judgement: undefined,
      lookAt,
      skips: undefined,
      lost: undefined,
      noted: undefined,
      toldOfHung: -Infinity,
    });
    // Many may be added at a time.
    if (lookAt < this.#armedFor) this.arm();
  }

  remove(job: string): void {
    this.#states.delete(job);
  }

  /** A run of the job begins here. @param tick its tick, if it has one */
  began(job: string, tick: number | undefined): void {
    const state = this.#states.get(job);
    if (state === undefined) return;
    this.#see(state, tick ?? this.#now(), this.#now() + (state.job.interval ?? 0));
    state.ranHere = true;
  }

  /** A call by the scheduler did not start the job. @param tick its tick, if it has one */
  refused(job: string, tick: number | undefined, why: Refused): void {
    const state = this.#states.get(job);
    if (state === undefined) return;
    const now = this.#now();
    const { interval = 0 } = state.job;
    if (why.tick !== undefined) this.#see(state, why.tick);
    if (why.reason === 'already-ran') {
      if (tick !== undefined) return;
      // It is due in that time, and a part of the interval that it may come early.
      const left = Math.min(why.expiresIn ?? interval, interval) + interval * INTERVAL_ALLOWANCE;
      this.#see(state, now, now + left);
    } else if (isTaken(why.reason) && !state.job.sharesLock)
      // A run of the job goes on, or has just ended.
      this.#see(state, tick ?? now, now + interval);
    else state.skips = { ...oneMore(state.skips, why, this.clock.now()), tick };
  }

  /** A run of the job should be over: it looks some time later whether it hangs. */
  soon(job: string | undefined): void {
    const state = this.#states.get(job ?? '');
    if (state === undefined) return;
    state.lookAt = Math.min(state.lookAt, this.#now() + HUNG);
    this.arm();
  }

  /**
   * The store answers again. What this instance skipped meanwhile it tells when its grace is over, and others may have started it: also
   * if newer ticks hide it by then.
   */
  available(): void {
    for (const state of this.#states.values()) {
      const { skips, job } = state;
      // A tick that may still run late is only judged.
      if (skips?.reason !== 'store-unavailable' || skips.tick === undefined || skips.until !== undefined)
        continue;
      const lost = { ...skips, tick: skips.tick, until: this.clock.now() };
      state.skips = lost;
      if (job.comesLate || state.lost === lost.tick) continue;
      state.lost = lost.tick;
      const tell = (): void => void inModuleContext(() => this.#tellLost(state, lost)).catch(() => undefined);
      // The judgement of the tick comes first.
      this.clock.setTimer(tell, Math.max(0, lost.tick + job.grace + SOONEST - this.#now()));
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#states.clear();
    this.#alarms.stop();
  }

  /** Goes on when the clock of the store is known: before that, nobody knows which ticks have come. */
  arm(): void {
    this.#timer?.cancel();
    this.#armedFor = Infinity;
    if (this.#stopped || this.watcher.clockOffset() === undefined) return;
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

  #see(state: State, tick: number, due = -Infinity): void {
    state.judgement = undefined;
    state.skips = undefined;
    if (tick > state.seen.tick) state.ranHere = false;
    const { seen } = state;
    state.seen = { tick: Math.max(seen.tick, tick), due: Math.max(seen.due ?? -Infinity, due) };
  }

  #judged(state: State): Judgement {
    const isOver = this.#now() >= state.lookAt || state.judgement?.run !== undefined;
    if (state.judgement === undefined || isOver) state.judgement = judge(this.#facts(state));
    return state.judgement;
  }

  #facts(state: State): JobFacts {
    const { job, seen, told, asOf } = state;
    const { instance, kept, hasFailed } = this.watcher;
    const clockOffset = this.watcher.clockOffset() ?? 0;
    const shown = job.shown();
    const time = this.#now();
    const own: KnownBy = {
      instance,
      state: 'up',
      startedAt: state.since + clockOffset,
      seenAt: time,
      clockOffset,
      kept,
      job: withDates(shown),
    };
    const others = this.#fleet?.jobs.get(job.job)?.filter((by) => by.instance !== instance) ?? [];
    const outcome = state.ranHere ? (hasFailed(job.job) ? 'failed' : 'completed') : undefined;
    const facts = factsOf([own, ...others], told, {
      time,
      ...(asOf !== undefined && { asOf }),
      seen: { ...seen, ...(outcome && { outcome }) },
      ticks: (schedule) => (schedule === shown.schedule ? job.dates : undefined),
    });
    const here = this.#here.filter((run) => run.job === job.job);
    // What went on when the store was asked is over if a newer start was seen, and here that is known for certain.
    const isOpen = ({ outcome: how, hung, tick, startedAt }: (typeof here)[number]): boolean =>
      how !== 'running' || hung === true || (tick ?? startedAt) >= seen.tick;
    const rest = facts.runs.filter((run) =>
      run.instance === instance && run.outcome === 'running'
        ? false
        : isOpen(run) && here.every(({ fencingToken }) => fencingToken !== run.fencingToken),
    );
    return { ...facts, runs: [...here, ...rest] };
  }

  #wake(): void {
    const now = this.#now();
    const states = [...this.#states.values()].filter(({ lookAt }) => lookAt <= now);
    // While the store answers, they wait for nothing else.
    for (const state of states) state.lookAt = Infinity;
    void inModuleContext(() => this.#look(states)).catch(() => {
      // Whoever asks for locks reports an outage.
      for (const state of states) state.lookAt = Math.min(state.lookAt, this.#now() + AGAIN);
      this.arm();
    });
    this.arm();
  }

  async #look(states: readonly State[]): Promise<void> {
    this.#here = this.watcher.runs();
    for (const state of states) {
      // Ticks that come while it is stopped are not its business.
      if (!state.job.isOn()) this.#see(state, this.#now());
      state.judgement = undefined;
    }
    const doubtful = states.filter((state) => this.#isDoubtful(state));
    if (doubtful.length > 0) await this.#ask(doubtful);
    for (const state of states) await this.#tell(state);
    this.arm();
  }

  /** Whether the store has to tell how a job is. */
  #isDoubtful(state: State): boolean {
    const { status, run } = this.#judged(state);
    if (status === 'off' || status === 'disagree') return this.#isFleetOld();
    if (run?.outcome === 'running') return run.instance !== this.watcher.instance;
    return status === 'unknown' || status === 'overdue';
  }

  #isFleetOld(): boolean {
    return this.#fleet === undefined || this.#now() - this.#fleet.askedAt >= RECHECK - AGAIN;
  }

  async #ask(states: readonly State[]): Promise<void> {
    this.#take(states, this.#now(), await this.reader.locks(locksOf(states)));
    const isUnwell = (state: State): boolean => {
      const { status, tick } = this.#judged(state);
      return (status === 'overdue' && tick !== state.noted) || status === 'disagree' || status === 'off';
    };
    if (!this.#isFleetOld() && !states.some(isUnwell)) return;
    const askedAt = this.#now();
    this.#fleet = { ...(await this.reader.fleet()), askedAt };
    for (const state of states) state.judgement = undefined;
    const missed = states.filter((state) => this.#judged(state).status === 'overdue');
    const now = this.#now();
    if (missed.length > 0) this.#take(missed, now, await this.reader.locks(locksOf(missed), () => RUNS));
  }

  #take(states: readonly State[], asOf: number, locks: ReadonlyMap<string, LockFacts>): void {
    for (const state of states) {
      const { lock, entries = [] } = locks.get(state.job.lock) ?? {};
      state.told = {
        entries: entries.length > 0 ? entries : state.told.entries,
        ...(lock !== undefined && { lock }),
      };
      state.asOf = asOf;
      state.judgement = undefined;
    }
  }

  /** Tells people what they have to know, and when to look again. */
  async #tell(state: State): Promise<void> {
    const { status, attention, tick, run } = this.#judged(state);
    if (attention && run?.outcome === 'running') this.#tellOfHung(state, run);
    if (status === 'overdue' && tick !== undefined && tick !== state.noted) await this.#note(state, tick);
    const now = this.#now();
    const recheck = attention || status === 'off' ? this.#recheckOf(state, run) : Infinity;
    const again = status === 'unknown' ? AGAIN : recheck;
    const next = Math.min(nextRipe(this.#facts(state)), now + again);
    state.lookAt = Math.min(state.lookAt, Math.max(next, now + SOONEST));
  }

  /** After what time to ask again how a job is that is not well. Of a run that goes on here the store is not asked. */
  #recheckOf({ job: { interval } }: State, run: RunInfo | undefined): number {
    const isHere = run?.outcome === 'running' && run.instance === this.watcher.instance;
    if (this.watcher.withTicks !== true || isHere) return RECHECK;
    return interval === undefined ? Infinity : Math.max(interval, RECHECK);
  }

  /** The instance on which it hangs tells of it. */
  #tellOfHung(state: State, { lock, instance, fencingToken, startedAt: since, tick }: RunInfo): void {
    const now = this.#now();
    if (instance !== this.watcher.instance || now - state.toldOfHung < REPEAT) return;
    state.toldOfHung = now;
    const facts = { lock, job: state.job.job, instance, at: this.clock.now(), fencingToken, since };
    this.watcher.emit({ type: 'hung', ...facts, ...given({ tick }) });
  }

  /** Keeps why this instance did not start a tick, and has people told. */
  async #note(state: State, tick: number, lost?: Skips): Promise<void> {
    const { job } = state;
    const { instance, kept } = this.watcher;
    const { interval } = job;
    const { tick: _, ...why } = lost ?? state.skips ?? { reason: this.#idleReason(job), count: 1, tick };
    const about = { name: job.lock, job: job.job, instance, kept, ...why, tick };
    const which = interval !== undefined ? { grace: job.grace } : lost ? { late: true } : {};
    const result = await this.#miss({ ...about, ...which });
    if (this.#stopped) return;
    if (result === undefined) {
      state.noted = tick;
      return this.#alarms.now(job, tick, why);
    }
    const { missed, first, tick: due = tick } = result;
    // Somebody has started it in this moment.
    if (!missed) return this.#see(state, due, due > tick ? due : this.#now() + (interval ?? 0));
    state.noted = tick;
    this.#alarms.soon(job, due, why, first);
  }

  /** `undefined`: the store refuses to keep that, as where a table lacks a column. */
  async #miss(miss: Miss): Promise<MissResult | undefined> {
    return this.history.miss(miss).catch((error: unknown) => {
      if (error instanceof StoreUnavailableError && error.refused) return undefined;
      throw error;
    });
  }

  /** Why a tick was not even called here. */
  #idleReason({ shown, grace }: WatchedJob): string {
    if (!shown().enabled) return 'disabled';
    // By the clock of this machine it came before this instance did.
    const isAhead = (this.watcher.clockOffset() ?? 0) < -grace;
    return this.watcher.idleReason() ?? (isAhead ? 'clock-skew' : 'not-fired');
  }

  async #tellLost(state: State, lost: Skips & { readonly tick: number }): Promise<void> {
    const { tick } = lost;
    if (this.#stopped || tick === state.noted) return;
    this.#take([state], this.#now(), await this.reader.locks([state.job.lock], () => RUNS));
    if (!this.#facts(state).runs.some((run) => wentOn(run, tick))) await this.#note(state, tick, lost);
  }
}

const locksOf = (states: readonly State[]): string[] => [...new Set(states.map(({ job }) => job.lock))];

/** As the fleet knows it. */
const withDates = ({ next, last, ...job }: ShownJob): KnownBy['job'] => ({
  ...job,
  ...given({ next, last }),
});

const isTaken = (reason: string): boolean => reason === 'held' || reason === 'cooling-down';

/** One more tick was skipped. */
function oneMore(before: MissReason | undefined, { reason, holder }: Refused, now: number): MissReason {
  const again = before?.reason === reason && before.until === undefined;
  const [count, since] = again ? [before.count + 1, before.since ?? now] : [1, now];
  return { reason, count, since, ...(holder === undefined ? undefined : { holder }) };
}
