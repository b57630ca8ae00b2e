import type { Clock, Timer } from '../base/clock.js';
import { REPEAT } from './announcer.js';
import { given } from '../base/shared.js';
import type { RunInfo } from './types.js';
import { HUNG } from './watch.js';
import type { Watcher } from './watched-job.js';

/** How long after a run counts as hung it is looked for, ms. */
const LATER = 1_000;

/**
 * The runs that hang here of jobs that nobody watches: their locks are named by a function of the arguments, so there may be any number of
 * locks. Each run is reported, and again after an hour.
 */
export class HungRuns {
  readonly #timers = new Set<Timer>();
  /** When each was reported last, monotonic, by fencing token. */
  #told: ReadonlyMap<number, number> = new Map();

  /** @param watcher its `runs` are those of these jobs that go on here */
  constructor(
    private readonly clock: Clock,
    private readonly watcher: Pick<Watcher, 'emit' | 'runs'>,
  ) {}

  get all(): readonly RunInfo[] {
    return this.watcher.runs().filter(({ hung }) => hung);
  }

  /** A run should be over: looks some time later whether it hangs. */
  soon(): void {
    this.#lookIn(HUNG + LATER);
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #lookIn(delay: number): void {
    const timer = this.clock.setTimer(() => {
      this.#timers.delete(timer);
      this.#tell();
    }, delay);
    this.#timers.add(timer);
  }

  #tell(): void {
    const now = this.clock.monotonic();
    const told = new Map<number, number>();
    for (const run of this.all) {
      const before = this.#told.get(run.fencingToken) ?? -Infinity;
      const isDue = now - before >= REPEAT;
      told.set(run.fencingToken, isDue ? now : before);
      if (!isDue) continue;
      this.#emit(run);
      this.#lookIn(REPEAT);
    }
    this.#told = told;
  }

  #emit({ lock, job = lock, instance, fencingToken, startedAt: since, tick }: RunInfo): void {
    const facts = { lock, job, instance, at: this.clock.now(), fencingToken, since };
    this.watcher.emit({ type: 'hung', ...facts, ...given({ tick }) });
  }
}
