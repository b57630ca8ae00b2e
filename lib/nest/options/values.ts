import type { Clock } from '../../base/clock.js';
import { formatDuration, parseDuration, UNITS } from '../../base/duration.js';
import { displayName, nameProblem } from '../../base/lock-name.js';
import { show } from '../../base/wording.js';
import { EVENT_TYPES } from '../log/log.listener.js';

/** Reads a value that was given. If it is bad, it adds the problem, and returns `undefined`: so the default takes its place. */
export type Reader<T> = (option: string, given: unknown, problems: string[]) => T | undefined;

/** The longest duration, milliseconds. */
const MONTH = 30 * 86_400_000;
export const HOUR = 3_600_000;

/** Whole milliseconds. @param or a value that is no duration, and stands for itself */
export function duration<const Or = never>({
  least = 1,
  most = MONTH,
  or,
}: { least?: number; most?: number; or?: Or } = {}): Reader<number | Or> {
  const range = `${formatDuration(least)} to ${formatDuration(most).replace(/d$/, 'days')}`;
  const other = or === undefined ? '' : `, or ${show(or)}`;
  return (option, given, problems) => {
    if (or !== undefined && given === or) return or;
    const milliseconds = parseDuration(given);
    if (milliseconds !== undefined && milliseconds >= least && milliseconds <= most) return milliseconds;
    const why = Number.isNaN(given) ? NOT_SET : '';
    const problem =
      milliseconds === undefined
        ? `is no duration${why}. ${GIVE_DURATION}`
        : `is out of range. Give ${range}${other}.`;
    problems.push(`${option}: ${show(given)} ${problem}`);
    return undefined;
  };
}

export const count = (least: number, most: number): Reader<number> =>
  reader(
    (given) => Number.isInteger(given) && Number(given) >= least && Number(given) <= most,
    `is no whole number from ${least} to ${most}.`,
  );

export const flag = reader<boolean>((given) => typeof given === 'boolean', 'is neither true nor false.');

export const oneOf = <const C extends string>(...choices: C[]): Reader<C> =>
  reader(
    (given) => choices.includes(given as C),
    `is not one of ${choices.map((choice) => show(choice)).join(', ')}.`,
  );

/** What is kept of an error: one of these, or a function that makes it. */
export const kept = <const C extends string>(...choices: C[]): Reader<C | ((error: unknown) => string)> =>
  reader(
    (given) => typeof given === 'function' || choices.includes(given as C),
    `is no function, and not one of ${choices.map((choice) => show(choice)).join(', ')}.`,
  );

export const text = reader<string>((given) => typeof given === 'string', 'is no text.');
export const title = reader<string>((given) => typeof given === 'string' && given !== '', 'is no name.');

/** Epoch milliseconds. */
export const time = reader<number>(
  (given) => Number.isSafeInteger(given) && Number(given) >= 0,
  'is no time in epoch milliseconds.',
);

export const signal = reader<AbortSignal>(
  (given) => given instanceof AbortSignal,
  'is no AbortSignal. Give the `signal` of an AbortController.',
);

function reader<T>(fits: (given: unknown) => boolean, isNot: string): Reader<T> {
  return (option, given, problems) => {
    if (fits(given)) return given as T;
    problems.push(`${option}: ${show(given)} ${isNot}`);
    return undefined;
  };
}

const NOT_SET = ': mostly it comes from an environment variable that is not set';
const GIVE_DURATION = `Give positive milliseconds, or a text of a positive number and a unit (${Object.keys(UNITS).join(', ')}), such as '30s' or '10m'.`;

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

/** Which events to log. */
export const eventTypes: Reader<ReadonlySet<string>> = (option, given, problems) => {
  if (given === false) return new Set();
  if (!Array.isArray(given)) {
    problems.push(
      `${option}: ${show(given)} is no list of event types. Give false, or some of ${EVENT_TYPES.join(', ')}.`,
    );
    return undefined;
  }
  for (const type of given as unknown[]) {
    if (!EVENT_TYPES.includes(type as string))
      problems.push(`${option}: ${show(type)} is no event type. There are ${EVENT_TYPES.join(', ')}.`);
  }
  return new Set(given as string[]);
};

/** The methods that an object has to have, and does not. */
export const missingMethods = (given: unknown, methods: readonly string[]): string =>
  methods
    .filter((method) => typeof (given as Record<string, unknown> | null)?.[method] !== 'function')
    .map((method) => `${method}()`)
    .join(', ');

export const clock: Reader<Clock> = (option, given, problems) => {
  const missing = missingMethods(given, ['now', 'monotonic', 'setTimer']);
  if (missing === '') return given as Clock;
  problems.push(
    `${option}: ${show(given)} is no Clock: it has no ${missing}. In tests give a ManualClock of nestjs-scheduler-lock/testing.`,
  );
  return undefined;
};
