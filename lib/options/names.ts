import type { CronJobOptions, IntervalJobOptions } from './job-options.js';
import type {
  LeaderOptions,
  LockOptions,
  RunOptions,
  SchedulerLockModuleOptions,
  SchedulerLockOptions,
} from './options.js';
import { nearest } from '../wording.js';

type NamesOf<T> = Readonly<Record<keyof T, true>>;

const FOR_RUNS = {
  ttl: true,
  heartbeat: true,
  timeout: true,
  atLeast: true,
  enabled: true,
  onStoreError: true,
  maxClockSkew: true,
  abortOnShutdown: true,
} as const;
const FOR_INTERVALS = {
  job: true,
  lock: true,
  ttl: true,
  heartbeat: true,
  timeout: true,
  atLeast: true,
  enabled: true,
  onStoreError: true,
  abortOnShutdown: true,
  oncePerTick: true,
} as const satisfies NamesOf<IntervalJobOptions>;
const FOR_LOCKS: NamesOf<LockOptions> = {
  ...FOR_RUNS,
  onSkip: true,
  oncePerTick: true,
  rerun: true,
  catchUp: true,
};

/** The names of each set of options. The compiler checks that none is missing. */
export const OPTION_NAMES = {
  module: {
    connection: true,
    store: true,
    keyPrefix: true,
    key: true,
    instanceId: true,
    storeTimeout: true,
    shutdownTimeout: true,
    leader: true,
    log: true,
    clock: true,
    ...FOR_LOCKS,
  } satisfies NamesOf<SchedulerLockModuleOptions>,
  decorator: { name: true, job: true, ...FOR_LOCKS } satisfies NamesOf<SchedulerLockOptions>,
  run: { job: true, tick: true, ...FOR_RUNS } satisfies NamesOf<RunOptions>,
  cron: {
    timeZone: true,
    utcOffset: true,
    unrefTimeout: true,
    waitForCompletion: true,
    disabled: true,
    threshold: true,
    initialDelay: true,
    rerun: true,
    catchUp: true,
    maxClockSkew: true,
    ...FOR_INTERVALS,
  } satisfies NamesOf<CronJobOptions>,
  interval: FOR_INTERVALS,
  leader: { name: true, ttl: true } satisfies NamesOf<LeaderOptions>,
};

/** What to do instead, by the set of options and the given name. */
const INSTEAD: Partial<Record<OptionSet, Readonly<Record<string, string>>>> = {
  run: {
    onSkip:
      'run() does not throw if it is skipped: look at `ran` of its result. acquire() always throws then.',
    name: 'The name of the lock is the first argument.',
    oncePerTick: 'A call by hand has no tick but the one that `tick` gives it.',
    rerun: 'Only jobs that the scheduler fires are run again: see @SchedulerLock() and cron().',
    catchUp: 'Only jobs that the scheduler fires catch up: see @SchedulerLock() and cron().',
  },
};

/** ShedLock's names for our options. */
const OTHER_NAMES: Readonly<Record<string, string>> = { lockAtMostFor: 'ttl', lockAtLeastFor: 'atLeast' };

type OptionSet = keyof typeof OPTION_NAMES;

/**
 * Names in `given` that are no options: a misspelt option would silently have its default. The compiler finds these
 * only in object literals.
 *
 * @param but names of the set that are not allowed here
 * @returns one sentence each
 */
export function unknownOptions(given: object, set: OptionSet, but: readonly string[] = []): string[] {
  const names = Object.keys(OPTION_NAMES[set]).filter((name) => !but.includes(name));
  const unknown = Object.keys(given).filter(
    (name) => !names.includes(name) && Reflect.get(given, name) !== undefined,
  );
  return unknown.map((name) => `${name}: there is no such option here. ${advice(name, set, names)}`);
}

function advice(given: string, set: OptionSet, names: readonly string[]): string {
  const instead = INSTEAD[set];
  if (instead !== undefined && Object.hasOwn(instead, given)) return String(instead[given]);
  if (Object.hasOwn(OPTION_NAMES.module, given))
    return 'It is one of the module: give it to SchedulerLockModule.forRoot().';
  const other = Object.hasOwn(OTHER_NAMES, given) ? OTHER_NAMES[given] : nearest(given, names);
  if (other !== undefined && names.includes(other)) return `Did you mean \`${other}\`?`;
  return `There are ${names.join(', ')}.`;
}
