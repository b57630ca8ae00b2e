import { createHash } from 'node:crypto';
import { atEndOfTurn, type Clock, inModuleContext, noLongerThan, type Timer } from '../base/clock.js';
import { StoreUnavailableError } from '../base/errors.js';
import type { Beat, HistoryStore, HungRun, Retention, KnownJob } from '../contract/history-store.js';
import { given } from '../base/shared.js';

/** A job, as an instance shows it to the fleet. What changes while the instance is up goes with each beat, the rest is its list of jobs. */
export interface ShownJob extends KnownJob {
  /** Its next fire time, epoch milliseconds; `undefined`: none, or not known. */
  readonly next?: number | undefined;
  /** When it was made, if the instance was up before that: epoch milliseconds. */
  readonly addedAt?: number | undefined;
}

/** What an instance shows of itself. */
export interface Shown {
  readonly instance: string;
  readonly application?: string | undefined;
  readonly version: string | undefined;
  /** Milliseconds between two beats, or `'with-ticks'`: beats come with the ticks of its jobs. */
  readonly every: number | 'with-ticks';
  readonly jobs: () => readonly ShownJob[];
  /** The elections that it leads. */
  readonly leads: () => readonly string[];
  /** Its runs that should be over, and go on. */
  readonly hung: () => readonly HungRun[];
  readonly kept: Retention;
  /** The store has answered a beat. @param took how long that took, ms */
  readonly answered: (took: number) => void;
  /** Called once, with the first answer, if the clocks differ much. @param offset by how much the store's is ahead, ms */
  readonly skewed?: (offset: number) => void;
  /** Called once for each problem that keeps the store from keeping a history, with what to do. */
  readonly problem?: (problem: string) => void;
}

/** By how much beats come earlier, at random, so that those of a whole fleet do not come at once. */
const JITTER = 0.1;
/** The shortest and the longest time between two beats that come with ticks, ms: the longest keeps the instance remembered. */
const SHORTEST = 30_000;
const LONGEST = 86_400_000;
/** How long changes of jobs are gathered after a beat, ms. */
const GATHERED = 1_000;
/** How long the beat waits for the scheduler's call at a tick, ms. After that it comes without one: the job may have been stopped. */
const CALL_LIMIT = 2_000;
/** How often a beat asks for the store's clock, and whether the list of jobs is known, ms. */
const CHECKED = 900_000;
/** It asks before that if this machine's clock was set by so much, ms, or if the last answer took so long: it says little of the clock. */
const [STEP, SLOW] = [20, 200];
/** From when on clocks differ so much that an instance starts the wrong ticks, ms. */
const SKEWED = 10_000;
/** How long the last beat may take, ms: a shutdown waits for it. */
const LAST_BEAT = 1_000;

