import { MAX_OFFSET } from './jobs.js';
import { Random } from './random.js';

/** What is done to an instance. Its network is the proxy before it. */
export type InstanceFault = 'kill' | 'pause' | 'refuse' | 'black-hole' | 'lose-replies' | 'delay' | 'cut';
/** What is done to the store; the last two make it forget everything. */
export type StoreFault = 'store-restart' | 'store-freeze' | 'forget-scripts' | 'store-wipe' | 'store-flush';

/** One injection. */
export interface Injection {
  readonly id: number;
  /** Milliseconds from the beginning. */
  readonly at: number;
  /** How long it lasts, ms. A killed instance is started again after it. */
  readonly lasts: number;
  readonly fault: InstanceFault | StoreFault | 'rolling-restart';
  /** Whom: who holds this lock at that moment, or, if nobody does or it is in trouble already, the one of this number. */
  readonly holderOf?: string;
  readonly instance?: number;
  /** By how much everything is late, ms, for `delay`. */
  readonly delay?: number;
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
];

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
};

/** Whose holder is aimed at: those that run for long enough to be hit. */
const LOCKS = [
  ['long', 6],
  ['again', 5],
  ['shared', 2],
  ['interval', 1],
] as const;

/** The first fault, when all instances are up and have had a few ticks; nothing new begins in the last seconds. */
const FIRST = 4_000;
const LAST = 6_000;
/**
 * Around a data loss nobody is frozen or cut off, ms: what it may cost is promised to instances that reach the store,
 * and an instance that does not would go on to its deadline.
 */
const QUIET = 3_000;

/** Half of the kills come alone, ms: how long a take-over takes can be judged only if nothing else goes wrong. */
const CALM = 6_500;

const isLoss = (fault: Fault): boolean => fault === 'store-wipe' || fault === 'store-flush';
const isStoreFault = (fault: Fault): boolean => fault.startsWith('store-') || fault === 'forget-scripts';

/** The same for the same options, always. */
export function makePlan({ instances, seconds, seed, dataLoss, only }: PlanOptions): Plan {
  const random = new Random(seed);
  const offsets = Array.from({ length: instances }, () => random.between(-MAX_OFFSET, MAX_OFFSET));
  const faults = WEIGHTS.filter(
    ([fault]) => (dataLoss || !isLoss(fault)) && (only.length === 0 || only.includes(fault)),
  );
  const injections: Injection[] = [];
  let at = FIRST;
  /** When all that was begun is over. */
  let over = FIRST;
  for (let id = 1; faults.length > 0; id++) {
    const fault = random.pick(faults);
    const [least, most] = LASTS[fault];
    const lasts = random.between(least, most);
    const alone = random.next() < 0.5 && fault === 'kill';
    if (isLoss(fault)) at = Math.max(at, over + QUIET);
    if (alone) at = Math.max(at, over + CALM / 2);
    if (at + lasts > seconds * 1_000 - LAST) break;
    const target = {
      holderOf: random.pick(LOCKS),
      instance: random.between(0, instances - 1),
      delay: random.between(30, 400),
    };
    injections.push({ id, at, lasts, fault, ...targetOf(fault, target, random.next() < 0.7) });
    const end = at + (fault === 'rolling-restart' ? instances * (lasts + 2_000) : lasts);
    over = Math.max(over, end);
    const gap = random.between(600, 3_000);
    at = isLoss(fault) ? end + QUIET : at + (alone ? CALM : gap);
  }
  return { seed, seconds, offsets, injections };
}

/** What of a target means something to this fault. All of it is drawn for all, so that plans are easy to compare. */
function targetOf(
  fault: Fault,
  { holderOf, instance, delay }: { holderOf: string; instance: number; delay: number },
  aimed: boolean,
): Partial<Injection> {
  if (isStoreFault(fault) || fault === 'rolling-restart') return {};
  const whom = aimed ? { holderOf, instance } : { instance };
  return fault === 'delay' ? { ...whom, delay } : whom;
}

/** One line for each injection, for people. */
export function planLines({ seed, seconds, offsets, injections }: Plan): string[] {
  const signed = (ms: number): string => `${ms >= 0 ? '+' : ''}${ms}`;
  return [
    `seed ${seed}, ${seconds} s, ${offsets.length} instances, clocks ahead by ${offsets.map(signed).join(', ')} ms`,
    ...injections.map(({ at, fault, lasts, holderOf, instance, delay }) => {
      const number = instance === undefined ? '' : ` instance-${instance + 1}`;
      const whom = holderOf === undefined ? number : ` the holder of ${holderOf}, or${number}`;
      const late = delay === undefined ? '' : ` by ${delay} ms`;
      return `${(at / 1_000).toFixed(1).padStart(6)} s  ${fault}${late}${whom}${lasts > 0 ? ` for ${lasts} ms` : ''}`;
    }),
  ];
}
