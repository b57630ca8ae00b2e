import { newId } from '../../base/shared.js';
import { hostname } from 'node:os';
import { type Clock, systemClock } from '../../base/clock.js';
import { formatDuration } from '../../base/duration.js';
import type { Retry } from '../../base/job-start.js';
import type { LockSettings } from '../../lock/lock-call.js';
import { readExpect } from '../../lock/report.js';
import { nameProblem } from '../../base/lock-name.js';
import { type LockStore, undeclared } from '../../contract/lock-store.js';
import { connectionProblem } from '../../stores/redis/connection-options.js';
import type { Spread } from '../../schedule/spread.js';
import { keyProblems } from '../../stores/redis/keys.js';
import { show } from '../../base/wording.js';
import { type InsightSettings, readInsight, readRetry, readSpread } from './parts.js';
import type { LeaderElectionOptions, SchedulerLockModuleOptions } from './module-options.js';
import type { LockOptions, OnSkip } from './lock-options.js';
import type { OnHeld, SchedulerLockOptions } from './options.js';
import { OPTION_NAMES, OPTIONS, readOption, readOptions, unknownOptions } from './table.js';
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
  readonly retry: Retry | undefined;
  readonly spread: Spread | undefined;
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
  problems.push(...invalidNames({ instanceId }));
  const settings: ModuleSettings = {
    instanceId,
    storeTimeout: readOption('storeTimeout', options.storeTimeout, problems),
    shutdownTimeout: readOption('shutdownTimeout', options.shutdownTimeout, problems),
    log: readOption('log', options.log, problems),
    clock: readOption('clock', options.clock, problems) ?? systemClock,
    leader: undefined,
    insight: readInsight(options.insight, problems),
    given: options,
  };
  problems.push(...checkLockOptions({}, settings).problems);
  if (leader === undefined) return { settings, problems };
  const election = checkElection('leader', leader?.name, leader, settings);
  problems.push(...election.problems.map((problem) => `leader: ${problem}`));
  return { settings: { ...settings, leader: election.settings }, problems };
}

/** Reads and checks an election, of `forRoot({ leader })` or of `@LeaderElection()`. Without a valid name it has no settings. */
export function checkElection(
  scope: 'leader' | 'election',
  name: unknown,
  options: LeaderElectionOptions,
  module: ModuleSettings,
): Checked<ElectionSettings | undefined> {
  if (typeof options !== 'object' || options === null)
    return {
      settings: undefined,
      problems: [`${show(options)} is no object. Give { ${OPTION_NAMES[scope].join(', ')} }.`],
    };
  const { enabled, ttl, storeTimeout } = module.given;
  const given = { ...module, given: { enabled, ttl, storeTimeout } };
  const { settings, problems } = checkLockOptions({ ttl: options.ttl }, given);
  const isNamed = nameProblem(name) === undefined;
  return {
    settings: isNamed ? { name: String(name), lock: settings } : undefined,
    problems: [
      ...unknownOptions(options, scope),
      // Problems of the module's own options are reported elsewhere.
      ...(options.ttl === undefined ? [] : problems),
      ...(isNamed || name !== undefined
        ? invalidNames({ name })
        : ["it has no name. Give one, such as name: 'scheduler'."]),
    ],
  };
}

/** Reads and checks the options of one lock, on top of the module's. @param name of a lock that belongs to a job */
export function checkLockOptions(
  given: LockOptions & Pick<SchedulerLockOptions, 'history' | 'onHeld' | 'retry' | 'expect'>,
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
    retry: readRetry(given.retry, problems),
    shortfall: readExpect(given.expect, problems),
    spread: readSpread(pick('spread'), problems),
    atLeast: values.atLeast ?? 0,
    heartbeat: values.heartbeat ?? Math.max(1, Math.floor(ttl * OPTIONS.heartbeat.ofTtl)),
    storeTimeout: Math.min(module.storeTimeout, Math.floor(ttl / 3)),
    // An instance that is switched off stays off, whatever the options of its jobs say.
    enabled: values.enabled && module.given.enabled !== false,
    ...(history && { history }),
  };
  return { settings, problems: [...problems, ...contradictions(settings, module, pick)] };
}

/** The sentences of the rules that are broken. */
const broken = (rules: readonly (readonly [isBroken: boolean, problem: string])[]): string[] =>
  rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem);

/** Options that are right by themselves and wrong together. @param given the values as they were given */
function contradictions(
  { ttl, heartbeat, timeout = 0, atLeast }: LockSettings,
  { storeTimeout, given: { storeTimeout: isStrict } }: ModuleSettings,
  given: (option: 'heartbeat' | 'timeout' | 'atLeast') => unknown,
): string[] {
  const of = `the ttl of ${formatDuration(ttl)}`;
  const most = `${formatDuration(Math.floor(ttl / 3))}, or a longer ttl.`;
  return broken([
    [atLeast > ttl, `atLeast: ${show(given('atLeast'))} is longer than ${of}. Give a longer ttl.`],
    [
      heartbeat === false && timeout >= ttl,
      `timeout: ${show(given('timeout'))} with heartbeat: false. The lease ends after its ${of.slice(4)}, before the timeout. ` +
        'Give a shorter timeout, a longer ttl, or a heartbeat.',
    ],
    [
      heartbeat !== false && heartbeat > ttl / 3,
      `heartbeat: ${show(given('heartbeat'))} is longer than a third of ${of}. Two more tries must fit in before the lease expires: give at most ${most}`,
    ],
    [
      // One that was not given is adapted to a short ttl.
      isStrict !== undefined && storeTimeout > ttl / 3,
      `storeTimeout: ${formatDuration(storeTimeout)} is longer than a third of ${of}. Give at most ${most}`,
    ],
  ]);
}

/** Options that were given to one job and do nothing. Those of the module have an effect if a job has others of its own. */
export function withoutEffect(
  {
    priority = 0,
    rerun,
    retry,
    catchUp,
  }: Pick<SchedulerLockOptions, 'priority' | 'rerun' | 'retry' | 'catchUp'>,
  { wait = 0, oncePerTick }: JobSettings,
): string[] {
  const unticked =
    'has no effect with oncePerTick: false: nobody knows then which ticks have run. Leave one of them out.';
  return broken([
    [
      priority !== 0 && wait === 0,
      `priority: ${show(priority)} has no effect without wait: it is a place in line. Give \`wait\` as well, or leave it out.`,
    ],
    [!oncePerTick && Boolean(rerun), `rerun: ${show(rerun)} ${unticked}`],
    [!oncePerTick && retry !== undefined, `retry: it ${unticked}`],
    [!oncePerTick && Boolean(catchUp), `catchUp: ${show(catchUp)} ${unticked}`],
  ]);
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

function defaultInstanceId(): string {
  return `${hostname().slice(0, 150)}:${process.pid}:${newId().slice(0, 8)}`;
}
