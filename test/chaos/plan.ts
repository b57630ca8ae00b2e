import type { JobFacts } from './history.js';
import { HOOK, JOBS, LINE, MAX_OFFSET, VOLLEY } from './jobs.js';
import { Random } from './random.js';

/** Faults of an instance. Its network is the proxy before it. */
export type InstanceFault =
  | 'kill'
  | 'pause'
  | 'refuse'
  | 'black-hole'
  | 'lose-replies'
  | 'delay'
  | 'cut'
  | 'lose-then-partition'
  | 'throwing-logger';
/** Faults of the store. The last three make it forget everything, or all writes since a snapshot. */
export type StoreFault =
  | 'store-restart'
  | 'store-freeze'
  | 'store-long-freeze'
  | 'store-clock'
  | 'forget-scripts'
  | 'store-wipe'
  | 'store-flush'
  | 'store-old-snapshot';

/** What people do by the switches, on one of the instances. Each is told of as a fault of the store: it hits the fleet. */
export type SwitchFault = 'switch-pause' | 'switch-break';

/** Faults of all instances: one after another, or all at the same time. */
export type FleetFault = 'rolling-restart' | 'blackout';

/** One injection. */
export interface Injection {
  readonly id: number;
  /** Milliseconds from the beginning. */
  readonly at: number;
  /** How long it lasts, ms. A killed instance is started again after it; a snapshot is that old when it comes back. */
  readonly lasts: number;
  readonly fault: InstanceFault | StoreFault | FleetFault | SwitchFault;
  /**
   * The target: the holder of this lock at that moment. If there is none, or it is in trouble already, the instance of
   * this number.
   */
  readonly holderOf?: string;
  /** The target instead: who is the first in line for this lock. */
  readonly headOf?: string;
  readonly instance?: number;
  /** How late requests and replies are, ms, for `delay`. */
  readonly delay?: number;
  /** By how much the clock of the store goes ahead, ms, for `store-clock`. */
  readonly ahead?: number;
  /**
   * The fault waits for the next tick of this job, and hits the instance that fires it first, or the store, a moment
   * before, or `after` it.
   */
  readonly tickOf?: string;
  /** How long after that tick, ms. */
  readonly after?: number;
}

export interface Plan {
  readonly seed: number;
  readonly seconds: number;
  /** By how much the clock of each instance is ahead of true time, ms. */
  readonly offsets: readonly number[];
  readonly injections: readonly Injection[];
}

export interface PlanOptions {
  readonly instances: number;
  readonly seconds: number;
  readonly seed: number;
  /** Whether the store may forget everything. */
  readonly dataLoss: boolean;
  /** Only these faults; all, if there are none. */
  readonly only: readonly string[];
  /** Faults that cannot be injected. The others stay the same, so that plans are easy to compare. */
  readonly leftOut?: ReadonlyMap<string, string>;
  /** How many short jobs fire at the same second. */
  readonly volley?: number;
  /** How many calls of each instance stand in line at the same time. */
  readonly callers?: number;
}

type Fault = Injection['fault'];

const WEIGHTS: readonly (readonly [Fault, number])[] = [
  ['kill', 6],
  ['pause', 6],
  ['refuse', 3],
  ['black-hole', 2],
  ['lose-replies', 2],
  ['delay', 3],
  ['cut', 1],
  ['store-restart', 1.5],
  ['store-freeze', 1],
  ['forget-scripts', 1],
  ['store-wipe', 1],
  ['store-flush', 1],
  ['rolling-restart', 0.6],
  ['store-long-freeze', 1],
  ['store-clock', 1.5],
  ['store-old-snapshot', 1],
  ['lose-then-partition', 2],
  ['throwing-logger', 2],
  ['blackout', 2],
  ['switch-pause', 2.5],
  ['switch-break', 2.5],
];

/** Faults that come only if they are asked for by `only`: they leave no time for others. */
const ASKED_FOR: ReadonlySet<Fault> = new Set(['blackout']);

/** All faults that there are. */
export const FAULTS: readonly string[] = WEIGHTS.map(([fault]) => fault);

