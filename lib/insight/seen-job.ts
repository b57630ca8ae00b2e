import type { Clock } from '../base/clock.js';
import { INTERVAL_ALLOWANCE } from '../contract/allowances.js';
import type { LockInfo } from '../contract/lock-info.js';
import { type Announced, oneMore, type Skips } from './announcer.js';
import { pauseNow } from './controls.js';
import { given } from '../base/shared.js';
import { type JobFacts, type KnownBy, type OwnFacts, UNLOCKED } from './facts.js';
import { factsOf, type LockFacts } from './join.js';
import type { FleetJobs } from './fleet-jobs.js';
import type { Judgement } from './judgement.js';
import { RARELY } from './recheck.js';
import type { RunInfo } from './types.js';
import type { Refused, WatchedJob, Watcher } from './watched-job.js';

/** A tick that an outage has cost here. */
export type Lost = Skips & { readonly tick: number };

/** How long after the end of a lease the store is asked what became of its run, ms: a renewal may be under way. */
const SETTLED = 1_000;
/** Looks at the locks of several jobs are put off to one time in so many milliseconds, which is another one on each instance. */
const TURN = 10_000;
const OWN_TURN = Math.floor(Math.random() * TURN);
const atTurn = (time: number): number => Math.ceil((time - OWN_TURN) / TURN) * TURN + OWN_TURN;

/** What one instance knows besides the job itself. */
interface Known {
  readonly watcher: Watcher;
  /** By the store's clock. */
  readonly time: number;
  /** The instances that know each job; `undefined`: the store has not answered yet. */
  readonly fleet: Pick<FleetJobs, 'get'> | undefined;
  /** The runs that go on here. */
  readonly here: readonly RunInfo[];
  /** Why the store does not show runs. */
  readonly refusal: Error | undefined;
}

interface Refusal {
  readonly now: number;
  readonly own: number;
  readonly withTicks: boolean | undefined;
}

/** A job, as one instance sees it: by the store's last answer, and by its own calls since then. */
export class SeenJob implements Announced {
  /** What the store has answered, and when, by its clock. */
  told: LockFacts = { entries: [] };
  asOf: number | undefined;
  judgement: Judgement | undefined;
  skips: Skips | undefined;
  /** The tick of the newest miss that this instance has to note, as the store was away. */
  lost: number | undefined;
  noted: number | undefined;
  toldOfHung = -Infinity;
  /** When to ask the store whether the run that was in the way here still goes on, by its clock. */
  afterLease = Infinity;
  /** Until when the job was off everywhere, as far as the store has told, by its clock. */
  offUntil = -Infinity;
  /** Since when instances disagree, as far as this one knows, by the store's clock. */
  disagreeSince: number | undefined;
  /** What this instance has seen since. */
  #seen: OwnFacts = { tick: -Infinity };
  /** Whether the newest start that it has seen was its own. */
  #ranHere = false;
  /** Until when the job was stopped here, as far as this instance knows, by the store's clock. */
  #stoppedUntil: number | undefined;

  readonly #addedAt: number;

  /** @param lookAt when to look at it again, by the store's clock */
  constructor(
    readonly job: WatchedJob,
    private readonly clock: Clock,
    public lookAt: number,
  ) {
    this.#addedAt = clock.monotonic() + job.initialDelay;
  }

  /** From when on its scheduler may fire it, by this machine's clock, which may have been set since. */
  get since(): number {
    return this.clock.now() - (this.clock.monotonic() - this.#addedAt);
  }

  /** The judgement is to be a new one. @param now by the store's clock */
  look(now: number): void {
    if (this.job.shown().stopped) this.#stoppedUntil = now;
    this.judgement = undefined;
  }

  /** The instance has seen that a tick was started. @param due when an interval is due again */
  see(tick: number, due = -Infinity): void {
    this.#isWell();
    const { tick: last, due: lastDue = -Infinity } = this.#seen;
    if (tick > last) this.#ranHere = false;
    this.#seen = { tick: Math.max(last, tick), due: Math.max(lastDue, due) };
  }

  #isWell(): void {
    this.judgement = undefined;
    this.skips = undefined;
    this.#forgetPause();
  }

  /**
   * The store has answered.
   *
   * @param isKnown whether a lease of this instance is that of a run here, not of an earlier process with its id, which was killed
   */
  take(asOf: number, { lock, entries }: LockFacts, isKnown: (lock: LockInfo) => boolean): void {
    this.told = {
      entries: entries.length > 0 ? entries : this.told.entries,
      ...(lock !== undefined && { lock }),
    };
    this.asOf = asOf;
    const isLeft = lock?.state === 'held' && lock.job === this.job.job && !isKnown(lock);
    this.afterLease = isLeft ? asOf + (lock.expiresIn ?? this.job.ttl) + SETTLED : Infinity;
    this.judgement = undefined;
  }

