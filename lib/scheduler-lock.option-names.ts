import type { LeaderOptions } from './scheduler-lock.leader-election.js';
import type {
  LockOptions,
  RunOptions,
  SchedulerLockModuleOptions,
  SchedulerLockOptions,
} from './scheduler-lock.options.js';

type NamesOf<T> = Readonly<Record<keyof T, true>>;

const FOR_RUNS = {
  ttl: true,
  heartbeat: true,
  timeout: true,
  atLeast: true,
  enabled: true,
  onStoreError: true,
  maxClockSkew: true,
} as const;
const FOR_LOCKS: NamesOf<LockOptions> = {
  ...FOR_RUNS,
  onSkip: true,
  oncePerTick: true,
  rerun: true,
  catchUp: true,
};

/** What each set of options may hold. The compiler sees to it that none is missing. */
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
    ...FOR_LOCKS,
  } satisfies NamesOf<SchedulerLockModuleOptions>,
  decorator: { name: true, job: true, ...FOR_LOCKS } satisfies NamesOf<SchedulerLockOptions>,
  run: { job: true, tick: true, ...FOR_RUNS } satisfies NamesOf<RunOptions>,
  leader: { name: true, ttl: true } satisfies NamesOf<LeaderOptions>,
};

/**
 * What of `given` is no option at all: a misspelt one would silently mean its default. The compiler finds such only in
 * literals.
 *
 * @returns one sentence each
 */
export function unknownOptions(given: object, names: Readonly<Record<string, true>>): string[] {
  const unknown = Object.keys(given).filter(
    (name) => !Object.hasOwn(names, name) && Reflect.get(given, name) !== undefined,
  );
  return unknown.map(
    (name) => `${name}: there is no such option here. There are ${Object.keys(names).join(', ')}.`,
  );
}
