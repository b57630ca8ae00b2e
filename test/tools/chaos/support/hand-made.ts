import { checkHistory, type CheckName } from '../../../chaos/checker/check.js';
import type { Finding } from '../../../chaos/checker/finding.js';
import type { JobFacts, Line } from '../../../chaos/history.js';

/** True wall time at the monotonic time 0: a whole minute. */
export const EPOCH = 1_800_000_000_000;

/** A run: what its process would have written down. Times are monotonic, ms. */
export interface HandMadeRun {
  readonly job?: string;
  readonly at: number;
  readonly token: number;
  /** Since when its call stood in line, if it did, and how. */
  readonly since?: number;
  readonly wait?: number;
  readonly priority?: number;
  readonly i?: string;
  readonly n?: number;
  /** Fire time, monotonic; `null` for a run without a tick. */
  readonly tick?: number | null;
  readonly attempt?: number;
  /** Of a queued call. */
  readonly delivery?: number;
  /** `null`: it never ended. */
  readonly ends?: number | null;
  readonly held?: number;
  /** @default 'completed' */
  readonly outcome?: string;
  readonly lost?: number;
  readonly lostReason?: string;
  /** The last deadlines that were confirmed: when, and until when. */
  readonly confirmed?: readonly (readonly [m: number, until: number])[];
}

/** A history that nobody ran. Two instances are up from the beginning, and well. */
export class HandMade {
  readonly #lines: Line[];
  readonly #jobs: ReadonlyMap<string, JobFacts>;
  #calls = 0;
  #faults = 0;

