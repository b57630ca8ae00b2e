import { DEFAULT_KEY_PREFIX } from '../../stores/redis/keys.js';
import { nearest } from '../../base/wording.js';
import type { CronJobOptions, IntervalJobOptions } from './job-options.js';
import type { RunOptions, SchedulerLockOptions } from './options.js';
import type { LeaderElectionOptions, LeaderOptions, SchedulerLockModuleOptions } from './module-options.js';

/** The scopes in which options are given: `forRoot()` and its `leader`, the decorators, and the methods of the service. */
interface Scopes {
  module: SchedulerLockModuleOptions;
  decorator: SchedulerLockOptions;
  run: RunOptions;
  cron: CronJobOptions;
  interval: IntervalJobOptions;
  leader: LeaderOptions;
  election: LeaderElectionOptions;
}
type Scope = keyof Scopes;
type AnyOption = { [P in Scope]: keyof Scopes[P] }[Scope];

/** The scopes of an option, in this order and with a blank between two: so the compiler finds one that is missing. */
type At<O> =
  Trim<`${If<'module', O>}${If<'decorator', O>}${If<'run', O>}${If<'cron', O>}${If<'interval', O>}${If<'leader', O>}${If<'election', O>}`>;
type If<P extends Scope, O> = O extends keyof Scopes[P] ? `${P} ` : '';
type Trim<T> = T extends `${infer Words} ` ? Words : never;

/** The kinds of values, and what they are read to: durations to milliseconds. */
export interface Values {
  ttl: number;
  duration: number;
  'duration or 0': number;
  'duration or false': number | false;
  count: number;
  flag: boolean;
  wait: number;
  priority: number;
}

/**
 * Every option: its kind, its default (durations in milliseconds) and its scopes. Names, checks and defaults come from here;
 * tests compare docstrings and documents with it.
 */
export const OPTIONS = {
  connection: { kind: 'own', at: 'module' },
  store: { kind: 'own', at: 'module' },
  keyPrefix: { kind: 'own', default: DEFAULT_KEY_PREFIX, at: 'module' },
  key: { kind: 'own', at: 'module' },
  instanceId: { kind: 'own', at: 'module' },
  storeTimeout: { kind: 'duration', default: 2_000, at: 'module' },
  shutdownTimeout: { kind: 'duration or 0', default: 25_000, at: 'module' },
  leader: { kind: 'own', at: 'module' },
  log: { kind: 'own', at: 'module' },
  clock: { kind: 'own', at: 'module' },
  insight: { kind: 'own', at: 'module' },
  timeZone: { kind: 'own', at: 'cron' },
  cron: { kind: 'own', at: 'cron' },
  name: { kind: 'own', at: 'decorator leader' },
  job: { kind: 'own', at: 'decorator run cron interval' },
  onHeld: { kind: ['skip', 'queue', 'once-more'], default: 'skip', at: 'decorator' },
  queue: { kind: 'own', at: 'decorator' },
  lock: { kind: 'own', at: 'cron interval' },
  // Of scheduled jobs with a name that is a text: see `remembers()`.
  history: { kind: 'flag', at: 'decorator run cron interval' },
  overdue: { kind: 'duration or false', at: 'decorator cron interval' },
  tick: { kind: 'own', at: 'run' },
  signal: { kind: 'own', at: 'run' },
  ttl: { kind: 'ttl', default: 60_000, at: 'module decorator run cron interval leader election' },
  // A part of the ttl: a lease survives two failed renewals.
  heartbeat: { kind: 'duration or false', ofTtl: 0.3, at: 'module decorator run cron interval' },
  timeout: { kind: 'duration', at: 'module decorator run cron interval' },
  atLeast: { kind: 'duration', at: 'module decorator run cron interval' },
  wait: { kind: 'wait', default: 0, at: 'module decorator run cron interval' },
  priority: { kind: 'priority', default: 0, at: 'module decorator run cron interval' },
  enabled: { kind: 'flag', default: true, at: 'module decorator run cron interval' },
  onStoreError: { kind: ['skip', 'run'], default: 'skip', at: 'module decorator run cron interval' },
  onSkip: { kind: ['ignore', 'throw'], default: 'ignore', at: 'module decorator' },
  oncePerTick: { kind: 'flag', default: true, at: 'module decorator cron interval' },
  rerun: { kind: 'count', default: 0, at: 'module decorator cron' },
  catchUp: { kind: 'duration or false', default: false, at: 'module decorator cron' },
} as const satisfies {
  readonly [O in AnyOption]: {
    /** A list: one of these. `own`: a check of its own. */
    readonly kind: keyof Values | 'own' | readonly string[];
    readonly default?: number | boolean | string;
    readonly ofTtl?: number;
    readonly at: At<O>;
  };
};

