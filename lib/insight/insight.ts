/*
 * lib/insight: reads what instances have written to the store about jobs and runs, and judges each job: there is one judgement
 * (judgement.ts), and many readers.
 * May not enter: Nest, drivers, cron expressions, code that changes a lock.
 */
import { SchedulerLockConfigError } from '../base/errors.js';
import type { LockStore } from '../contract/lock-store.js';
import { show as asCode } from '../base/wording.js';
import { tickFinder } from '../schedule/tick-finder.js';
import { asksOnce } from './dates.js';
import { isBad, type JobFacts, type TickFinder } from './facts.js';
import type { FleetJobs } from './fleet-jobs.js';
import { type Beside, depths, jobFacts, type FleetView, lookAtAll } from './look.js';
import { controlsOf } from './controls.js';
import { leasesOf, type LockFacts, newestFirst, runsOf } from './join.js';
import { instanceOf, Reader } from './read.js';
import { readTime, timesIn } from './times.js';
import { inTurns } from './turns.js';
import type { ControlInfo, InstanceInfo, JobView, RunInfo, Unreadable, Why } from './types.js';
import { viewOf } from './view.js';
import { why, whyRemoved, whyUnknown } from './why.js';

/** Options of {@link Insight}. */
export interface InsightReadingOptions {
  /**
   * Finds the dates of cron expressions.
   *
   * @default by the `cron` of the `@nestjs/schedule` beside this program, or in the folder in which it was started. Where there is none, no dates are known
   */
  readonly ticks?: TickFinder;
  /**
   * The time zone in which sentences show times, and in which a text without an offset is read, such as `Europe/Berlin`.
   *
   * @default UTC
   */
  readonly zone?: string;
}

/** Which runs. */
export interface InsightQuery {
  /** Only those of this job. */
  readonly job?: string;
  /** Only those under this lock. */
  readonly lock?: string;
  /** How many at most, 1 to 1000. @default 20 */
  readonly limit?: number;
  /** Only those that failed, passed their timeout, were aborted or interrupted. @default false */
  readonly bad?: boolean;
}

/** How many entries of a lock are read at most. */
const ALL = 1_000;
/** How many acts of people there may be among them, if not all are read. */
const ACTS = 20;

/**
 * Who ran what, when, and why not: what the instances of a fleet have written to the store, joined with what the store knows of their
 * locks. It only reads: nothing changes, and no lock waits for it. Works without Nest, too:
 *
 * ```ts
 * const store = new RedisLockStore(url);
 * await store.init();
 * const insight = new Insight(store);
 * console.log((await insight.why('InvoiceJobs.send', '2026-11-22 03:00')).sentence);
 * await store.close();
 * ```
 *
 * Each method asks the store whenever it is called, some calls for each lock in question, and rejects as the calls of the store do
 * (`StoreUnavailableError`). Times are the store's, epoch milliseconds.
 */
export class Insight {
  readonly #reader: Reader;
  readonly #zone: string | undefined;
  readonly #more: Required<Beside>;

  /** @throws SchedulerLockConfigError if the store remembers nothing, or the zone is not known */
  constructor(store: LockStore, options: InsightReadingOptions = {}) {
    if (!store.keeps.histories)
      throw new SchedulerLockConfigError([
        `new Insight(): the store ${store.label ?? store.constructor.name} keeps no histories, so it cannot tell who ran what. ` +
          'Use Redis, PostgreSQL, MySQL or MongoDB, or give your own store entries: see docs/stores/your-own.md.',
      ]);
    this.#reader = new Reader(store.history, store.inspect.bind(store));
    this.#zone = options.zone;
    this.#more = { show: showIn(options.zone), ticks: asksOnce(options.ticks ?? tickFinder()) };
  }

  /**
   * What the calls of this object could not read when they last looked: their answers lack it. Its state is not known, so it is never a
   * sign that all is well.
   */
  get unreadable(): Unreadable {
    return this.#reader.unreadable;
  }

  /** The store's clock at its newest answer about instances, epoch milliseconds. Absent before, and if the store remembers none. */
  get time(): number | undefined {
    return this.#reader.time;
  }

  /** All jobs that instances know: those that need attention first. Jobs that a deploy has removed, or a person had forgotten, are left out. */
  async jobs(): Promise<JobView[]> {
    return (await this.look()).jobs;
  }

