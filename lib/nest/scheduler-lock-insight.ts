import { Injectable } from '@nestjs/common';
import type { Clock } from '../base/clock.js';
import { Insight, type InsightQuery } from '../insight/insight.js';
import type { ControlInfo, InstanceInfo, JobView, RunInfo, Unreadable, Why } from '../insight/types.js';
import { tickFinder } from '../schedule/tick-finder.js';
import { InsightHost } from './insight-host.js';
import { LockHost } from './lock-host.js';

/** For how long an answer about all jobs serves later callers, too, ms. */
const SHARED = 2_000;

/**
 * Who ran what, when, and why not, over the whole fleet: an {@link Insight} on the application's own store. Each method but `jobs()` asks the
 * store anew, and all reject with `StoreUnavailableError` if it does not answer, and with `SchedulerLockConfigError` for bad arguments, or if the
 * store remembers no runs. Times are the store's, epoch milliseconds.
 */
@Injectable()
export class SchedulerLockInsight {
  readonly #host: LockHost;
  readonly #insights: InsightHost;
  #insight: Insight | undefined;
  /** The newest answer to `jobs()`, and when it was asked for, monotonic. */
  #jobs: { readonly askedAt: number; readonly answer: Promise<readonly JobView[]> } | undefined;

  /** @internal */
  constructor(host: LockHost, insights: InsightHost) {
    this.#host = host;
    this.#insights = insights;
  }

  /** What could not be read, and is missing from the newest answers of these methods. */
  get unreadable(): Unreadable {
    return this.#insight?.unreadable ?? { instances: 0, runs: 0, parts: [] };
  }

  /** All jobs of the fleet: those that need attention first. One answer serves all who ask within 2 s. */
  async jobs(): Promise<JobView[]> {
    const now = this.#host.settings.clock.monotonic();
    if (this.#jobs === undefined || now - this.#jobs.askedAt >= SHARED) {
      const asked = { askedAt: now, answer: this.opened().then((insight) => insight.jobs()) };
      this.#jobs = asked;
      asked.answer.catch(() => {
        // The next caller must not get an outage that is over.
        if (this.#jobs === asked) this.#jobs = undefined;
      });
    }
    return [...(await this.#jobs.answer)];
  }

  /**
   * One job.
   *
   * @returns `undefined` if no instance knows it
   */
  async job(name: string): Promise<JobView | undefined> {
    return (await this.opened()).job(name);
  }

  /** Runs that are kept, and those that go on, newest first. */
  async runs(query: InsightQuery = {}): Promise<RunInfo[]> {
    return (await this.opened()).runs(query);
  }

  /** What people did with the switches, newest first: see `docs/production/control.md`. */
  async controls(query: Omit<InsightQuery, 'bad'> = {}): Promise<ControlInfo[]> {
    return (await this.opened()).controls(query);
  }

  /** The instances of the last days: those that are up first. */
  async instances(): Promise<InstanceInfo[]> {
    return (await this.opened()).instances();
  }

  /**
   * Why a job ran, or did not run.
   *
   * @param at epoch milliseconds, a `Date`, or a text such as `2026-11-22T03:00:00+01:00`, in UTC without an offset. A whole minute asks
   *   for the tick of just then, any other time for the newest tick not after it. Without it: its newest tick
   */
  async why(job: string, at?: number | Date | string): Promise<Why> {
    return (await this.opened()).why(job, at);
  }

  /** The clock of this machine, as the locks have it. @internal */
  get clock(): Clock {
    return this.#host.settings.clock;
  }

  /** What people call the store. @internal */
  get label(): string {
    return this.#host.store.label ?? 'the store';
  }

  /** What it asks itself. @internal */
  async opened(): Promise<Insight> {
    await this.#host.start();
    return (this.#insight ??= new Insight(this.#host.store, {
      ticks: tickFinder(this.#insights.cronTime),
    }));
  }
}