/**
 * The default of `history`, the only one that depends on something else: a lock that is named by the arguments of its calls would have a
 * history for each, and so would the calls of `run()`, which give no name here.
 *
 * @param name of the lock, or the function that makes it
 */
export const remembers = (name: unknown): boolean => typeof name === 'string';

const at = (scope: Scope): readonly string[] =>
  Object.keys(OPTIONS).filter((name) => OPTIONS[name as AnyOption].at.split(' ').includes(scope));

/** The names of the options of each scope. */
export const OPTION_NAMES: Readonly<Record<Scope, readonly string[]>> = {
  module: at('module'),
  decorator: at('decorator'),
  run: at('run'),
  cron: at('cron'),
  interval: at('interval'),
  leader: at('leader'),
  election: at('election'),
};

const QUEUED =
  'Only calls of methods with @SchedulerLock() can be queued: what is stored is their arguments.';
const UNTICKED = 'An interval has no ticks, and misses none.';
/** What goes for both kinds of jobs that are made at run time. */
const MADE = {
  onSkip: 'Nobody calls a job of the scheduler, so no caller can be told: listen to the event `skipped`.',
  name: 'The name of the job is the first argument, and that of its lock is `lock`.',
  onHeld: QUEUED,
  queue: QUEUED,
};

/** What `cron` is given besides, and of which type it is. */
export const CRON_PARAMETERS = {
  utcOffset: 'number',
  unrefTimeout: 'boolean',
  waitForCompletion: 'boolean',
  disabled: 'boolean',
  threshold: 'number',
} as const;
const OF_CRON = 'It is one of `cron`: give it there, such as cron: { waitForCompletion: true }.';

/** What to do instead of giving these options in these scopes. */
const INSTEAD_OF: Readonly<Partial<Record<Scope, Readonly<Record<string, string>>>>> = {
  run: {
    onSkip:
      'run() does not throw if it is skipped: look at `ran` of its result. acquire() always throws then.',
    name: 'The name of the lock is the first argument.',
    onHeld: QUEUED,
    oncePerTick: 'A call by hand has no tick but the one that `tick` gives it.',
    rerun: 'Only jobs that the scheduler fires are run again: see @SchedulerLock() and cron().',
    catchUp: 'Only jobs that the scheduler fires catch up: see @SchedulerLock() and cron().',
  },
  cron: { ...MADE, ...Object.fromEntries(Object.keys(CRON_PARAMETERS).map((name) => [name, OF_CRON])) },
  interval: { ...MADE, rerun: UNTICKED, catchUp: UNTICKED },
};

/** ShedLock's names for our options. */
const OTHER_NAMES: Readonly<Record<string, string>> = { lockAtMostFor: 'ttl', lockAtLeastFor: 'atLeast' };

/**
 * Names in `given` that are no options: a misspelt option would silently have its default. The compiler finds these
 * only in object literals.
 *
 * @returns one sentence each
 */
export function unknownOptions(given: object, scope: Scope): string[] {
  const names = OPTION_NAMES[scope];
  const unknown = Object.keys(given).filter(
    (name) => !names.includes(name) && Reflect.get(given, name) !== undefined,
  );
  return unknown.map((name) => `${name}: there is no such option here. ${advice(name, scope)}`);
}

function advice(given: string, scope: Scope): string {
  const names = OPTION_NAMES[scope];
  const instead = INSTEAD_OF[scope] ?? {};
  if (Object.hasOwn(instead, given)) return String(instead[given]);
  if (isOfModuleOnly(given)) return 'It is one of the module: give it to SchedulerLockModule.forRoot().';
  const other = Object.hasOwn(OTHER_NAMES, given) ? OTHER_NAMES[given] : nearest(given, names);
  if (other !== undefined && names.includes(other)) return `Did you mean \`${other}\`?`;
  return `There are ${names.join(', ')}.`;
}

const isOfModuleOnly = (name: string): boolean =>
  Object.hasOwn(OPTIONS, name) && OPTIONS[name as AnyOption].at === 'module';
