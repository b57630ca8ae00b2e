import { type Clock, systemClock } from '../clock.js';
import { parseDuration, UNITS } from '../duration.js';
import type { SchedulerLockEvent } from '../events/events.js';
import { DEFAULTS } from './options.js';
import { displayName, nameProblem } from '../lock-name.js';
import { show } from '../wording.js';

/*
 * Reads the values of options. Each function adds the problem of a bad value to `problems`, and returns the
 * default instead, so that all problems are found at once.
 */

/** The longest ttl, and the longest of all other durations, milliseconds. */
export const MAX_TTL = 30 * 86_400_000;

/** The compiler checks that none is missing. */
const EVENT_TYPES: Readonly<Record<SchedulerLockEvent['type'], true>> = {
  acquired: true,
  released: true,
  skipped: true,
  renewed: true,
  'renewal-failed': true,
  lost: true,
  overrun: true,
  timeout: true,
  unlocked: true,
  'schedule-mismatch': true,
  'shutdown-waiting': true,
  'shutdown-left': true,
  elected: true,
  revoked: true,
  'hook-failed': true,
  'outage-started': true,
  'outage-ended': true,
};

/** The problems of names, by option. One that several options have is told of once. */
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

export function readBoolean(
  option: 'enabled' | 'oncePerTick' | 'abortOnShutdown',
  given: unknown,
  problems: string[],
): boolean {
  if (given === undefined) return DEFAULTS[option];
  if (typeof given !== 'boolean') problems.push(`${option}: ${show(given)} is neither true nor false.`);
  return typeof given === 'boolean' ? given : DEFAULTS[option];
}

export function readCount(option: 'rerun', given: unknown, problems: string[]): number {
  if (given === undefined) return DEFAULTS[option];
  if (Number.isInteger(given) && (given as number) >= 0 && (given as number) <= 1_000) return given as number;
  problems.push(`${option}: ${show(given)} is no whole number from 0 to 1000.`);
  return DEFAULTS[option];
}

export function readChoice<T extends string>(
  option: string,
  given: T | undefined,
  choices: readonly [T, ...T[]],
  problems: string[],
): T {
  const [fallback] = choices;
  if (given === undefined) return fallback;
  if (choices.includes(given)) return given;
  problems.push(
    `${option}: ${show(given)} is not one of ${choices.map((choice) => `'${choice}'`).join(', ')}.`,
  );
  return fallback;
}

export function readDuration(option: string, given: unknown, problems: string[]): number | undefined {
  if (given === undefined) return undefined;
  const milliseconds = parseDuration(given);
  if (milliseconds === undefined) {
    problems.push(`${option}: ${show(given)} ${durationProblem(option, given)}`);
  } else if (milliseconds > MAX_TTL && option !== 'ttl') {
    problems.push(`${option}: ${show(given)} is longer than 30 days.`);
    return undefined;
  }
  return milliseconds;
}

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

const GIVE_DURATION = `Give positive milliseconds, or a text of a positive number and a unit (${Object.keys(UNITS).join(', ')}), such as '30s' or '10m'.`;

function durationProblem(option: string, given: unknown): string {
  if (given === true && option === 'heartbeat')
    return 'is no duration. There is a heartbeat without it: leave it out, or give the time between two renewals.';
  if (given === true && option === 'catchUp')
    return "is no duration. Give how old a tick may be to be caught up with, such as '1h'.";
  if (given === false) return 'is no duration. Leave it out for none.';
  if (Number.isNaN(given))
    return `is no duration: mostly it comes from an environment variable that is not set. ${GIVE_DURATION}`;
  const isNumber = typeof given === 'number';
  if (isNumber && !Number.isFinite(given)) return `is not finite. ${GIVE_DURATION}`;
  if (isNumber || /^\s*-|^[0.\s]+(ms|s|m|h|d)\s*$/.test(String(given)))
    return `is not positive. ${GIVE_DURATION}`;
  if (typeof given === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(given)) return `has no unit. ${GIVE_DURATION}`;
  return `is no duration. ${GIVE_DURATION}`;
}
