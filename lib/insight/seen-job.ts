import type { Clock } from '../base/clock.js';
import { given } from '../base/shared.js';
import { INTERVAL_ALLOWANCE } from '../contract/allowances.js';
import type { MissReason } from '../contract/history-store.js';
import { isOn, type JobFacts, type KnownBy, type OwnFacts, UNLOCKED } from './facts.js';
import type { FleetJobs } from './fleet-jobs.js';
import { factsOf, type LockFacts } from './join.js';
import type { Judgement } from './judgement.js';
import type { RunInfo } from './types.js';
import type { Refused, WatchedJob, Watcher } from './watched-job.js';

/** Why an instance did not start the newest ticks of a job. */
export type Skips = MissReason & { readonly tick: number | undefined };

/** A tick that an outage has cost here. */
export type Lost = Skips & { readonly tick: number };

/** After what time the store is asked again about a job that is not settled, ms. */
export const RECHECK = 300_000;

/** A job, as one instance sees it: by the store's last answer, and by its own calls since then. */
export class SeenJob {
  judgement: Judgement | undefined;
  skips: Skips | undefined;
  /** The missed tick that was noted last. */
  noted: number | undefined;
  /** Whether to ask the store, whatever is known: the run that was in the way here may have been killed. */
  mustAsk = false;
  /** Since when instances disagree, as far as this one knows, by the store's clock. */
  disagreeSince: number | undefined;
  /** Until when the job was off everywhere, as far as the store has told, by its clock. */
  #offUntil = -Infinity;
  /** What the store has answered, and when, by its clock. */
  #told: LockFacts = { entries: [] };
  #asOf: number | undefined;
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
    this.judgement = undefined;
    this.skips = undefined;
    const { tick: last, due: lastDue = -Infinity } = this.#seen;
    if (tick > last) this.#ranHere = false;
    this.#seen = { tick: Math.max(last, tick), due: Math.max(lastDue, due) };
  }

  /** The store has answered. */
  take(asOf: number, { lock, entries }: LockFacts): void {
    const known = entries.length > 0 ? entries : this.#told.entries;
    this.#told = { entries: known, ...(lock !== undefined && { lock }) };
    this.#asOf = asOf;
    this.mustAsk = false;
    this.judgement = undefined;
  }

  /**
   * The job was off everywhere when the store was asked before. Somebody may have switched it on since then, at a time that nobody knows;
   * if an instance that has it on has started since then, that start is the time.
   */
  wasOff(before: number, now: number, fleet: Pick<FleetJobs, 'get'>): void {
    const began = (fleet.get(this.job.job) ?? []).filter((by) => isOn(by.job) && by.startedAt > before);
    this.#offUntil = Math.min(now, before + RECHECK, ...began.map(({ startedAt }) => startedAt - 1));
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
    this.mustAsk = false;
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
    return job.comesLate || job.grace === false ? undefined : lost;
  }

  /**
   * A call by the scheduler did not start the job.
   *
   * @param now by the store's clock
   * @param own by this machine's
   */
  refused(tick: number | undefined, why: Refused, now: number, own: number): void {
    this.mustAsk = false;
    if (why.tick !== undefined) this.see(why.tick);
    if (why.reason !== 'already-ran') this.skips = { ...oneMore(this.skips, why, own), tick };
    if (why.reason !== 'already-ran' || tick !== undefined) return;
    // An interval may come early by a part of it: so it is due that much later than the store says.
    const { interval = 0 } = this.job;
    this.see(now, now + Math.min(why.expiresIn ?? Infinity, interval) + interval * INTERVAL_ALLOWANCE);
  }

  /**
   * @param time by the store's clock
   * @param fleet the instances that know each job; `undefined`: the store has not answered yet
   * @param here the runs that go on here
   * @param refusal why the store does not show runs
   */
  facts(
    watcher: Watcher,
    time: number,
    fleet: FleetJobs | undefined,
    here: readonly RunInfo[],
    refusal: string | undefined,
  ): JobFacts {
    const { job } = this;
    const { instance, kept, wentWrong } = watcher;
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
    const outcome = this.#ranHere ? (wentWrong(job.job) ?? 'completed') : undefined;
    const facts = factsOf([own, ...others], this.#told, {
      time,
      // Only the other instances show whether a tick was expected, and whether the job is off.
      ...given({ asOf: fleet && this.#asOf }),
      seen: { ...this.#seen, ...given({ outcome }) },
      ticks: (schedule) => (schedule === shown.schedule ? job.dates : undefined),
    });
    const mine = here.filter((run) => run.job === job.job);
    const rest = facts.runs.filter(
      (run) => isNotAmong(mine, run) && (run.outcome !== 'running' || this.#mayGoOn(run, own)),
    );
    return { ...facts, ...given({ refusal }), offUntil: this.#offUntil, runs: [...mine, ...rest] };
  }

  /** Whether a run in the store's last answer may go on elsewhere, or did in an earlier process of this id, which was killed. */
  #mayGoOn({ instance, hung, tick, startedAt }: RunInfo, own: KnownBy): boolean {
    if (instance === own.instance && startedAt >= own.startedAt) return false;
    // The instance may have seen a newer start.
    return hung === true || (tick ?? startedAt) >= this.#seen.tick;
  }
}

/** Whether a run is none of these. An earlier process may have had the id of this instance, and leases of two locks one token. */
export const isNotAmong = (runs: readonly RunInfo[], { lock, fencingToken }: RunInfo): boolean =>
  runs.every((run) => run.fencingToken !== fencingToken || run.lock !== lock);

/** One more tick was skipped. */
function oneMore(before: MissReason | undefined, { reason, holder }: Refused, now: number): MissReason {
  const again = before?.reason === reason && before.until === undefined;
  const [count, since] = again ? [before.count + 1, before.since ?? now] : [1, now];
  return { reason, count, since, ...given({ holder }) };
}
