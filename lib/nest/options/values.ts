import { type Clock, systemClock } from '../../base/clock.js';
import { parseDuration, UNITS } from '../../base/duration.js';
import type { SchedulerLockEvent } from '../../contract/events/events.js';
import { displayName, nameProblem } from '../../base/lock-name.js';
import { show } from '../../base/wording.js';
import { OPTIONS, type Values } from './table.js';

type Table = typeof OPTIONS;

type ValueOf<K> = K extends keyof Values ? Values[K] : K extends readonly (infer Choice)[] ? Choice : never;

/** The options that have a kind here: all but those with a check of their own. */
type Readable = { [O in keyof Table]: Table[O]['kind'] extends 'own' ? never : O }[keyof Table];

type Value<O extends Readable> =
  ValueOf<Table[O]['kind']> | (Table[O] extends { default: unknown } ? never : undefined);

/**
 * The value of an option; without one its default, if it has one.
 *
 * Reads the values of options. Each function adds the problem of a bad value to `problems`, and returns the
 * default instead, so that all problems are found at once.
 */
export function readOption<O extends Readable>(option: O, given: unknown, problems: string[]): Value<O> {
  const { kind, default: fallback }: { kind: Table[Readable]['kind']; default?: unknown } = OPTIONS[option];
  const read = typeof kind === 'string' ? READERS[kind] : choiceOf(kind);
  const value = given === undefined ? undefined : read(option, given, problems);
  return (value ?? fallback) as Value<O>;
}

/** Reads a value that was given; `undefined` if it is bad. */
type Reader<T> = (option: string, given: unknown, problems: string[]) => T | undefined;

const READERS: { readonly [K in keyof Values]: Reader<Values[K]> } = {
  ttl: (option, given, problems) => {
    const milliseconds = readDuration(option, given, problems, Infinity);
    if (milliseconds === undefined || (milliseconds >= MIN_TTL && milliseconds <= MAX)) return milliseconds;
    problems.push(`${option}: ${show(given)} is out of range. Give 100 ms to 30 days.`);
    return undefined;
  },
  duration: readDuration,
  'duration or 0': (option, given, problems) => (given === 0 ? 0 : readDuration(option, given, problems)),
  'duration or false': (option, given, problems) =>
    given === false ? false : readDuration(option, given, problems),
  count: reader(
    (given) => Number.isInteger(given) && Number(given) >= 0 && Number(given) <= 1_000,
    'is no whole number from 0 to 1000',
    'Give how often a tick may run again, such as 1.',
  ),
  wait: (option, given, problems) => {
    if (given === 0) return 0;
    const milliseconds = readDuration(option, given, problems, Infinity);
    if (milliseconds === undefined || milliseconds <= MAX_WAIT) return milliseconds;
    problems.push(`${option}: ${show(given)} is longer than 1 h. Give less, or 0.`);
    return undefined;
  },
  priority: reader(
    (given) => Number.isInteger(given) && Math.abs(Number(given)) <= 100,
    'is no whole number from -100 to 100',
    'Give 1 to go before the others, -1 to go after them.',
  ),
  flag: reader((given) => typeof given === 'boolean', 'is neither true nor false'),
};

function choiceOf(choices: readonly string[]): Reader<string> {
  return (option, given, problems) => {
    if (choices.includes(given as string)) return given as string;
    const list = choices.map((choice) => `'${choice}'`).join(', ');
    problems.push(`${option}: ${show(given)} is not one of ${list}.`);
    return undefined;
  };
}

/**
 * @param isNot what is wrong with the values that do not fit
 * @param instead what to give instead of `true` or `false`
 */
function reader<T>(fits: (given: unknown) => boolean, isNot: string, instead?: string): Reader<T> {
  return (option, given, problems) => {
    if (fits(given)) return given as T;
    const advice = instead !== undefined && typeof given === 'boolean' ? ` ${instead}` : '';
    problems.push(`${option}: ${show(given)} ${isNot}.${advice}`);
    return undefined;
  };
}

const MIN_TTL = 100;
/** The longest time in line, milliseconds. */
const MAX_WAIT = 3_600_000;
/** The longest ttl, and the longest of all other durations, milliseconds. */
const MAX = 30 * 86_400_000;