/** How long each lasts, ms. Longer than the ttl for many of those that hit a holder. */
const LASTS: Record<Fault, readonly [least: number, most: number]> = {
  kill: [200, 2_500],
  pause: [500, 5_000],
  refuse: [300, 4_000],
  'black-hole': [300, 4_000],
  'lose-replies': [300, 2_500],
  delay: [1_000, 5_000],
  cut: [0, 0],
  'store-restart': [100, 3_000],
  'store-freeze': [200, 3_000],
  'forget-scripts': [0, 0],
  'store-wipe': [50, 1_500],
  'store-flush': [0, 0],
  // The pause between two instances.
  'rolling-restart': [0, 500],
  // Longer than three times the ttl of all jobs.
  'store-long-freeze': [6_100, 6_800],
  'store-clock': [6_000, 9_000],
  'store-old-snapshot': [500, 6_000],
  // Longer than three times the ttl of the job whose tick it waits for.
  'lose-then-partition': [4_600, 5_500],
  'throwing-logger': [1_000, 5_000],
  // About the time after which a tick is overdue: some come back before that, and some after it.
  blackout: [4_000, 7_500],
  // Longer than a run that is in the way.
  'switch-pause': [6_000, 10_000],
  // Until the holder has noticed.
  'switch-break': [1_500, 2_500],
};

/** By how much the clock of the store is set forward or back, ms: more than any ttl, and than the intervals. */
const STEP = [2_500, 5_500] as const;

/** Faults that come a moment before a tick, with the job of that tick. */
const TICK_OF: Partial<Record<Fault, JobFacts>> = {
  'store-long-freeze': JOBS.firstTwin,
  'lose-then-partition': JOBS.firstTwin,
  blackout: JOBS.missed,
};

/** How long the ticks before it are spared, ms: nobody misses a job that has never run. */
const spared = (fault: Fault): number => (fault === 'blackout' ? JOBS.missed.every : 0);

/** Faults that may come in the midst of a volley: it is over so soon that they would seldom hit it by chance. */
const IN_VOLLEY: ReadonlySet<Fault> = new Set([
  'kill',
  'pause',
  'refuse',
  'black-hole',
  'lose-replies',
  'cut',
  'store-restart',
  'store-freeze',
]);

/** When, ms after its tick: some attempts are under way, or some of its jobs still run. */
const MIDST = [0, 150] as const;

/** Locks whose holder is aimed at: their jobs run long enough to be hit. */
const LOCKS = [
  ['long', 6],
  ['again', 5],
  ['shared', 2],
  ['interval', 1],
] as const;

/** A fault that waits for a tick may begin this much later than the next one, ms. */
const LEAD_OF_AIMED = 500;

/** The first fault, when all instances are up and have had a few ticks; nothing new begins in the last seconds. */
const FIRST = 4_000;
const LAST = 6_000;
/**
 * How long no instance is frozen or cut off around a data loss, or while leases expire early because the clock of the
 * store is set forward, ms. The limits for these cases only hold for instances that reach the store: any other would go
 * on to its deadline.
 */
const QUIET = 3_000;

/** Half of the kills come alone, ms: how long a take-over takes can be judged only if nothing else goes wrong. */
const CALM = 6_500;

const LOSSES: readonly string[] = ['store-wipe', 'store-flush', 'store-old-snapshot'];

/** Whether the store has forgotten something when it is over. */
export const isLoss = (fault: string): boolean => LOSSES.includes(fault);
const isQuiet = (fault: Fault): boolean => isLoss(fault) || fault === 'store-clock';
const isStoreFault = (fault: Fault): boolean => fault.startsWith('store-') || fault === 'forget-scripts';

const isWanted = (fault: Fault, only: readonly string[]): boolean =>
  only.length === 0 ? !ASKED_FOR.has(fault) : only.includes(fault);

/** Whether a person does it. */
export const isSwitch = (fault: string): fault is SwitchFault => fault.startsWith('switch-');

