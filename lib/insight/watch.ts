import { type Clock, inModuleContext, type Timer } from '../clock.js';
import type { HistoryStore, MissReason } from '../stores/history-store.js';
import { INTERVAL_ALLOWANCE } from '../stores/rules.js';
import { Alarms } from './alarms.js';
import type { Refused, WatchedJob, Watcher } from './watched-job.js';

/** Why an instance did not start the newest ticks of a job. */
type Skips = MissReason & { readonly tick: number | undefined };

/** What is known of a job. */
interface State {
  readonly job: WatchedJob;
  /** Ticks up to this one are settled: they were started, or covered by a run, or came before this instance did. */
  settled: number;
  /** When an interval has to have run again, this machine's clock. */
  expected: number;
  /** Why this instance did not start its newest ticks. */
  skips: Skips | undefined;
  /** The newest tick that an outage has cost this instance, as far as it is to tell of it. */
  lost: number | undefined;
  judgeAt: number;
  /** The tick that nobody has started. */
  overdue: number | undefined;
}

/** Ticks that come more often are judged this often, at the same moments on all instances, ms. */
const MINUTE = 60_000;
/** The shortest time between two judgements of a job, ms. */
const SOONEST = 1_000;
/** How long to wait after a call that failed, ms: while the store is away, nobody knows what the others have done. */
const AGAIN = 5_000;
/** How many of the newest runs may tell that one went on at the time of a tick. */
const RUNS = 5;

/**
 * Notices jobs that did not run: each instance for all jobs that it knows. Calls that its scheduler makes show it which ticks were
 * started, here or elsewhere. It asks the store only about a tick of which it has seen no start when its time of grace is over.
 */
