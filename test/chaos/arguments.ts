import { FAULTS } from './plan.js';
import { assertStore } from './stores/store.js';

export interface ChaosArguments {
  readonly instances: number;
  readonly seconds: number;
  readonly seed: number;
  readonly store: string;
  /** How many short jobs fire at the same second, besides the usual ones. */
  readonly volley: number;
  /** How many calls of each instance stand in line at the same time. */
  readonly callers: number;
  /** How long the way to the store and back takes, ms, besides the faults. */
  readonly roundTrip: number;
  /** Whether the store may forget everything. */
  readonly dataLoss: boolean;
  /** Only these faults; all, if there are none. */
  readonly only: readonly string[];
  /** Shows the plan and does nothing. */
  readonly planOnly: boolean;
  /** Breaks the library in this way, to see that it is caught: see sabotage.ts. */
  readonly sabotage: string;
  /** Ends as soon as this check has failed. */
  readonly until: string;
  /** An empty folder for the history, which then stays. By default a temporary one, which stays if a check fails. */
  readonly history: string;
}

const VALUES = [
  '--instances',
  '--seconds',
  '--seed',
  '--store',
  '--volley',
  '--callers',
  '--round-trip',
  '--only',
  '--sabotage',
  '--until',
  '--history',
];

const USAGE =
  'Known: --instances <n>, --seconds <n>, --seed <n>, --store <name>, --volley <jobs>, --callers <n>, --round-trip <ms>, --no-data-loss, --only <fault,…>, --plan, ' +
  '--sabotage <name>, --until <check>, --history <folder>';

/**
 * `--instances 5 --seconds 120 --seed 42`, in any order, also as `--seed=42`. Without a seed a new one is drawn.
 *
 * @throws for anything else
 */
export function parseArguments(args: readonly string[]): ChaosArguments {
  const left = args.flatMap((arg) => (arg.startsWith('--') ? arg.split('=') : [arg]));
  const values = new Map<string, string>();
  const flags = new Set<string>();
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    if (arg === '--no-data-loss' || arg === '--plan') flags.add(arg);
    else if (VALUES.includes(arg)) {
      const value = left.shift();
      if (value === undefined) throw new Error(`${arg}: give a value. ${USAGE}`);
      values.set(arg, value);
    } else throw new Error(`Unknown argument ${arg}. ${USAGE}`);
  }
  const number = (name: string, least: number, otherwise: number): number => {
    const value = Number(values.get(name) ?? otherwise);
    if (!Number.isSafeInteger(value) || value < least)
      throw new Error(`${name}: give a whole number, ${least} or more`);
    return value;
  };
  const store = values.get('--store') ?? 'redis';
  assertStore(store);
  const only = values.get('--only')?.split(',') ?? [];
  const unknown = only.filter((fault) => !FAULTS.includes(fault));
  if (unknown.length > 0)
    throw new Error(`--only ${unknown.join(',')}: there is no such fault. There are: ${FAULTS.join(', ')}`);
  return {
    instances: number('--instances', 1, 5),
    seconds: number('--seconds', 10, 60),
    seed: number('--seed', 0, Math.floor(Math.random() * 1_000_000)),
    store,
    volley: number('--volley', 0, 0),
    callers: number('--callers', 0, 0),
    roundTrip: number('--round-trip', 0, 0),
    dataLoss: !flags.has('--no-data-loss'),
    only,
    planOnly: flags.has('--plan'),
    sabotage: values.get('--sabotage') ?? '',
    until: values.get('--until') ?? '',
    history: values.get('--history') ?? '',
  };
}
