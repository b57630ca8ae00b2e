import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../clock.js';
import { formatDuration } from '../duration.js';
import type { LockSettings } from '../lease/lock-call.js';
import { nameProblem } from '../lock-name.js';
import { unknownOptions } from './names.js';
import {
  invalidNames,
  MAX_TTL,
  readBoolean,
  readChoice,
  readClock,
  readCount,
  readDuration,
  readLog,
} from './values.js';
import { show } from '../wording.js';
import {
  DEFAULTS,
  type LeaderElectionOptions,
  type LockOptions,
  type OnSkip,
  type SchedulerLockModuleOptions,
} from './options.js';
import type { LockStore } from '../stores/lock-store.js';
import { connectionProblem } from '../stores/redis/connection-options.js';
import { keyProblems } from '../stores/redis/keys.js';

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
}

/** Name of an election and of its lock, and how that lock is taken. */
export interface ElectionSettings {
  readonly name: string;
  readonly lock: LockSettings;
}

/** Options of one lock, checked and complete. */
export interface JobSettings extends LockSettings {
  readonly onSkip: OnSkip;
  readonly maxClockSkew: number;
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

const inLeader = (problem: string): string => `leader.${problem}`;

const MIN_TTL = 100;

/**
 * Reads and checks the options of the module. Replaces bad values by their defaults, so that all problems are
 * found at once.
 */
export function checkModuleOptions(
  given: unknown,
  environment = process.env['NODE_ENV'],
): Checked<ModuleSettings> {
  const problems: string[] = [];
  if (typeof given !== 'object' || given === null) {
    problems.push(
      `the factory of forRootAsync() returned ${show(given)}. Return the options, such as { connection: 'redis://localhost:6379' }.`,
    );
  }
  const options = (typeof given === 'object' && given !== null ? given : {}) as SchedulerLockModuleOptions;
  const { instanceId, key, keyPrefix } = options;
  if (problems.length === 0) {
    problems.push(...unknownOptions(options, 'module'), ...storeProblems(options, environment));
    problems.push(...keyProblems({ key, keyPrefix }));
  }
  const leaderProblem = notAnElection(options.leader);
  if (leaderProblem !== undefined) problems.push(leaderProblem);
  else problems.push(...unknownOptions(Object(options.leader) as object, 'leader').map(inLeader));
  const idProblem = instanceId === undefined ? undefined : nameProblem(instanceId);
  if (idProblem !== undefined) problems.push(`instanceId: ${show(instanceId)} is not valid: ${idProblem}.`);
  const { shutdownTimeout } = options;
  const settings: ModuleSettings = {
    instanceId: idProblem === undefined && instanceId !== undefined ? instanceId : defaultInstanceId(),
    storeTimeout: readDuration('storeTimeout', options.storeTimeout, problems) ?? DEFAULTS.storeTimeout,
    shutdownTimeout:
      shutdownTimeout === 0
        ? 0
        : (readDuration('shutdownTimeout', shutdownTimeout, problems) ?? DEFAULTS.shutdownTimeout),
    log: readLog(options.log, problems),
    clock: readClock(options.clock, problems),
    strictStoreTimeout: options.storeTimeout !== undefined,
    leader: undefined,
    given: options,
  };
  problems.push(...checkLockOptions({}, settings).problems);
  if (options.leader === undefined || leaderProblem !== undefined) return { settings, problems };
  const leader = checkElection(options.leader.name, options.leader, settings);
  problems.push(...leader.problems.map((problem) => `leader: ${problem}`));
  return { settings: { ...settings, leader: leader.settings }, problems };
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

/** Reads and checks the options of one lock, on top of the module's. */
export function checkLockOptions(given: LockOptions, module: ModuleSettings): Checked<JobSettings> {
  const problems: string[] = [];
  const pick = <K extends keyof LockOptions>(option: K): LockOptions[K] =>
    given[option] === undefined ? module.given[option] : given[option];
  const duration = (option: 'ttl' | 'timeout' | 'atLeast' | 'maxClockSkew'): number | undefined =>
    readDuration(option, pick(option), problems);

  let ttl: number = duration('ttl') ?? DEFAULTS.ttl;
  if (ttl < MIN_TTL || ttl > MAX_TTL) {
    problems.push(`ttl: ${show(pick('ttl'))} is out of range. Give 100 ms to 30 days.`);
    ttl = DEFAULTS.ttl;
  }
  const timeout = duration('timeout');
  const atLeast = duration('atLeast') ?? 0;
  if (atLeast > ttl) {
    problems.push(
      `atLeast: ${show(pick('atLeast'))} is longer than the ttl of ${formatDuration(ttl)}. Give a longer ttl.`,
    );
  }
  const heartbeatOption = pick('heartbeat');
  const heartbeat =
    heartbeatOption === false
      ? false
      : (readDuration('heartbeat', heartbeatOption, problems) ??
        Math.max(1, Math.floor(ttl * DEFAULTS.heartbeat)));
  if (heartbeat === false && timeout !== undefined && timeout >= ttl) {
    problems.push(
      `timeout: ${show(pick('timeout'))} with heartbeat: false. The lease ends after its ttl of ${formatDuration(ttl)}, before the timeout. ` +
        'Give a shorter timeout, a longer ttl, or a heartbeat.',
    );
  }
  if (heartbeat !== false && heartbeat > ttl / 3) {
    problems.push(
      `heartbeat: ${show(heartbeatOption)} is longer than a third of the ttl of ${formatDuration(ttl)}. ` +
        `Two more tries must fit in before the lease expires: give at most ${formatDuration(Math.floor(ttl / 3))}, or a longer ttl.`,
    );
  }
  if (module.strictStoreTimeout && module.storeTimeout > ttl / 3) {
    problems.push(
      `storeTimeout: ${formatDuration(module.storeTimeout)} is longer than a third of the ttl of ${formatDuration(ttl)}. ` +
        `Give at most ${formatDuration(Math.floor(ttl / 3))}, or a longer ttl.`,
    );
  }
  const catchUp = pick('catchUp') ?? DEFAULTS.catchUp;
  const settings: JobSettings = {
    ttl,
    heartbeat,
    timeout,
    atLeast,
    storeTimeout: Math.min(module.storeTimeout, Math.floor(ttl / 3)),
    maxClockSkew: duration('maxClockSkew') ?? DEFAULTS.maxClockSkew,
    rerun: readCount('rerun', pick('rerun'), problems),
    catchUp: catchUp === false ? false : (readDuration('catchUp', catchUp, problems) ?? DEFAULTS.catchUp),
    oncePerTick: readBoolean('oncePerTick', pick('oncePerTick'), problems),
    enabled: readEnabled(given, module, problems),
    abortOnShutdown: readBoolean('abortOnShutdown', pick('abortOnShutdown'), problems),
    onStoreError: readChoice('onStoreError', pick('onStoreError'), ['skip', 'throw', 'run'], problems),
    onSkip: readChoice('onSkip', pick('onSkip'), ['ignore', 'throw'], problems),
  };
  return { settings, problems };
}

function storeProblems(options: SchedulerLockModuleOptions, environment: string | undefined): string[] {
  const { connection, store } = options;
  if (connection !== undefined && store !== undefined) {
    return ['connection and store are both given. Give one: a connection for Redis, or a store.'];
  }
  if (store === 'memory') return [];
  const unused = (['key', 'keyPrefix'] as const).filter((option) => options[option] !== undefined);
  if (store !== undefined && unused.length > 0) {
    return unused.map(
      (option) =>
        `${option}: it goes with connection, and has no effect on a store. Leave it out; for Redis, give it to the store itself: new RedisLockStore(connection, { ${option} }).`,
    );
  }
  if (store !== undefined) {
    const methods = ['acquire', 'extend', 'release'] as const;
    const missing = methods.filter(
      (method) => typeof (store as Partial<LockStore> | null)?.[method] !== 'function',
    );
    return missing.length === 0
      ? []
      : [
          `store: ${show(store)} is no LockStore: it has no ${missing.join('(), ')}(). ` +
            "Give a store such as new PostgresLockStore(pool), or 'memory'; for Redis give connection instead.",
        ];
  }
  if (connection !== undefined) return [connectionProblem(connection) ?? []].flat();
  if ('connection' in options) {
    return [
      'connection: it is undefined. Perhaps a variable of the environment is not set. Give the URL of your Redis, or, for a ' +
        "single instance that needs to exclude nobody but itself, store: 'memory'.",
    ];
  }
  if (environment !== 'production') return [];
  return [
    'connection: none is given, and NODE_ENV is production. Give the URL of your Redis, or, for a single instance that ' +
      "needs to exclude nobody but itself, store: 'memory'.",
  ];
}

function notAnElection(leader: unknown): string | undefined {
  if (leader === undefined || (typeof leader === 'object' && leader !== null)) return undefined;
  const name = typeof leader === 'string' && nameProblem(leader) === undefined ? leader : 'scheduler';
  return `leader: ${show(leader)} is not an object. Give the name of the election: leader: { name: '${name}' }.`;
}

/** An instance that is switched off stays off, whatever the options of its jobs say. */
function readEnabled(given: LockOptions, module: ModuleSettings, problems: string[]): boolean {
  const choices = [given.enabled, module.given.enabled].map((choice) =>
    readBoolean('enabled', choice, problems),
  );
  return !choices.includes(false);
}

function defaultInstanceId(): string {
  return `${hostname().slice(0, 150)}:${process.pid}:${randomUUID().slice(0, 8)}`;
}