  /** A pause in the store's last answer is over: somebody has started the job. */
  #forgetPause(): void {
    if (pauseNow(this.told.lock) !== undefined) this.told = { entries: this.told.entries };
  }

  /**
   * A run of the job begins here.
   *
   * @param now by the store's clock
   * @param unlocked when it began by this machine's clock, if the store does not know of it
   */
  began(tick: number | undefined, now: number, unlocked?: number): void {
    const before = this.skips;
    this.see(tick ?? now, now + (this.job.interval ?? 0));
    if (unlocked !== undefined) this.skips = { ...oneMore(before, { reason: UNLOCKED }, unlocked), tick };
    this.#ranHere = true;
    this.afterLease = Infinity;
  }

  /**
   * The store answers again.
   *
   * @param until by this machine's clock
   * @returns the tick that was skipped here meanwhile, or ran without the store, if it has to be noted; a tick that may still run late is only judged
   */
  available(until: number): Lost | undefined {
    const { skips, job } = this;
    if (skips?.tick === undefined || skips.until !== undefined) return undefined;
    const lost = { ...skips, tick: skips.tick, until };
    if (skips.reason === UNLOCKED) {
      this.skips = undefined;
      return lost;
    }
    if (skips.reason !== 'store-unavailable') return undefined;
    this.skips = lost;
    if (job.comesLate || job.grace === false || this.lost === lost.tick) return undefined;
    this.lost = lost.tick;
    return lost;
  }

  /**
   * A call by the scheduler did not start the job.
   *
   * @param now by the store's clock
   * @param own by this machine's
   * @param withTicks whether the store is asked only when ticks come anyway
   */
  refused(tick: number | undefined, why: Refused, { now, own, withTicks }: Refusal): void {
    this.afterLease = Infinity;
    if (why.tick !== undefined) this.see(why.tick);
    if (why.reason === 'already-ran') return this.#hasRun(tick, why, now);
    this.#lookAfterLease(why, now, withTicks);
    this.skips = { ...oneMore(this.skips, why, own), tick };
  }

  /**
   * The holder may be killed, and nobody would hear of that before the next tick: so the store is asked once, when the lease should end.
   * Not if the next tick is so near that it shows the same, or the store may sleep until it; and not by all instances at once, but for all their jobs together.
   */
  #lookAfterLease({ reason, expiresIn = this.job.ttl }: Refused, now: number, withTicks = false): void {
    if (reason !== 'held' || withTicks) return;
    const { interval, dates } = this.job;
    const next = interval === undefined ? dates.next(now) : now + interval;
    const at = atTurn(now + expiresIn + SETTLED);
    if (next - now <= RARELY || next <= at) return;
    this.afterLease = at;
    this.lookAt = Math.min(this.lookAt, at);
  }

  #hasRun(tick: number | undefined, { expiresIn = Infinity }: Refused, now: number): void {
    if (tick !== undefined) return;
    const { interval = 0 } = this.job;
    // An interval may come early by a part of it: so it is due that much later than the store says.
    this.see(now, now + Math.min(expiresIn, interval) + interval * INTERVAL_ALLOWANCE);
  }

  facts({ watcher, time, fleet, here: runs, refusal }: Known): JobFacts {
    const { job, told, asOf } = this;
    const { instance, kept, hasFailed } = watcher;
    const clockOffset = watcher.clockOffset() ?? 0;
    const shown = job.shown();
    const own: KnownBy = {
      instance,
      state: 'up',
      startedAt: this.since + clockOffset,
      seenAt: time,
      clockOffset,
      kept,
      job: shown,
      stoppedUntil: this.#stoppedUntil,
    };
    const others = fleet?.get(job.job)?.filter((by) => by.instance !== instance) ?? [];
    const outcome = this.#ranHere ? (hasFailed(job.job) ? 'failed' : 'completed') : undefined;
    const facts = factsOf(
      [own, ...others],
      { ...told, ...given({ refusal }) },
      {
        time,
        // Only the other instances show whether a tick was expected, and whether the job is off.
        ...(asOf !== undefined && fleet !== undefined && { asOf }),
        seen: { ...this.#seen, ...(outcome && { outcome }) },
        ticks: (schedule) => (schedule === shown.schedule ? job.dates : undefined),
      },
    );
    const here = runs.filter((run) => run.job === job.job);
    const rest = facts.runs.filter((run) =>
      run.instance === instance && run.outcome === 'running'
        ? false
        : this.#isOpen(run) && here.every(({ fencingToken }) => fencingToken !== run.fencingToken),
    );
    return { ...facts, offUntil: this.offUntil, runs: [...here, ...rest] };
  }

  /** Whether a run in the store's last answer may still go on: not if the instance has seen a newer start. */
  #isOpen({ outcome, hung, tick, startedAt }: RunInfo): boolean {
    return outcome !== 'running' || hung === true || (tick ?? startedAt) >= this.#seen.tick;
  }
}