/** Shows the fleet, again and again, that this instance is up. */
export class Beats {
  /** Monotonic: the clock may be set while it is up. */
  readonly #startedAt: number;
  #timer: Timer | undefined;
  /** By how much the store's clock is ahead of this machine's, ms; `undefined`: not known yet. */
  clockOffset: number | undefined;
  #answeredAt: number | undefined;
  #failedAt: number | undefined;
  /** When it last began a beat, monotonic. */
  #beganAt = -Infinity;
  /** The list of jobs that was told last, by its hash, and when the last full beat was sent, by both clocks. */
  #known: string | undefined;
  #checked = { sent: -Infinity, now: 0 };
  /** The problem that was reported last. */
  #problem: string | undefined;
  #isSoon = false;
  #stopped = false;

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly shown: Shown,
  ) {
    this.#startedAt = clock.monotonic();
  }

  /** When the store last answered a beat, and when it last did not, epoch milliseconds; `undefined`: never. */
  get last(): { readonly answeredAt: number | undefined; readonly failedAt: number | undefined } {
    return { answeredAt: this.#answeredAt, failedAt: this.#failedAt };
  }

  /** Beats at once, and from then on. */
  start(): void {
    if (this.#stopped) return;
    this.#isSoon = false;
    const { every } = this.shown;
    this.#beganAt = this.clock.monotonic();
    const next = every === 'with-ticks' ? this.#untilTick() : every;
    this.#again(every === 'with-ticks' ? next + CALL_LIMIT : next * (1 - JITTER * Math.random()));
    // The next beat makes up for one that fails. If the store is away, the calls that ask for locks report it.
    void inModuleContext(() => this.#beat(false, next)).catch((error: unknown) => {
      // A store that refuses beats may grant locks. It has answered, so the next beat comes at its usual time.
      if (error instanceof StoreUnavailableError && error.refused) return this.#tell(error.message);
      this.#failedAt = this.clock.now();
      // The next tick may be a day away.
      if (every === 'with-ticks' && !this.#stopped) this.#again(SHORTEST);
    });
  }

  /** The scheduler has called a job, so the store is awake. */
  ticked(): void {
    if (this.shown.every !== 'with-ticks' || this.#timer === undefined) return;
    const now = this.clock.monotonic();
    if (now - this.#beganAt < SHORTEST) return;
    // Other jobs may have the same tick: one beat serves them all.
    this.start();
  }

  /** Beats soon: its jobs have changed, perhaps many of them, in this turn or one per turn. Each beat has the facts of all jobs. */
  soon(): void {
    if (this.#isSoon || this.#timer === undefined) return;
    this.#isSoon = true;
    const pause = this.#beganAt + GATHERED - this.clock.monotonic();
    if (pause <= 0) return atEndOfTurn(() => this.start());
    this.#timer.cancel();
    this.#timer = this.clock.setTimer(() => this.start(), pause);
  }

  /** Beats for the last time: the instance shuts down. Never rejects, and does not wait for long. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#timer?.cancel();
    const beat = this.#beat(true, LONGEST).catch(() => undefined);
    await noLongerThan(LAST_BEAT, beat, this.clock, { keepAlive: true });
  }

  #again(delay: number): void {
    this.#timer?.cancel();
    this.#timer = this.clock.setTimer(() => this.start(), delay);
  }

  /** How long until the next tick of its jobs, within bounds, ms. */
  #untilTick(): number {
    const now = this.clock.now();
    const ticks = this.shown
      .jobs()
      .filter(({ enabled }) => enabled)
      .map(({ next, interval = Infinity }) => next ?? now + interval);
    return Math.min(LONGEST, Math.max(SHORTEST, Math.min(...ticks) - now));
  }

  async #beat(left: boolean, every: number): Promise<void> {
    const shown = this.shown.jobs();
    const jobs = shown.map(({ next: _next, addedAt: _addedAt, stopped: _stopped, ...job }) => job);
    const stopped = shown.flatMap((job, index) => (job.stopped ? [index] : []));
    const added = shown.flatMap(({ addedAt }, index) => (addedAt === undefined ? [] : [[index, addedAt]]));
    const catalogue = createHash('sha256').update(JSON.stringify(jobs)).digest('base64url').slice(0, 22);
    const { instance, application, version, kept } = this.shown;
    const beat: Beat = {
      instance,
      startedAt: Math.round(this.clock.now() - (this.clock.monotonic() - this.#startedAt)),
      every,
      ...given({
        application,
        version,
        clockOffset: this.clockOffset,
        withTicks: this.shown.every === 'with-ticks' || undefined,
        stopped: someOf(stopped),
        added: someOf(added) && (Object.fromEntries(added) as Record<number, number>),
        hung: someOf(this.shown.hung()),
      }),
      leads: this.shown.leads(),
      kept,
      catalogue,
      left,
    };
    const isNew = this.#known !== catalogue;
    // The last beat takes as many steps as those before it, so none of them comes after it.
    if (!left && !isNew && this.#isChecked && (await this.#send({ ...beat, brief: true }))) return;
    const known = await this.#send(isNew ? { ...beat, jobs } : beat);
    this.#known = catalogue;
    if (!known) await this.history.beat({ ...beat, ...given({ clockOffset: this.clockOffset }), jobs });
  }

  /** Returns whether the beat is kept. */
  async #send(beat: Beat): Promise<boolean> {
    const [now, sent] = [this.clock.now(), this.clock.monotonic()];
    const { time, known } = await this.history.beat(beat);
    const took = this.clock.monotonic() - sent;
    if (time !== undefined) {
      // The store read its clock about half-way through the call.
      const offset = Math.round(time - now - took / 2);
      if (this.clockOffset === undefined && Math.abs(offset) >= SKEWED) this.shown.skewed?.(offset);
      this.clockOffset = offset;
      this.#checked = { sent: took < SLOW ? sent : -Infinity, now };
    }
    this.#answeredAt = this.clock.now();
    this.shown.answered(took);
    if (known) this.#problem = undefined;
    return known;
  }

  /** Whether the store has lately told its clock, and this machine's was not set since. */
  get #isChecked(): boolean {
    const { sent, now } = this.#checked;
    const passed = this.clock.monotonic() - sent;
    return passed < CHECKED && Math.abs(this.clock.now() - now - passed) < STEP;
  }

  #tell(problem: string): void {
    if (problem !== this.#problem) this.shown.problem?.(problem);
    this.#problem = problem;
  }
}

const someOf = <T>(all: readonly T[]): readonly T[] | undefined => (all.length > 0 ? all : undefined);
