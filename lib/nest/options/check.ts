import { newId } from '../../base/shared.js';
import { hostname } from 'node:os';
import { type Clock, systemClock } from '../../base/clock.js';
import { formatDuration } from '../../base/duration.js';
import type { LockSettings } from '../../lock/lock-call.js';
import { nameProblem } from '../../base/lock-name.js';
import { type LockStore, undeclared } from '../../contract/lock-store.js';
import { connectionProblem } from '../../stores/redis/connection-options.js';
import { keyProblems } from '../../stores/redis/keys.js';
import { show } from '../../base/wording.js';
import { type InsightSettings, readInsight } from './parts.js';
import type { LeaderElectionOptions, LeaderOptions, SchedulerLockModuleOptions } from './module-options.js';
import type { LockOptions, OnSkip } from './lock-options.js';
import type { OnHeld, SchedulerLockOptions } from './options.js';
import { OPTIONS, readOption, readOptions, unknownOptions } from './table.js';
import { invalidNames, missingMethods } from './values.js';

/** Options of the module, checked and complete. */
export interface ModuleSettings {
  readonly instanceId: string;
  readonly storeTimeout: number;
  readonly shutdownTimeout: number;
  /** The options as they were given: those of the store, and those for all locks. */
  readonly given: SchedulerLockModuleOptions;
  /** The types of events to log; `undefined`: the default. */
  readonly log: ReadonlySet<string> | undefined;
  readonly clock: Clock;
  /** The election that decides which instance runs the scheduled jobs. */
  readonly leader: ElectionSettings | undefined;
  /**
   * Whether the user set `storeTimeout`. Then a value over a third of the ttl is an error; otherwise it is
   * adapted to a short ttl.
   */
  readonly strictStoreTimeout: boolean;
  /** How runs are remembered; `undefined`: not at all. */
  readonly insight: InsightSettings | undefined;
}

/** Name of an election and of its lock, and how that lock is taken. */
interface ElectionSettings {
  readonly name: string;
  readonly lock: LockSettings;
}

/** Options of one lock, checked and complete. */
export interface JobSettings extends LockSettings {
  /** How long after its tick a run that nobody has started counts as overdue, ms; `false`: never. */
  readonly overdue: number | false;
  readonly onSkip: OnSkip;
  readonly onHeld: OnHeld;
  readonly rerun: number;
  readonly catchUp: number | false;
  readonly oncePerTick: boolean;
}

/** A result with the problems of its input: one sentence each, naming option and value. */
export interface Checked<T> {
  readonly settings: T;
  readonly problems: readonly string[];
}

/** Marks each problem as one of the module's own options. */
export const ofModule = (problems: readonly string[]): string[] =>
  problems.map((problem) => `SchedulerLockModule: ${problem}`);

/**
 * Reads and checks the options of the module. Replaces bad values by their defaults, so that all problems are
 * found at once.
 */
export function checkModuleOptions(
  given: unknown,
  environment = process.env['NODE_ENV'],
): Checked<ModuleSettings> {
  const isObject = typeof given === 'object' && given !== null;
  const options = (isObject ? given : {}) as SchedulerLockModuleOptions;
  const { instanceId = defaultInstanceId(), leader, key, keyPrefix } = options;
  const problems = isObject
    ? [
        ...unknownOptions(options, 'module'),
        ...storeProblems(options, environment),
        ...keyProblems({ key, keyPrefix }),
      ]
    : [
        `the factory of forRootAsync() returned ${show(given)}. Return the options, such as { connection: 'redis://localhost:6379' }.`,
      ];
  problems.push(...leaderProblems(leader), ...invalidNames({ instanceId }));
  const settings: ModuleSettings = {
    instanceId,
    storeTimeout: readOption('storeTimeout', options.storeTimeout, problems),
    shutdownTimeout: readOption('shutdownTimeout', options.shutdownTimeout, problems),
    log: readOption('log', options.log, problems),
    clock: readOption('clock', options.clock, problems) ?? systemClock,
    strictStoreTimeout: options.storeTimeout !== undefined,
    leader: undefined,
    insight: readInsight(options.insight, problems),
    given: options,
  };
  problems.push(...checkLockOptions({}, settings).problems);
  if (typeof leader !== 'object' || leader === null) return { settings, problems };
  const election = checkElection(leader.name ?? SOME_NAME, leader, settings);
  problems.push(...election.problems.map((problem) => `leader: ${problem}`));
  return { settings: { ...settings, leader: election.settings }, problems };
}

