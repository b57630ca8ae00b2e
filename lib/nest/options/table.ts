import { DEFAULT_KEY_PREFIX } from '../../stores/redis/keys.js';
import { unknownNames } from '../../base/wording.js';
import { PARTS } from '../../contract/allowances.js';
import { KEPT } from '../../insight/control/desk.js';
import {
  clock,
  count,
  duration,
  eventTypes,
  flag,
  HOUR,
  kept,
  oneOf,
  type Reader,
  signal,
  text,
  time,
  title,
} from './values.js';

/** The scopes in which options are given: `forRoot()` and its parts, the decorators, and the methods of the service. */
type Scope =
  | 'module'
  | 'decorator'
  | 'run'
  | 'cron'
  | 'interval'
  | 'leader'
  | 'election'
  | 'queue'
  | 'retry'
  | 'spread'
  | 'insight';

const { keep, beat, error } = PARTS.insight;

/**
 * Every option: how it is read, its default (durations in milliseconds) and its scopes. Names, checks and defaults come from here;
 * tests compare docstrings and documents with it. Those without `read` have a check of their own.
 */
export const OPTIONS = {
  connection: { at: 'module' },
  store: { at: 'module' },
  keyPrefix: { default: DEFAULT_KEY_PREFIX, at: 'module' },
  key: { at: 'module queue' },
  instanceId: { at: 'module' },
  storeTimeout: { read: duration(), default: 2_000, at: 'module' },
  shutdownTimeout: { read: duration({ or: 0 }), default: 25_000, at: 'module' },
  leader: { at: 'module' },
  log: { read: eventTypes, at: 'module' },
  clock: { read: clock, at: 'module' },
  insight: { at: 'module' },
  timeZone: { at: 'cron' },
  cron: { at: 'cron' },
  name: { at: 'decorator leader' },
  job: { at: 'decorator run' },
  onHeld: { read: oneOf('skip', 'queue', 'once-more'), default: 'skip', at: 'decorator' },
  queue: { at: 'decorator' },
  lock: { at: 'cron interval' },
  // By default that of jobs whose lock has one name: those named by the arguments of calls would have a history each.
  history: { read: flag, at: 'decorator run cron interval' },
  tick: { read: time, at: 'run' },
  signal: { read: signal, at: 'run' },
  ttl: {
    read: duration({ least: 100 }),
    default: 60_000,
    at: 'module decorator run cron interval leader election',
  },
  // A part of the ttl: a lease survives two failed renewals.
  heartbeat: { read: duration({ or: false }), ofTtl: 0.3, at: 'module decorator run cron interval' },
  timeout: { read: duration(), at: 'module decorator run cron interval' },
  atLeast: { read: duration(), at: 'module decorator run cron interval' },
  wait: { read: duration({ most: HOUR, or: 0 }), default: 0, at: 'module decorator run cron interval' },
  priority: {
    read: count(-100, 100),
    default: 0,
    at: 'module decorator run cron interval',
  },
  enabled: { read: flag, default: true, at: 'module decorator run cron interval' },
  onStoreError: { read: oneOf('skip', 'run'), default: 'skip', at: 'module decorator run cron interval' },
  onSkip: { read: oneOf('ignore', 'throw'), default: 'ignore', at: 'module decorator' },
  oncePerTick: { read: flag, default: true, at: 'module decorator cron interval' },
  rerun: {
    read: count(0, 1_000),
    default: 0,
    at: 'module decorator cron',
  },
  retry: { at: 'decorator cron' },
  expect: { at: 'decorator cron interval' },
  spread: { at: 'module decorator cron' },
  catchUp: { read: duration({ or: false }), default: false, at: 'module decorator cron' },
  overdue: { read: duration({ or: false }), default: 60_000, at: 'module decorator cron interval' },
  max: { read: count(1, 10_000), default: PARTS.queue.max, at: 'queue' },
  redeliver: { read: count(0, 10_000), default: PARTS.queue.redeliver, at: 'queue' },
  attempts: { read: count(2, 100), default: 3, at: 'retry' },
  delay: { read: duration(), default: 60_000, at: 'retry' },
  factor: { read: count(1, 10), default: 2, at: 'retry' },
  by: { at: 'spread' },
  within: { read: duration({ most: 6 * HOUR }), at: 'spread' },
  keep: { read: count(1, KEPT.count), default: keep, at: 'insight' },
  beat: {
    read: duration({ least: 1_000, most: HOUR, or: 'with-ticks' as const }),
    default: beat,
    at: 'insight',
  },
  error: { read: kept('none', 'type', 'message'), default: error, at: 'insight' },
  application: { read: title, at: 'insight' },
  version: { read: text, at: 'insight' },
} as const;

type Table = typeof OPTIONS;
type Readable = { [O in keyof Table]: Table[O] extends { read: unknown } ? O : never }[keyof Table];
type Value<O extends Readable> =
  | (Table[O]['read'] extends Reader<infer T> ? T : never)
  | (Table[O] extends { default: unknown } ? never : undefined);

/** The value of an option; without one its default, if it has one. Adds the problem of a bad value. */
export function readOption<O extends Readable>(
  option: O,
  given: unknown,
  problems: string[],
  within = '',
): Value<O> {
  const { read, default: fallback }: { read: Reader<unknown>; default?: unknown } = OPTIONS[option];
  const value = given === undefined ? undefined : read(within + option, given, problems);
  return (value ?? fallback) as Value<O>;
}

/** The options of a scope that have a reader. */
type Read<P extends Scope> = {
  [O in Readable as Table[O]['at'] extends `${string}${P}${string}` ? O : never]: Value<O>;
};

/** The values of all options of a scope that have a reader. @param within what stands before their names in problems */
export function readOptions<P extends Scope>(
  scope: P,
  given: (option: keyof Read<P>) => unknown,
  problems: string[],
  within = '',
): Read<P> {
  const options = OPTION_NAMES[scope].filter((name) => 'read' in OPTIONS[name as keyof Table]) as Readable[];
  return Object.fromEntries(
    options.map((option) => [option, readOption(option, given(option as keyof Read<P>), problems, within)]),
  ) as Read<P>;
}

const names: Partial<Record<Scope, string[]>> = {};
for (const [name, { at }] of Object.entries(OPTIONS))
  for (const scope of at.split(' ') as Scope[]) (names[scope] ??= []).push(name);

/** The names of the options of each scope. */
export const OPTION_NAMES = names as Readonly<Record<Scope, readonly string[]>>;

/** What `cron` is given besides. */
export const CRON_PARAMETERS = ['utcOffset', 'unrefTimeout', 'waitForCompletion', 'disabled', 'threshold'];

/** Names in `given` that are no options, of which the compiler finds those in object literals only: one sentence each. */
export function unknownOptions(given: object, scope: Scope): string[] {
  const named = Object.entries<unknown>({ ...given }).filter(([, value]) => value !== undefined);
  return unknownNames(Object.fromEntries(named), OPTION_NAMES[scope]);
}