/** Makes a plan: always the same for the same options. */
export function makePlan({
  instances,
  seconds,
  seed,
  dataLoss,
  only,
  leftOut,
  volley = 0,
  callers = 0,
}: PlanOptions): Plan {
  const random = new Random(seed);
  const offsets = Array.from({ length: instances }, () => random.between(-MAX_OFFSET, MAX_OFFSET));
  let faults = WEIGHTS.filter(([fault]) => (dataLoss || !isLoss(fault)) && isWanted(fault, only));
  const injections: Injection[] = [];
  let at = FIRST;
  /** When all that was begun is over. */
  let over = FIRST;
  let aimedUntil = FIRST;
  for (let id = 1; faults.length > 0;) {
    // One fault for each tick: two would hit an instance each, and leave none to run it.
    const others = faults.filter(([one]) => TICK_OF[one] === undefined);
    const fault = random.pick(at < aimedUntil && others.length > 0 ? others : faults);
    const [least, most] = LASTS[fault];
    const lasts = random.between(least, most);
    const alone = random.next() < 0.5 && fault === 'kill';
    const forTwins = TICK_OF[fault] !== undefined;
    const waiting = waitOf(fault, volley > 0, random);
    const { waits } = waiting;
    if (forTwins) at = Math.max(at, aimedUntil) + spared(fault);
    if (isQuiet(fault)) at = Math.max(at, over + QUIET);
    if (alone) at = Math.max(at, over + CALM / 2);
    if (at + waits + lasts > seconds * 1_000 - LAST) {
      // Shorter faults may still fit.
      faults = faults.filter(([other]) => other !== fault);
      continue;
    }
    const target = {
      holderOf: random.pick(LOCKS),
      instance: random.between(0, instances - 1),
      delay: random.between(30, 400),
    };
    const aimed = random.next() < 0.7;
    const step = fault === 'store-clock' ? stepOf(random) : 0;
    if (leftOut?.has(fault) !== true)
      injections.push({
        id: id++,
        at,
        lasts,
        fault,
        ...targetOf(fault, target, aimed, waits),
        ...(step === 0 ? undefined : { ahead: step }),
        ...waiting.until,
      });
    const end = at + waits + (fault === 'rolling-restart' ? instances * (lasts + 2_000) : lasts);
    over = Math.max(over, end);
    if (forTwins) aimedUntil = at + waits + LEAD_OF_AIMED;
    const gap = random.between(600, 3_000);
    // Fencing tokens of a clock that is ahead are greater than those of an empty store, for as long as it was ahead.
    at = isQuiet(fault) ? end + QUIET + Math.abs(step) : at + (alone ? waits + CALM : gap);
  }
  // Drawn behind the rest, so that plans with and without a line are easy to compare.
  const aimed = callers > 0 ? injections.map((one) => ({ ...one, ...inLineOf(one, random) })) : injections;
  return { seed, seconds, offsets, injections: aimed };
}

/** Which tick a fault waits for, and how long that may take, ms. Plans without a volley draw nothing here. */
function waitOf(
  fault: Fault,
  volley: boolean,
  random: Random,
): { until?: Pick<Injection, 'tickOf' | 'after'>; waits: number } {
  if (volley && IN_VOLLEY.has(fault) && random.next() < 0.5)
    return { until: { tickOf: VOLLEY.job, after: random.between(...MIDST) }, waits: VOLLEY.every };
  const facts = TICK_OF[fault];
  return facts === undefined ? { waits: 0 } : { until: { tickOf: facts.job }, waits: facts.every };
}

/** Every second fault of an instance hits the line: its first call, or the holder that hands over. Some kills hit who works webhooks off. */
function inLineOf({ instance, fault }: Injection, random: Random): Partial<Injection> {
  const [inLine, whom] = [random.next() < 0.5, random.next()];
  if (!inLine || instance === undefined) return {};
  if (fault === 'kill' && whom >= 0.7) return { holderOf: HOOK.lock };
  return whom < 0.6 ? { headOf: LINE } : { holderOf: LINE };
}

/** By how far a clock is set, forward or back. */
function stepOf(random: Random): number {
  return random.between(...STEP) * (random.next() < 0.5 ? 1 : -1);
}

/** The parts of a target that this fault uses. All parts are drawn for every fault, so that plans are easy to compare. */
function targetOf(
  fault: Fault,
  { holderOf, instance, delay }: { holderOf: string; instance: number; delay: number },
  aimed: boolean,
  waits: number,
): Partial<Injection> {
  if (isStoreFault(fault) || fault === 'rolling-restart' || waits > 0) return {};
  const whom = aimed ? { holderOf, instance } : { instance };
  return fault === 'delay' ? { ...whom, delay } : whom;
}

/** One line for each injection, for people. */
export function planLines({ seed, seconds, offsets, injections }: Plan): string[] {
  const signed = (ms: number): string => `${ms >= 0 ? '+' : ''}${ms}`;
  return [
    `seed ${seed}, ${seconds} s, ${offsets.length} instances, clocks ahead by ${offsets.map(signed).join(', ')} ms`,
    ...injections.map(
      ({ at: begins, fault, lasts, holderOf, headOf, instance, delay, ahead, tickOf, after }) => {
        const number = instance === undefined ? '' : ` instance-${instance + 1}`;
        const aimedAt = headOf === undefined ? `holder of ${holderOf}` : `first in line for ${headOf}`;
        const whom = (headOf ?? holderOf) === undefined ? number : ` the ${aimedAt}, or${number}`;
        const late = delay === undefined ? '' : ` by ${delay} ms`;
        const off = ahead === undefined ? '' : ` ahead by ${signed(ahead)} ms`;
        const at = after === undefined ? 'at' : `${after} ms after`;
        const when = tickOf === undefined ? '' : ` ${at} the next tick of ${tickOf}`;
        const long = lasts > 0 ? ` for ${lasts} ms` : '';
        return `${(begins / 1_000).toFixed(1).padStart(6)} s  ${fault}${late}${off}${whom}${when}${long}`;
      },
    ),
  ];
}