export class Watch {
  readonly #states = new Map<string, State>();
  readonly #alarms: Alarms;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {
    this.#alarms = new Alarms(history, clock, watcher);
  }

  /** The jobs that are overdue as far as this instance knows, each with the tick that nobody has started. */
  get overdue(): ReadonlyMap<string, number> {
    const jobs = new Map<string, number>();
    for (const [job, { overdue }] of this.#states) if (overdue !== undefined) jobs.set(job, overdue);
    return jobs;
  }

  /** The jobs that are watched. */
  get jobs(): string[] {
    return [...this.#states.keys()];
  }

  /** Watches a job from now on, in place of one that had its name. */
  add(job: WatchedJob): void {
    if (this.#stopped) return;
    const now = this.#now() + job.initialDelay;
    const expected = now + (job.interval ?? 0);
    const state: State = {
      job,
      // The scheduler goes by the clock of this machine: it fires no tick from before.
      settled: this.clock.now() + job.initialDelay,
      expected,
      skips: undefined,
      lost: undefined,
      judgeAt: 0,
      overdue: undefined,
    };
    state.judgeAt = this.#nextJudgement(state, now);
    this.#states.set(job.job, state);
    this.#arm();
  }

  remove(job: string): void {
    this.#states.delete(job);
  }

  /** A run of the job begins here. @param tick its tick, if it has one */
  began(job: string, tick: number | undefined): void {
    const state = this.#states.get(job);
    if (state === undefined) return;
    state.expected = this.#now() + (state.job.interval ?? 0);
    this.#settle(state, tick ?? this.#now());
  }

  /** A call by the scheduler did not start the job. @param tick its tick, if it has one */
  refused(job: string, tick: number | undefined, why: Refused): void {
    const state = this.#states.get(job);
    if (state === undefined) return;
    const now = this.#now();
    const { interval = 0, sharesLock } = state.job;
    if (why.tick !== undefined) this.#settle(state, why.tick);
    if (why.reason === 'already-ran') {
      // Of an interval: it is due in that time, and a part of the interval that it may come early.
      state.expected = now + Math.min(why.expiresIn ?? interval, interval) + interval * INTERVAL_ALLOWANCE;
      if (tick === undefined) this.#settle(state, now);
    } else if (isTaken(why.reason) && !sharesLock) {
      // A run of the job goes on, or has just ended.
      state.expected = now + interval;
      this.#settle(state, tick ?? now);
    } else state.skips = { ...oneMore(state.skips, why, this.clock.now()), tick };
  }

  /**
   * The store answers again. What this instance skipped meanwhile it tells when its grace is over, and others may have started it: also
   * if newer ticks hide it by then.
   */
  available(): void {
    for (const state of this.#states.values()) {
      const { skips, job } = state;
      // A tick that may still run late is only judged.
      if (skips?.reason !== 'store-unavailable' || skips.tick === undefined || job.comesLate) continue;
      const { tick } = skips;
      if (state.lost === tick) continue;
      state.lost = tick;
      const tell = (): void =>
        void inModuleContext(() => this.#tellLost(state, tick, skips)).catch(() => undefined);
      // The judgement of the tick comes first.
      this.clock.setTimer(tell, Math.max(0, tick + job.grace + SOONEST - this.#now()));
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#states.clear();
    this.#alarms.stop();
  }

  /** A clock that is ahead of the store's must not judge a tick before the others have had the time to start it. */
  #now(): number {
    return this.clock.now() + Math.min(0, this.watcher.clockOffset() ?? 0);
  }

  #settle(state: State, tick: number): void {
    state.settled = Math.max(state.settled, tick);
    if (state.overdue !== undefined && tick >= state.overdue) state.overdue = undefined;
    state.skips = undefined;
  }

  #arm(): void {
    this.#timer?.cancel();
    let next = Infinity;
    for (const { judgeAt } of this.#states.values()) next = Math.min(next, judgeAt);
    if (next === Infinity || this.#stopped) return;
    this.#timer = this.clock.setTimer(() => this.#wake(), Math.max(0, next - this.#now()));
  }

  #wake(): void {
    const now = this.#now();
    for (const state of this.#states.values()) {
      if (state.judgeAt > now) continue;
      state.judgeAt = this.#nextJudgement(state, now);
      void inModuleContext(() => this.#judge(state, now)).catch(() => {
        // Whoever asks for locks reports an outage.
        state.judgeAt = Math.min(state.judgeAt, this.#now() + AGAIN);
        this.#arm();
      });
    }
    this.#arm();
  }

  #nextJudgement({ job, expected }: State, now: number): number {
    const { interval, grace } = job;
    if (interval !== undefined) return Math.max(expected + grace, now + SOONEST);
    const tick = job.next(now - grace);
    return Math.max(
      this.#isFrequent(job, tick) ? aligned(now, grace) + unitOf(grace) : tick + grace,
      now + SOONEST,
    );
  }

  /** Looks whether a job is overdue. Asks the store only if this instance has seen no start. */
  async #judge(state: State, now: number): Promise<void> {
    const { job } = state;
    if (!job.isOn()) {
      state.settled = now;
      state.overdue = undefined;
      return;
    }
    if (job.interval !== undefined) {
      if (now >= state.expected + job.grace) await this.#ask(state, undefined);
      return;
    }
    const latest = now - job.grace;
    const tick = job.newest(
      this.#isFrequent(job, job.next(latest)) ? aligned(now, job.grace) - job.grace : latest,
    );
    if (tick === undefined || tick <= state.settled || tick === state.overdue) return;
    if (await this.#wasCovered(job, tick)) this.#settle(state, tick);
    else await this.#ask(state, tick);
  }

  #isFrequent(job: WatchedJob, tick: number): boolean {
    return job.next(tick) - tick < unitOf(job.grace);
  }

  /** Whether a run of the job went on when the tick came. */
  async #wasCovered({ job, lock }: WatchedJob, tick: number): Promise<boolean> {
    const entries = await this.history.entries({ name: lock, limit: RUNS });
    return entries.some(
      (entry) =>
        entry.type === 'run' &&
        entry.job === job &&
        entry.outcome !== 'interrupted' &&
        entry.fencingToken / 1_000 <= tick &&
        // The store may have been told of its end long after it.
        Math.min(entry.at, entry.fencingToken / 1_000 + (entry.duration ?? Infinity)) >= tick,
    );
  }

  async #tellLost(state: State, tick: number, skips: Skips): Promise<void> {
    if (this.#stopped || tick === state.overdue || (await this.#wasCovered(state.job, tick))) return;
    await this.#ask(state, tick, skips);
  }

  /** @param lost why an outage has cost the tick, which newer ones may hide */
  async #ask(state: State, tick: number | undefined, lost?: Skips): Promise<void> {
    const { job } = state;
    const { instance, kept, idleReason } = this.watcher;
    const { tick: _, ...skips } = lost ??
      state.skips ?? { reason: idleReason() ?? 'not-fired', count: 1, tick };
    const which = tick === undefined ? { grace: job.grace } : lost ? { tick, late: true } : { tick };
    const about = { name: job.lock, job: job.job, instance, kept };
    const result = await this.history.miss({ ...about, ...skips, ...which });
    if (this.#stopped) return;
    // Of an interval this instance tells once in its length.
    state.expected = this.#now() + (job.interval ?? 0);
    const missed = result.tick ?? tick ?? this.#now();
    if (!result.missed) return this.#settle(state, missed);
    state.overdue = missed;
    if (result.first) this.#alarms.soon(job, missed, skips);
  }
}

const isTaken = (reason: string): boolean => reason === 'held' || reason === 'cooling-down';

/** One more tick was skipped. */
function oneMore(before: MissReason | undefined, { reason, holder }: Refused, now: number): MissReason {
  const [count, since] = before?.reason === reason ? [before.count + 1, before.since ?? now] : [1, now];
  return { reason, count, since, ...(holder === undefined ? undefined : { holder }) };
}

const unitOf = (grace: number): number => Math.max(SOONEST, Math.min(MINUTE, grace));

/** The last moment at which all instances judge jobs that are fired often. */
const aligned = (now: number, grace: number): number => Math.floor(now / unitOf(grace)) * unitOf(grace);
