/*
 * lib/lock/queue: queued calls: who queues a call also waits in line for its lock, and then runs all calls that are queued for it.
 * May not enter: how a queue is stored, Nest, options that are not checked.
 */
import { given, newId } from '../../base/shared.js';
import { AlarmClock, type Clock, inModuleContext, noLongerThan } from '../../base/clock.js';
import type { SkippedEvent } from '../../contract/events/call-events.js';
import type { Emit } from '../../contract/events/events.js';
import type { Drainer, QueueJob } from '../drain.js';
import type { LockCall, LockSettings, Skipped } from '../lock-call.js';
import type { LockRunner } from '../lock-runner.js';
import type { LockStore } from '../../contract/lock-store.js';
import { isThrough, STEP_OF_PRIORITY } from '../../contract/allowances.js';

/** Why no call can be queued. */
export const NO_QUEUED_CALLS =
  "onHeld: the store keeps no queued calls. Leave `onHeld: 'queue'` out, or use a store that does: see docs/reference/queued-calls.md.";

/** How often this process looks for queued calls that no process runs, because those that ran them have died, ms. */
const SWEEP = 5_000;
/** Instances that hear of queued calls look for them at different moments within this time, ms: the others see the worker of the first. */
const SPREAD = 100;
/** The least time between two looks that hints have asked for, ms: a storm of hints is no storm of looks. */
const PAUSE = 500;
/** A look without an answer for so long may have lost its connection, ms. Until then no other one begins: each may keep a connection. */
const LOST = 60_000;
/** How long a worker stands in line before it enters the line again, ms. */
const WAIT = 3_600_000;

/** What the store gets of a call that found its lock taken. */
export interface CallToQueue {
  readonly key: string | undefined;
  /** JSON. */
  readonly args: string;
  /** How many queued calls the lock may have. */
  readonly max: number;
  /** How often a queued call is delivered again after its run was interrupted. */
  readonly redeliver: number;
}

/** Stands in line for a lock to run its queued calls, or runs them. */
interface Worker {
  readonly place: number;
  /** Whether it has the lock. */
  works: boolean;
  /** The first place among the queued calls that came after the worker last asked the store for one. */
  wanted: number | undefined;
}

/**
 * The queued calls of one application. A process that queues a call stands in line for its lock, at the place of the call, and then runs all
 * queued calls of the lock. If it dies first, another one does: one that queues a call for the lock, or looks for calls left.
 */
export class Queues {
  readonly #jobs = new Map<string, QueueJob>();
  readonly #workers = new Map<string, Set<Worker>>();
  #maySleep = false;
  /** When it last looked because of a hint, or will, monotonic. */
  #hintAt = -Infinity;
  /** The newest look, until it is answered. */
  #search: Promise<unknown> | undefined;
  readonly #alarm: AlarmClock;
  #stopListening: (() => void) | undefined;
  #started = false;
  #stopped = false;

  constructor(
    private readonly store: LockStore,
    private readonly runner: LockRunner,
    private readonly instance: string,
    private readonly clock: Clock,
    private readonly emit: Emit,
  ) {
    this.#alarm = new AlarmClock(clock, () => void this.#sweep());
    runner.onQueued(() => this.#hinted());
  }

  add(job: QueueJob): void {
    this.#jobs.set(job.job, job);
    if (this.#jobs.size === 1) this.#look();
  }

  /** Begins to look for queued calls that no process runs. @param maySleep whether to look only when the store is known to be awake */
  start(maySleep: boolean): void {
    if (!this.store.keeps.queuedCalls) return;
    this.#maySleep = maySleep;
    this.#started = true;
    this.#stopListening = this.store.onAvailable?.(() => {
      // A look from before may never be answered, so it holds up no other one.
      this.#search = undefined;
      this.#look();
    });
    this.#look();
  }

