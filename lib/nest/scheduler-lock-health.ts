import { Injectable } from '@nestjs/common';
import type { Judgement } from '../insight/judgement.js';
import type { JobStatus, RunInfo } from '../insight/types.js';
import { InsightHost } from './insight-host.js';
import { LockHost } from './lock-host.js';

/**
 * What a health check can name as a reason to be down:
 *
 * - `store`: it does not answer
 * - `overdue`: a job was not started in time, on any instance
 * - `hung`: a run of a job goes on that should be over
 * - `failing`: the last run of a job, as far as this instance knows, failed or passed its timeout
 */
export type HealthProblem = 'store' | 'overdue' | 'hung' | 'failing';

/** What a health check says, in the shape of Terminus but for its key. It has no error texts and no secrets. */
export interface LockHealth<Status extends string = 'up' | 'degraded' | 'down'> {
  /** `degraded`: there is a problem, and restarting this process would not help. */
  readonly status: Status;
  readonly store: 'up' | 'away';
  /** When the store last answered this instance, ISO 8601. Absent if it has not yet. */
  readonly lastAnswer?: string;
  /** Jobs that no instance has started in time, as far as this one knows, each with the tick in question, ISO 8601. */
  readonly overdue: readonly { readonly job: string; readonly tick: string }[];
  /** Jobs whose last run, as far as this instance knows, failed or passed its timeout. */
  readonly failing: readonly string[];
  /** Jobs with a run that should be over and goes on: past its timeout, past the next tick, or though its lease is over. */
  readonly hung: readonly string[];
  /** Other jobs that need attention: each has a status `interrupted` or `disagree`. */
  readonly attention: readonly string[];
  /** Jobs whose state this instance does not know: it has not asked the store yet, or got no answer. */
  readonly unknown: readonly string[];
}

interface HealthOptions<Degraded extends string> {
  /** Which problems answer `down` instead of `degraded`. @default [] */
  readonly down?: readonly HealthProblem[] | undefined;
  /** `'up'`: what `degraded` is called, for Terminus 11, which knows no other word. @default 'degraded' */
  readonly degraded?: Degraded | undefined;
}

/** What is known at a moment. @internal */
interface HealthState {
  readonly away: boolean;
  /** Epoch milliseconds. */
  readonly answeredAt: number | undefined;
  /** The judgement of each job that is watched. */
  readonly jobs: ReadonlyMap<string, Judgement>;
  /** The jobs whose last run here has failed, and that have no ticks at which this instance would hear more: it knows its own runs only. */
  readonly failingHere: readonly string[];
  /** The jobs without ticks whose last run here was hollow. */
  readonly hollowHere: readonly string[];
  /** The elections in which this instance takes part, and those that it leads. */
  readonly elections: readonly string[];
  readonly led: readonly string[];
  /** The runs of jobs that go on here. */
  readonly runs: readonly RunInfo[];
  /** By how much this machine's clock is behind the store's, ms. */
  readonly clockOffset: number | undefined;
  /** The time of this state, by the store's clock, as ticks and runs are; by this machine's while the store's is not known. */
  readonly at: number;
}

type Found = { readonly overdue: { job: string; tick: string }[] } & Record<
  'failing' | 'hung' | 'attention' | 'unknown',
  string[]
>;

/** The list of the answer that names a job that needs attention, by its status. */
const LISTS: { readonly [S in JobStatus]?: 'failing' | 'hung' | 'unknown' } = {
  failing: 'failing',
  hung: 'hung',
  overrun: 'hung',
  unknown: 'unknown',
};

function foundIn({ jobs, failingHere, hollowHere }: HealthState): Found {
  const found: Found = { overdue: [], failing: [], hung: [], attention: [], unknown: [] };
  for (const [job, { status, attention, tick = 0 }] of jobs)
    if (status === 'overdue') found.overdue.push({ job, tick: isoTime(tick) });
    else if (attention || status === 'unknown') found[LISTS[status] ?? 'attention'].push(job);
  for (const job of failingHere) if (!found.failing.includes(job)) found.failing.push(job);
  for (const job of hollowHere) if (!found.attention.includes(job)) found.attention.push(job);
  return found;
}

/**
 * Tells whether the store answers and the jobs run: for readiness and for people, never for a liveness probe. A store that is away is no
 * reason to restart a process.
 */
@Injectable()
export class SchedulerLockHealth {
  readonly #host: LockHost;
  readonly #insight: InsightHost;

  /** @internal */
  constructor(host: LockHost, insight: InsightHost) {
    this.#host = host;
    this.#insight = insight;
  }

  /**
   * A health indicator for `@nestjs/terminus`, or an answer of your own: `health.check([() => jobs.check()])`.
   *
   * It answers from memory, without a call of the store, which each instance asks every `insight.beat` (30 s) anyway. With the beat
   * `'with-ticks'` it asks nothing between two ticks: then the answer may be as old as the last tick.
   *
   * @returns `{ schedulerLock: { status, store, lastAnswer, overdue, failing, hung, attention, unknown } }`. Never rejects
   */
  async check<Degraded extends 'up' | 'degraded' = 'degraded'>(
    options: HealthOptions<Degraded> = {},
  ): Promise<{ readonly schedulerLock: LockHealth<'up' | 'down' | Degraded> }> {
    const { down = [], degraded = 'degraded' } = options;
    const state = this.state();
    const { away, answeredAt } = state;
    const found = foundIn(state);
    const has = (problem: HealthProblem): boolean => (problem === 'store' ? away : found[problem].length > 0);
    const isDown = down.some(has);
    const isDegraded = away || Object.values(found).some((list) => list.length > 0);
    const schedulerLock = {
      status: isDown ? ('down' as const) : isDegraded ? (degraded as Degraded) : ('up' as const),
      store: away ? ('away' as const) : ('up' as const),
      ...(answeredAt === undefined ? undefined : { lastAnswer: isoTime(answeredAt) }),
      ...found,
    };
    return { schedulerLock };
  }

  /** What is known at this moment. @internal */
  state(): HealthState {
    const { away, answeredAt: ofLocks, wrong } = this.#host.runner.condition;
    const { presence, runs } = this.#insight;
    const here = (how: 'failed' | 'hollow'): string[] =>
      [...wrong.keys()].filter((job) => wrong.get(job) === how && presence?.watch.hasTicks(job) !== true);
    const { answeredAt: ofBeats, failedAt } = presence?.beats.last ?? {};
    const answeredAt = Math.max(ofLocks ?? -Infinity, ofBeats ?? -Infinity);
    // Where no job asks for a lock, only a failed beat notices.
    const silent = failedAt !== undefined && failedAt > answeredAt;
    const clockOffset = presence?.beats.clockOffset;
    return {
      away: away || silent,
      answeredAt: answeredAt === -Infinity ? undefined : answeredAt,
      jobs: presence?.watch.judgements ?? new Map(),
      failingHere: here('failed'),
      hollowHere: here('hollow'),
      elections: this.#host.elections.names,
      led: this.#host.elections.led,
      runs,
      clockOffset,
      at: this.#host.settings.clock.now() + (clockOffset ?? 0),
    };
  }

  /** Whether a lock is that of an election. @internal */
  isElection(lock: string): boolean {
    return this.#host.elections.declaredAt.has(lock);
  }

  /** Whether a job is decorated, or was made at run time. @internal */
  knows(job: string): boolean {
    return this.#insight.jobs.has(job);
  }
}

const isoTime = (time: number): string => new Date(time).toISOString();