export function readDuration(
  option: string,
  given: unknown,
  problems: string[],
  max = MAX,
): number | undefined {
  const milliseconds = parseDuration(given);
  if (milliseconds === undefined)
    problems.push(`${option}: ${show(given)} ${durationProblem(option, given)}`);
  else if (milliseconds <= max) return milliseconds;
  else problems.push(`${option}: ${show(given)} is longer than 30 days.`);
  return undefined;
}

const GIVE_DURATION = `Give positive milliseconds, or a text of a positive number and a unit (${Object.keys(UNITS).join(', ')}), such as '30s' or '10m'.`;

/** What to give instead of `true`. */
const INSTEAD_OF_TRUE: Readonly<Record<string, string>> = {
  heartbeat: 'There is a heartbeat without it: leave it out, or give the time between two renewals.',
  catchUp: "Give how old a tick may be to be caught up with, such as '1h'.",
};

function durationProblem(option: string, given: unknown): string {
  if (given === true && option in INSTEAD_OF_TRUE) return `is no duration. ${INSTEAD_OF_TRUE[option]}`;
  if (given === false) return 'is no duration. Leave it out for none.';
  if (typeof given === 'number') return `${numberProblem(given)}. ${GIVE_DURATION}`;
  if (/^\s*-|^[0.\s]+(ms|s|m|h|d)\s*$/.test(String(given))) return `is not positive. ${GIVE_DURATION}`;
  if (typeof given === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(given)) return `has no unit. ${GIVE_DURATION}`;
  return `is no duration. ${GIVE_DURATION}`;
}

function numberProblem(given: number): string {
  if (Number.isNaN(given))
    return 'is no duration: mostly it comes from an environment variable that is not set';
  return Number.isFinite(given) ? 'is not positive' : 'is not finite';
}

/** The problems of names, by option. A problem that several options have is reported once. */
export function invalidNames(names: Readonly<Record<string, unknown>>): string[] {
  const options = Object.keys(names).filter((option, index, all) =>
    all.slice(0, index).every((other) => names[other] !== names[option]),
  );
  return options.flatMap((option) => {
    const problem = nameProblem(names[option]);
    return problem === undefined
      ? []
      : [`${option}: ${displayName(names[option])} is not valid: ${problem}.`];
  });
}

/** The compiler checks that none is missing. */
const EVENT_TYPES: Readonly<Record<SchedulerLockEvent['type'], true>> = {
  acquired: true,
  released: true,
  skipped: true,
  renewed: true,
  interrupted: true,
  'renewal-failed': true,
  lost: true,
  overrun: true,
  waiting: true,
  'dead-lettered': true,
  timeout: true,
  unlocked: true,
  overdue: true,
  hung: true,
  shutdown: true,
  leader: true,
  controlled: true,
  outage: true,
};

/** Which events to log; `undefined` if the application did not choose. */
export function readLog(given: unknown, problems: string[]): ReadonlySet<string> | undefined {
  if (given === undefined) return undefined;
  if (given === false) return new Set();
  const types = Object.keys(EVENT_TYPES);
  if (!Array.isArray(given)) {
    problems.push(
      `log: ${show(given)} is no list of event types. Give false, or some of ${types.join(', ')}.`,
    );
    return undefined;
  }
  for (const type of given as unknown[]) {
    if (typeof type !== 'string' || !Object.hasOwn(EVENT_TYPES, type))
      problems.push(`log: ${show(type)} is no event type. There are ${types.join(', ')}.`);
  }
  return new Set(given as string[]);
}

export function readClock(given: unknown, problems: string[]): Clock {
  if (given === undefined) return systemClock;
  const methods = ['now', 'monotonic', 'setTimer'] as const;
  const clock: Partial<Clock> | null = given;
  const missing = methods.filter((method) => typeof clock?.[method] !== 'function');
  if (missing.length === 0) return given as Clock;
  problems.push(
    `clock: ${show(given)} is no Clock: it has no ${missing.join('(), ')}(). In tests give a ManualClock of nestjs-scheduler-lock/testing.`,
  );
  return systemClock;
}
