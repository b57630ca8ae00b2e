import type { Clock } from '../base/clock.js';
import { given } from '../base/shared.js';
import type { RunInfo } from './types.js';
import type { Watcher } from './watched-job.js';

/** How long a run may go on before it hangs when it should be over, ms: it may be about to end. */
export const HUNG = 60_000;
/** How long after a run counts as hung it is looked for, ms. */
const LATER = 1_000;
/** After what time a run that hangs is reported again, ms. */
const REPEAT = 3_600_000;

/** Reports runs of this instance that hang, and each again after an hour. */
export class HungRuns {
  /** When each was reported last, monotonic. */
  #told: ReadonlyMap<string, number> = new Map();
  #stopped = false;

  constructor(
    private readonly clock: Clock,
    private readonly watcher: Pick<Watcher, 'emit' | 'runs'>,
    private readonly isUnwatched: (run: RunInfo) => boolean,
  ) {}

  /** Those of jobs that are not watched. */
  get ofUnwatched(): readonly RunInfo[] {
    return this.watcher.runs().filter((run) => run.hung === true && this.isUnwatched(run));
  }

  /** A run of a job that is not watched should be over: looks some time later whether it hangs. */
  soon(): void {
    this.#lookIn(HUNG + LATER);
  }

  stop(): void {
    this.#stopped = true;
  }

  #lookIn(delay: number): void {
    const look = (): void => this.ofUnwatched.forEach((run) => this.tell(run) && this.#lookIn(REPEAT));
    this.clock.setTimer(() => !this.#stopped && look(), delay);
  }

  /** Reports a run that hangs, unless it was reported within the hour. */
  tell(run: RunInfo): boolean {
    const { lock, job = lock, instance, fencingToken, startedAt: since, tick } = run;
    const now = this.clock.monotonic();
    if (now - (this.#told.get(keyOf(run)) ?? -Infinity) < REPEAT) return false;
    const goOn = new Set(this.watcher.runs().map(keyOf));
    this.#told = new Map([...this.#told].filter(([key]) => goOn.has(key))).set(keyOf(run), now);
    const facts = { lock, job, instance, at: this.clock.now(), fencingToken, since };
    this.watcher.emit({ type: 'hung', ...facts, ...given({ tick }) });
    return true;
  }
}

/** Leases of different locks may have one token. */
const keyOf = ({ lock, fencingToken }: RunInfo): string => `${fencingToken} ${lock}`;