  /** The store has answered a beat. */
  answered(): void {
    if (this.#maySleep) void this.#sweep();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopListening?.();
    this.#alarm.stop();
  }

  /** Queues a call whose lock is taken. @returns why it has not run */
  async enqueue(
    { name, job = '', settings }: LockCall,
    { key, args, max, redeliver }: CallToQueue,
  ): Promise<Skipped> {
    const { priority = 0, storeTimeout } = settings;
    const queuedCall = { name, id: newId(), job, args, priority, max, redeliver };
    const outcome = await this.runner.enqueue({ ...queuedCall, ...given({ key }) }, storeTimeout);
    const skipped = (why: Pick<Skipped, 'reason' | 'error'>, more: Partial<SkippedEvent> = {}): Skipped => {
      const at = this.clock.now();
      this.emit({ type: 'skipped', lock: name, job, instance: this.instance, at, ...why, ...more });
      return { ran: false, ...why };
    };
    if ('error' in outcome) return skipped({ reason: 'store-unavailable', error: outcome.error });
    const { result } = outcome;
    if (!result.queued) return skipped({ reason: 'queue-full' });
    const queued = skipped({ reason: 'queued' }, { merged: result.merged, ...given({ key }) });
    inModuleContext(() => this.#want(name, result.place, settings));
    return queued;
  }

  /** Puts the dead letters of a lock back. Returns how many. @throws SchedulerLockConfigError if the store keeps no queued calls */
  async redeliver(name: string): Promise<number> {
    const count = await this.store.queuedCalls.redeliver(name);
    if (count > 0) void this.#sweep();
    return count;
  }

  #hinted(): void {
    const now = this.clock.monotonic();
    if (this.#hintAt <= now) this.#hintAt = Math.max(now, this.#hintAt + PAUSE) + Math.random() * SPREAD;
    inModuleContext(() => this.#alarm.by(this.#hintAt));
  }

  #look(): void {
    inModuleContext(() => void this.#sweep());
  }

  /** The store has a queued call: a worker of this process has to run it. */
  #want(name: string, place: number, settings: LockSettings): void {
    if (this.#stopped) return;
    const workers = this.#workers.get(name) ?? new Set();
    this.#workers.set(name, workers);
    for (const worker of workers) {
      if (worker.works) worker.wanted = Math.min(worker.wanted ?? Infinity, place);
      if (worker.works || worker.place <= place) return;
    }
    void this.#work(name, place, settings, workers);
  }

  /** @param place of the first queued call to run. The worker stands there in line. */
  async #work(name: string, place: number, settings: LockSettings, workers: Set<Worker>): Promise<void> {
    const worker: Worker = { place, works: false, wanted: undefined };
    workers.add(worker);
    const drainer: Drainer = {
      jobs: this.#jobs,
      asks: () => Object.assign(worker, { works: true, wanted: undefined }),
      // The worker enters the line again before it gives the lock away, at the place of the queued call.
      standsBehind: (next = place) => void this.#work(name, next, settings, workers),
    };
    const now = this.clock.now();
    // A step of priority is longer than a queued call lives, and than clocks can differ.
    const priority = Math.round((now * 1_000 - place) / STEP_OF_PRIORITY);
    const own = { timeout: undefined, atLeast: 0, onStoreError: 'skip' } as const;
    const call: LockCall = {
      kind: 'drain',
      name,
      job: undefined,
      settings: { ...settings, ...own, wait: WAIT, priority },
      place,
      through: isThrough(place, now),
    };
    const result = await this.runner.drain(call, drainer);
    workers.delete(worker);
    if (workers.size === 0) this.#workers.delete(name);
    if (worker.wanted !== undefined) this.#want(name, worker.wanted, settings);
    else if (!result.ran && result.reason === 'held') this.#want(name, place, settings);
  }

  /** Looks for queued calls that no process runs. */
  async #sweep(): Promise<void> {
    for (const { job, isGone } of this.#jobs.values()) if (isGone()) this.#jobs.delete(job);
    const [job] = this.#jobs.values();
    if (!this.#started || this.#stopped || job === undefined) return;
    const since = this.clock.monotonic();
    if (!this.#maySleep) this.#alarm.set(since + SWEEP);
    // There may be other queued calls by now than the look under way finds.
    if (this.#search !== undefined) return this.#alarm.by(since + PAUSE);
    const search = (this.#search = noLongerThan(LOST, this.#runLeft(job.settings), this.clock));
    await search;
    // A later look may have passed this one.
    if (this.#search === search) this.#search = undefined;
  }

  /** Never rejects. */
  async #runLeft(settings: LockSettings): Promise<void> {
    try {
      const left = await this.store.queuedCalls.left([...this.#jobs.keys()]);
      // Where calls are queued by others, more will come: from now on this process hears of them.
      if (left.length > 0) this.runner.openHints();
      for (const { name, place } of left) this.#want(name, place, settings);
    } catch {
      // The next look finds out more. If the store does not answer, the calls that ask for locks report it.
    }
  }
}
