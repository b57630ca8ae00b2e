import type { JobFacts } from './history.js';

/** Instances are up to this far apart from true time, ms. */
export const MAX_OFFSET = 2_000;

/** How far a tick may lie in the future of the store's clock, ms: two instances differ by twice {@link MAX_OFFSET}. */
export const MAX_CLOCK_SKEW = 60_000;
/** How far the clocks of two instances may be apart when both fire a tick, with how late a busy one fires it, ms. */
export const CLOCKS_APART = 5_000;

/**
 * How long after its tick a start counts as overdue, ms: the slowest instance fires a tick up to 4 s after the fastest one. What runs
 * late by design gets as much more as it may be late.
 */
export const OVERDUE = 5_000;

/** How many runs of a lock the store keeps: more than there are. */
export const MOST_KEPT = 10_000;

/** Given to every job, ms: at most a third of the shortest ttl. */
export const STORE_TIMEOUT = 500;

const job = (name: string, every: number, more: Partial<JobFacts> = {}): JobFacts => {
  const ttl = more.ttl ?? 2_000;
  return {
    job: name,
    lock: name,
    kind: 'cron',
    every,
    ttl,
    // The library's default, in the words of the README.
    heartbeat: 0.3 * ttl,
    storeTimeout: STORE_TIMEOUT,
    rerun: 0,
    atLeast: 0,
    catchUp: 0,
    wait: 0,
    priority: 0,
    kept: true,
    overdue: OVERDUE + (more.catchUp ?? 0) + (more.wait ?? 0),
    ...more,
  };
};

/** Short jobs that all fire at the same second: an instance sends its attempts together. */
export const volleyJobs = (count: number): JobFacts[] =>
  Array.from({ length: count }, (_, i) => job(`volley-${i + 1}`, VOLLEY.every));

/** The first of them. */
export const VOLLEY = job('volley-1', 5_000);

/**
 * Whether nobody wants more of a refusal than its reason at this time of an instance's clock: then the library may ask for less. All
 * instances do so in turns, for two volleys each. One that always wanted details would run what the others are refused without a
 * cause.
 */
export const isQuiet = (w: number): boolean =>
  Math.floor((w + VOLLEY.every / 2) / (2 * VOLLEY.every)) % 2 === 1;

/** The lock for which calls stand in line. */
export const LINE = 'line';

/** The calls that an application makes by itself, most of them in line: see worker/callers.ts. */
export const CALLER = job('caller', 3_000, { lock: LINE, ttl: 1_500, kind: 'call', kept: false });

/** Webhooks, which are kept while their lock is taken: see worker/hooks.ts. */
export const HOOK = { ...job('hook', 3_000, { lock: 'hooks', ttl: 1_500, kind: 'call' }), redeliver: 20 };

/** The jobs of the application in worker/jobs.ts. */
export const JOBS = {
  /** Ends long before the last clock has reached the tick. */
  short: job('short', 1_000),
  /** Runs for longer than its ttl, and than its period. */
  long: job('long', 1_000),
  /** Its period is longer than its ttl: an interrupted run is repeated before the next one is due. */
  again: job('again', 5_000, { ttl: 1_500, rerun: 2 }),
  /** Fails now and then, and is tried again long before its next tick. */
  flaky: job('flaky', 10_000, { ttl: 1_500, retry: { attempts: 3, delay: 1_000 } }),
  /** Two jobs under one lock; the second leaves it taken for a while. */
  left: job('left', 2_000, { lock: 'shared' }),
  right: job('right', 3_000, { lock: 'shared', atLeast: 800 }),
  /** Runs a tick late that all instances missed in an outage. */
  late: job('late', 5_000, { catchUp: 4_000 }),
  /**
   * Two jobs under one lock with the same ticks: one of them always comes late. Their period is long enough for a
   * fault at one tick to be over before the next one.
   */
  firstTwin: job('first-twin', 15_000, { lock: 'twins', ttl: 1_500, catchUp: 14_000 }),
  secondTwin: job('second-twin', 15_000, { lock: 'twins', ttl: 1_500, catchUp: 14_000 }),
  /** Missed by all in an outage that comes to the ticks of the two before, and never run late. */
  missed: job('missed', 15_000),
  interval: job('interval', 1_000, { kind: 'interval' }),
  /** Rather late than never: waits in the line of the callers, before most of them. */
  inLine: job('in-line', 5_000, { lock: LINE, ttl: 1_500, wait: 4_000, priority: 5 }),
  /** No whole number of milliseconds. */
  fraction: job('fraction', 8_500 / 7, { kind: 'interval' }),
} as const satisfies Record<string, JobFacts>;