  /**
   * All that one look at the store shows.
   *
   * @param most how many entries of a lock that one job has. Absent: as few as tell how it is
   * @internal
   */
  look(most?: number): Promise<FleetView> {
    return lookAtAll(this.#reader, this.#more, most);
  }

  /**
   * One job.
   *
   * @returns `undefined` if no instance knows it, a deploy has removed it, or a person had it forgotten
   * @throws SchedulerLockConfigError if `name` is empty
   */
  async job(name: string): Promise<JobView | undefined> {
    checkName('job()', name);
    const { facts, isThere } = await this.#known(name);
    return facts !== undefined && isThere ? viewOf(facts) : undefined;
  }

  /**
   * Runs that are kept and those that go on, newest first: of a job, of a lock, or of all locks of jobs that instances know. A run
   * appears under its lock even if no instance knows its job any more.
   *
   * @throws SchedulerLockConfigError for a job or a lock without a name, and a limit that is out of range
   */
  async runs(query: InsightQuery = {}): Promise<RunInfo[]> {
    const { job, limit = 20, bad = false } = query;
    // Acts of people are kept among the runs, and are none.
    const isMixed = bad || job !== undefined;
    const locks = await this.#kept('runs()', query, isMixed ? ALL : Math.min(ALL, limit + ACTS));
    return locks
      .flatMap(runsOf)
      .filter((run) => (job === undefined || run.job === job) && (!bad || isBad(run)))
      .sort(newestFirst)
      .slice(0, limit);
  }

  /**
   * What people did, newest first: to the lock of a job, to a lock, or to all locks of jobs that instances know.
   *
   * @throws SchedulerLockConfigError for a job or a lock without a name, and a limit that is out of range
   */
  async controls(query: Omit<InsightQuery, 'bad'> = {}): Promise<ControlInfo[]> {
    const { limit = 20 } = query;
    const locks = await this.#kept('controls()', query, ALL);
    return locks
      .flatMap((facts) => controlsOf(leasesOf(facts), facts.lock))
      .sort((one, other) => other.at - one.at)
      .slice(0, limit);
  }

  /** The history of a lock, or of several. */
  async #kept(
    method: string,
    { job, lock, limit = 20 }: Omit<InsightQuery, 'bad'>,
    most: number,
  ): Promise<LockFacts[]> {
    if (job !== undefined) checkName(method, job);
    if (lock !== undefined) checkName(method, lock, 'lock');
    if (!Number.isInteger(limit) || limit < 1 || limit > ALL)
      throw problem(`${method}: limit: ${asCode(limit)} is no whole number from 1 to ${ALL}.`);
    const names = lock === undefined ? await this.#locksFor(job) : [lock];
    const locks = await this.#reader.locks(names, () => most);
    for (const { refusal, entries } of locks.values())
      if (refusal !== undefined && entries.length === 0) throw refusal;
    return [...locks.values()];
  }

  /** The instances of the last days: those that are up first, the newest of them at the top. */
  async instances(): Promise<InstanceInfo[]> {
    return inTurns((await this.#reader.fleet()).told, (told) => [instanceOf(told)]);
  }

  /**
   * Why a job ran, or did not run.
   *
   * @param at the time in question: epoch milliseconds, a `Date`, or a text such as `2026-11-22 03:00`, `2026-11-22T03:00:00Z` or
   * `2026-11-22T03:00+01:00`; a text without an offset is read in the option `zone`. A whole minute asks for the tick of exactly then, any
   * other time for the newest tick not after it. Without `at`: what the status of the job is about, or else its newest run
   * @throws SchedulerLockConfigError if the job has no name, or `at` is no such time. A job that no instance knows is an answer
   */
  async why(job: string, at?: number | Date | string): Promise<Why> {
    checkName('why()', job);
    const time = at === undefined ? undefined : readAt(at, this.#zone);
    const { jobs, facts, isThere } = await this.#known(job, ALL);
    if (facts === undefined) return whyUnknown(job, jobs.names.sort(), jobs.under(job));
    return isThere || time !== undefined ? why(facts, time) : whyRemoved(facts);
  }

  /** All that is known of a job, also of one that a deploy has removed; or the names of all jobs. @internal */
  async facts(job: string): Promise<JobFacts | { readonly names: string[] }> {
    const { jobs, facts } = await this.#known(job, ALL);
    return facts ?? jobs;
  }

  /** @param most how many entries of its lock to read. Absent: as many as tell how it is */
  async #known(
    job: string,
    most?: number,
  ): Promise<{ readonly jobs: FleetJobs; readonly facts?: JobFacts; readonly isThere: boolean }> {
    const { jobs, time } = await this.#reader.fleet();
    const knownBy = jobs.get(job);
    if (knownBy === undefined) return { jobs, isThere: false };
    const { lock } = knownBy[0].job;
    const names = lock === undefined ? [] : [lock];
    const all = jobs.names.flatMap((name) => jobs.listed(name).slice(0, 1));
    const locks = await this.#reader.locks(names, (name) => most ?? depths(all)(name));
    const facts = jobFacts(knownBy, locks, time, this.#more);
    return { jobs, facts, isThere: facts.forgotten === undefined && !jobs.wasRemoved(knownBy) };
  }

  /** The locks of a job, or of all. A job that no instance knows has probably had a lock of its own name. */
  async #locksFor(job: string | undefined): Promise<string[]> {
    const { jobs } = await this.#reader.fleet();
    const known = (job === undefined ? jobs.names : [job]).flatMap((name) => jobs.listed(name));
    const names = new Set(known.flatMap(({ lock }) => lock ?? []));
    return job !== undefined && known.length === 0 ? [job] : [...names];
  }
}

const problem = (text: string): SchedulerLockConfigError => new SchedulerLockConfigError([text]);

function checkName(method: string, name: unknown, what = 'job'): void {
  if (typeof name === 'string' && name.trim() !== '') return;
  throw problem(`${method}: ${what}: ${asCode(name)} is no name. Give the name of a ${what}.`);
}

function showIn(zone: string | undefined): (time: number) => string {
  try {
    return timesIn(zone);
  } catch {
    throw problem(
      `new Insight(): zone: ${asCode(zone)} is no time zone. Give a name such as 'Europe/Berlin'.`,
    );
  }
}

/** Before 1973: then somebody has given seconds. */
const TOO_EARLY = 1e11;

function readAt(at: unknown, zone: string | undefined): number {
  const time = at instanceof Date ? at.getTime() : typeof at === 'string' ? readTime(at, zone) : at;
  if (typeof time === 'number' && Number.isSafeInteger(time) && time >= TOO_EARLY && time <= 8.64e15)
    return time;
  throw problem(
    `why(): at: ${at instanceof Date ? 'an invalid Date, or one before 1973,' : asCode(at)} is no time. ` +
      "Give epoch milliseconds, a Date, or a text such as '2026-11-22 03:00' or '2026-11-22T03:00:00+01:00'.",
  );
}