  constructor({
    jobs = [{}],
    offsets = { 'instance-1': 0, 'instance-2': 0 },
    over = 60_000,
    hints = false,
    keptWithin = 0,
  }: {
    jobs?: readonly Partial<JobFacts>[];
    offsets?: Record<string, number>;
    over?: number;
    hints?: boolean;
    keptWithin?: number;
  } = {}) {
    const all = jobs.map((job) => jobFacts(job));
    this.#jobs = new Map(all.map((job) => [job.job, job]));
    this.#lines = [
      {
        k: 'begin',
        m: 0,
        w: EPOCH,
        seed: 1,
        jobs: all,
        maxClockSkew: 5_000,
        clocksApart: 5_000,
        hints,
        keptWithin,
        offsets,
      },
      ...Object.keys(offsets).map((i): Line => ({ k: 'up', m: 0, i, n: 1 })),
      { k: 'over', m: over },
    ];
  }

  add(...lines: Line[]): this {
    this.#lines.push(...lines);
    return this;
  }

  run(given: HandMadeRun): this {
    const { job = 'job', at, token, i = 'instance-1', n = 1, attempt = 1, tick = at, lost } = given;
    const { delivery, ends = at + 10, confirmed = [[at, at + 1_978]] } = given;
    const { lock } = this.#jobs.get(job) as JobFacts;
    const lease = { i, n, lock, token };
    const deadline = confirmed.at(-1)?.[1] ?? at;
    const { since = at, ...how } = given;
    const call = this.#fired(job, since, i, n, how);
    for (const [m, until] of confirmed) this.add({ k: 'confirmed', m, ...lease, until });
    const queued = delivery === undefined ? undefined : { delivery };
    const start = { k: 'start', m: at, ...lease, job, call, attempt, ...queued } as const;
    this.add(tick === null ? start : { ...start, tick: EPOCH + tick });
    if (lost !== undefined)
      this.add({ k: 'lost', m: lost, ...lease, reason: given.lostReason ?? 'deadline' });
    if (ends === null) return this;
    return this.add(
      { k: 'end', m: ends, ...lease, held: given.held ?? Math.min(ends, lost ?? ends, deadline) },
      {
        k: 'released',
        m: ends,
        ...lease,
        confirmed: lost === undefined,
        outcome: given.outcome ?? 'completed',
      },
    );
  }

  /** A call that was refused, or of which nothing came. */
  skip(
    at: number,
    reason: string | undefined,
    more: { job?: string; i?: string; n?: number; tick?: number; finished?: boolean; after?: number } = {},
  ): this {
    const { job = 'job', i = 'instance-1', n = 1, tick, finished, after = 1 } = more;
    const call = this.#fired(job, at, i, n);
    if (reason === undefined) return this;
    return this.add({
      k: 'skipped',
      m: at + after,
      i,
      n,
      job,
      call,
      reason,
      ...(tick === undefined ? undefined : { tick: EPOCH + tick }),
      ...(finished === undefined ? undefined : { finished }),
    });
  }

  /** A call in line that was refused: when its limit had come, or earlier, or never (`null`). */
  stands(
    since: number,
    {
      wait = 10_000,
      ends = since + wait,
      reason = 'held',
      aborted,
      ...how
    }: {
      i?: string;
      wait?: number;
      priority?: number;
      ends?: number | null;
      reason?: string;
      aborted?: number;
    } = {},
  ): this {
    const [job, i, n] = ['job', how.i ?? 'instance-1', 1];
    const call = this.#fired(job, since, i, n, { wait, ...how });
    if (aborted !== undefined) this.add({ k: 'aborted', m: aborted, i, n, job, call });
    return ends === null ? this : this.add({ k: 'skipped', m: ends, i, n, job, call, reason });
  }

  /**
   * @param i whom; absent: the store
   * @param more what else its line says
   */
  fault(
    fault: string,
    from: number,
    to: number,
    i?: string,
    more: { since?: number; ahead?: number } = {},
  ): this {
    const id = ++this.#faults;
    const loses = fault === 'store-wipe' || fault === 'store-old-snapshot';
    const line = { k: 'fault', m: from, id, fault, loses, ...more } as const;
    this.add(i === undefined ? { ...line, on: 'store' } : { ...line, on: 'instance', i });
    return this.add({ k: 'cured', m: to, id });
  }

  /** The clock of the store is ahead of true time for a while, or behind. */
  step(from: number, to: number, ahead: number): this {
    return this.fault('store-clock', from, to, undefined, { ahead });
  }

  /** The server is restarted with a snapshot that was taken at `since`. */
  oldSnapshot(since: number, from: number, to: number): this {
    return this.fault('store-old-snapshot', from, to, undefined, { since });
  }

  /** Its process is killed, and nobody starts it again unless it is told until when. */
  kill(i: string, at: number, up?: number): this {
    this.fault('kill', at, up ?? 60_000, i);
    this.add({ k: 'down', m: at + 5, i, n: 1 });
    return up === undefined ? this : this.add({ k: 'up', m: up, i, n: 2 });
  }

  /** What this check says of it. */
  check(name: CheckName): Finding {
    const [finding] = checkHistory(
      this.#lines.toSorted((a, b) => a.m - b.m),
      [name],
    );
    return finding as Finding;
  }

  #fired(
    job: string,
    at: number,
    i: string,
    n: number,
    { wait, priority = 0 }: { wait?: number; priority?: number } = {},
  ): number {
    const { offsets } = this.#lines[0] as Extract<Line, { k: 'begin' }>;
    const { lock } = this.#jobs.get(job) as JobFacts;
    const call = ++this.#calls;
    const fired = { k: 'fired', m: at, w: EPOCH + at + (offsets[i] ?? 0), i, n, job, call } as const;
    if (wait === undefined) this.add(fired);
    else this.add({ ...fired, wait, priority }, { k: 'waiting', m: at + 1, i, n, lock, job, call, priority });
    return call;
  }
}

/** One job under one lock, every second, unless it is said otherwise. */
export function jobFacts(more: Partial<JobFacts> = {}): JobFacts {
  const times = { every: 1_000, ttl: 2_000, heartbeat: 600, storeTimeout: 500, atLeast: 0 };
  const facts = { ...times, rerun: 0, catchUp: 0, wait: 0, priority: 0, kept: true, overdue: 5_000 };
  return { job: 'job', lock: 'lock', kind: 'cron', ...facts, ...more };
}