/** Reads and checks an election. Without a valid name it has no settings. */
export function checkElection(
  name: unknown,
  options: LeaderElectionOptions,
  module: ModuleSettings,
): Checked<ElectionSettings | undefined> {
  if (typeof options !== 'object' || options === null) {
    return { settings: undefined, problems: [`${String(options)} are no options. Give { ttl }.`] };
  }
  const { enabled, ttl } = module.given;
  const { settings, problems } = checkLockOptions(
    { ttl: options.ttl },
    { ...module, given: { enabled, ttl } },
  );
  return {
    settings: nameProblem(name) === undefined ? { name: String(name), lock: settings } : undefined,
    // Problems of the module's own options are reported elsewhere.
    problems: [...(options.ttl === undefined ? [] : problems), ...invalidNames({ name })],
  };
}

/**
 * Reads and checks the options of one lock, on top of the module's.
 *
 * @param name of a lock that belongs to a job
 */
export function checkLockOptions(
  given: LockOptions & Pick<SchedulerLockOptions, 'history' | 'onHeld'>,
  module: ModuleSettings,
  name?: unknown,
): Checked<JobSettings> {
  const problems: string[] = [];
  const pick = (option: keyof LockOptions): unknown =>
    given[option] === undefined ? module.given[option] : given[option];
  const { history = typeof name === 'string', ...values } = readOptions(
    'decorator',
    (option) => (option === 'history' || option === 'onHeld' ? given[option] : pick(option)),
    problems,
  );
  const { ttl } = values;
  const settings: JobSettings = {
    ...values,
    atLeast: values.atLeast ?? 0,
    heartbeat: values.heartbeat ?? Math.max(1, Math.floor(ttl * OPTIONS.heartbeat.ofTtl)),
    storeTimeout: Math.min(module.storeTimeout, Math.floor(ttl / 3)),
    // An instance that is switched off stays off, whatever the options of its jobs say.
    enabled: values.enabled && module.given.enabled !== false,
    ...(history && { history }),
  };
  return { settings, problems: [...problems, ...contradictions(settings, module, pick)] };
}

/** Options that are right by themselves and wrong together. */
function contradictions(
  { ttl, heartbeat, timeout, atLeast }: LockSettings,
  { storeTimeout, strictStoreTimeout }: ModuleSettings,
  given: (option: 'heartbeat' | 'timeout' | 'atLeast') => unknown,
): string[] {
  const problems: string[] = [];
  const most = (): string => `${formatDuration(Math.floor(ttl / 3))}, or a longer ttl.`;
  if (atLeast > ttl) {
    problems.push(
      `atLeast: ${show(given('atLeast'))} is longer than the ttl of ${formatDuration(ttl)}. Give a longer ttl.`,
    );
  }
  if (heartbeat === false && timeout !== undefined && timeout >= ttl) {
    problems.push(
      `timeout: ${show(given('timeout'))} with heartbeat: false. The lease ends after its ttl of ${formatDuration(ttl)}, before the timeout. ` +
        'Give a shorter timeout, a longer ttl, or a heartbeat.',
    );
  }
  if (heartbeat !== false && heartbeat > ttl / 3) {
    problems.push(
      `heartbeat: ${show(given('heartbeat'))} is longer than a third of the ttl of ${formatDuration(ttl)}. Two more tries must fit in before the lease expires: give at most ${most()}`,
    );
  }
  if (strictStoreTimeout && storeTimeout > ttl / 3) {
    problems.push(
      `storeTimeout: ${formatDuration(storeTimeout)} is longer than a third of the ttl of ${formatDuration(ttl)}. Give at most ${most()}`,
    );
  }
  return problems;
}

