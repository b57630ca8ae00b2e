import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerClock } from './server-clock.js';
import { HistoryWriter, monotonic, readHistory } from './history.js';
import { Injector } from './injector.js';
import { CALLER, CLOCKS_APART, HOOK, JOBS, MAX_CLOCK_SKEW, volleyJobs } from './jobs.js';
import { Member } from './member.js';
import type { Plan } from './plan.js';
import { readKept } from './stores/kept.js';
import { type ChaosStore, startStore } from './stores/store.js';

export interface RunOptions {
  readonly store: string;
  /** The folder for the history. */
  readonly folder: string;
  /** The folder of the compiled chaos run of the build under test. */
  readonly program: string;
  /** Called every second with the history so far; `true` ends the run. */
  readonly enough?: (folder: string) => boolean;
  /** How many short jobs fire at the same second. */
  readonly volley?: number;
  /** How many calls of each instance stand in line at the same time. */
  readonly callers?: number;
  /** How long the way to the store and back takes, ms. */
  readonly roundTrip?: number;
  readonly log: (line: string) => void;
  /** The clock of the store, if it can be set. */
  readonly clock?: ServerClock | undefined;
}

/** The stores that tell calls in line of their turn, with the options of worker-options.ts. */
const HINTS: ReadonlySet<string> = new Set(['redis', 'postgres']);

/**
 * How long after its release the record of a run is kept, ms: a quarter of a second, and what its write takes, which on the servers here,
 * with hundreds of jobs, is up to two seconds.
 */
const KEPT_WITHIN = 2_250;

/** How often the store is pinged, and how late an answer counts as slow, ms. */
const PING = 200;
const SLOW = 200;

/** Runs the plan; resolves with how often each fault was injected, when all is stopped. */
export async function drive(plan: Plan, options: RunOptions): Promise<ReadonlyMap<string, number>> {
  const { folder, program, volley = 0, callers = 0, roundTrip = 0, log } = options;
  const history = new HistoryWriter(folder, 'driver');
  const jobs = [...Object.values(JOBS), CALLER, HOOK, ...volleyJobs(volley)];
  const offsets = Object.fromEntries(plan.offsets.map((offset, i) => [`instance-${i + 1}`, offset]));
  history.write({
    k: 'begin',
    m: monotonic(),
    w: Date.now(),
    seed: plan.seed,
    jobs,
    maxClockSkew: MAX_CLOCK_SKEW,
    clocksApart: CLOCKS_APART,
    hints: HINTS.has(options.store),
    keptWithin: KEPT_WITHIN,
    roundTrip,
    offsets,
  });
  const store = await startStore(options.store, options.clock);
  const members: Member[] = [];
  const stopWatching = watch(store, history);
  try {
    for (const [index, offset] of plan.offsets.entries())
      members.push(
        await Member.create({ index, offset, program, folder, history, volley, callers, roundTrip }, store),
      );
    await Promise.all(members.map((member) => member.start()));
    const injector = new Injector(members, store, history, options.clock);
    const faults = new Set<Promise<void>>();
    try {
      await carryOut(plan, injector, members, faults, options);
    } finally {
      // Those that have begun: an instance must not start again while everything is being stopped.
      await Promise.all(faults);
    }
    history.write({ k: 'over', m: monotonic() });
    // Without instances nothing changes any more.
    await Promise.all(members.map((member) => member.kill()));
    const locks = [...new Set(jobs.map(({ lock }) => lock))];
    const { name, host, port } = store;
    for (const line of await readKept({ store: name, host, port }, locks)) history.write(line);
    log(`  ${readHistory(folder).length} lines of history`);
    return injector.counts;
  } finally {
    stopWatching();
    await Promise.all(members.map((member) => member.close()));
    await store.close();
    history.close();
  }
}

async function carryOut(
  { injections, seconds }: Plan,
  injector: Injector,
  members: readonly Member[],
  faults: Set<Promise<void>>,
  { enough, folder, log }: RunOptions,
): Promise<void> {
  const began = monotonic();
  const waiting = [...injections];
  let failure: unknown;
  for (let second = 1; second <= seconds; second++) {
    for (const until = began + second * 1_000; monotonic() < until;) {
      const next = waiting[0];
      const due = next === undefined ? Infinity : began + next.at;
      await sleep(Math.max(0, Math.min(due, until) - monotonic()));
      if (next === undefined || monotonic() < due) continue;
      waiting.shift();
      const fault = injector
        .inject(next)
        .catch((error: unknown) => (failure ??= error))
        .then(() => void faults.delete(fault));
      faults.add(fault);
    }
    // oxlint-disable-next-line typescript/only-throw-error -- whatever was thrown
    if (failure !== undefined) throw failure;
    const dead = members.find(({ died }) => died);
    if (dead !== undefined) throw new Error(`${dead.name} ended by itself:\n${dead.stderr}`);
    if (enough?.(folder) === true) return log(`  seen enough after ${second} s`);
    if (second % 60 === 0) log(`  ${second} of ${seconds} s`);
  }
}

/** Records when the store or this very process is slow without an injected fault. */
function watch(store: ChaosStore, history: HistoryWriter): () => void {
  let stopped = false;
  const beat = async (): Promise<void> => {
    while (!stopped) {
      const from = monotonic();
      await store.ping().catch(() => undefined);
      await sleep(PING);
      const m = monotonic();
      if (!stopped && m - from > PING + SLOW) history.write({ k: 'stall', from, m });
    }
  };
  void beat();
  return () => (stopped = true);
}