/**
 * Options that were given to one job and do nothing. Those of the module have an effect if a job has others of its own.
 *
 * @param settings all that holds for the job
 */
export function withoutEffect(
  { priority, rerun, catchUp }: Pick<LockOptions, 'priority' | 'rerun' | 'catchUp'>,
  { wait = 0, oncePerTick }: JobSettings,
): string[] {
  const problems: string[] = [];
  if (priority !== undefined && priority !== 0 && wait === 0) {
    problems.push(
      `priority: ${show(priority)} has no effect without wait: it is a place in line. Give \`wait\` as well, or leave it out.`,
    );
  }
  if (oncePerTick) return problems;
  for (const [option, given] of Object.entries({ rerun, catchUp })) {
    if (given === undefined || given === 0 || given === false) continue;
    problems.push(
      `${option}: ${show(given)} has no effect with oncePerTick: false: nobody knows then which ticks have run. Leave one of them out.`,
    );
  }
  return problems;
}

function storeProblems(options: SchedulerLockModuleOptions, environment: string | undefined): string[] {
  const { connection, store } = options;
  if (connection !== undefined && store !== undefined) {
    return ['connection and store are both given. Give one: a connection for Redis, or a store.'];
  }
  if (connection !== undefined) return [connectionProblem(connection) ?? []].flat();
  if (store !== undefined) return store === 'memory' ? [] : otherStore(store, options);
  const isUndefined = 'connection' in options;
  if (!isUndefined && environment !== 'production') return [];
  const why = isUndefined
    ? 'it is undefined. Perhaps a variable of the environment is not set'
    : 'none is given, and NODE_ENV is production';
  return [
    `connection: ${why}. Give the URL of your Redis, or, for a single instance that needs to exclude nobody but itself, ` +
      "store: 'memory'.",
  ];
}

function otherStore(store: unknown, options: SchedulerLockModuleOptions): string[] {
  const unused = (['key', 'keyPrefix'] as const).filter((option) => options[option] !== undefined);
  if (unused.length > 0) {
    return unused.map(
      (option) =>
        `${option}: it goes with connection, and has no effect on a store. Leave it out; for Redis, give it to the store itself: new RedisLockStore(connection, { ${option} }).`,
    );
  }
  const missing = missingMethods(store, ['acquire', 'extend', 'release', 'inspect', 'hints']);
  return missing === ''
    ? undeclared(store as LockStore, show(store))
    : [
        `store: ${show(store)} is no LockStore: it has no ${missing}. ` +
          "Give a store such as new PostgresLockStore(pool), or 'memory'; for Redis give connection instead.",
      ];
}

/** For an example. */
const SOME_NAME = 'scheduler';

function leaderProblems(leader: unknown): string[] {
  if (leader === undefined) return [];
  const give = (name: string): string => `Give the name of the election: leader: { name: '${name}' }.`;
  if (typeof leader !== 'object' || leader === null) {
    const isName = typeof leader === 'string' && nameProblem(leader) === undefined;
    return [`leader: ${show(leader)} is not an object. ${give(isName ? leader : SOME_NAME)}`];
  }
  const problems = unknownOptions(leader, 'leader').map((problem) => `leader.${problem}`);
  return (leader as Partial<LeaderOptions>).name === undefined
    ? [`leader: it has no name. ${give(SOME_NAME)}`, ...problems]
    : problems;
}

function defaultInstanceId(): string {
  return `${hostname().slice(0, 150)}:${process.pid}:${newId().slice(0, 8)}`;
}
