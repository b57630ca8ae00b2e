import { parseDuration } from './duration.js';
import { DEFAULTS } from './scheduler-lock.options.js';

/*
 * Values of options. What is wrong with one is added to `problems`, and its default is answered, to find the rest.
 */

/** The longest ttl, and the longest of all other durations, milliseconds. */
export const MAX_TTL = 30 * 86_400_000;

export function readBoolean(option: 'enabled' | 'oncePerTick', given: unknown, problems: string[]): boolean {
  if (given === undefined) return DEFAULTS[option];
  if (typeof given !== 'boolean') problems.push(`${option}: ${show(given)} is neither true nor false.`);
  return given !== false;
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
    problems.push(
      `${option}: ${show(given)} is no duration. Give milliseconds or a text such as '30s' or '10m'.`,
    );
  } else if (milliseconds > MAX_TTL && option !== 'ttl') {
    problems.push(`${option}: ${show(given)} is longer than 30 days.`);
    return undefined;
  }
  return milliseconds;
}

/** A value as it would be written in the code, short. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (typeof value === 'object' && value !== null)
    return `an object of class ${value.constructor?.name ?? 'null'}`;
  return typeof value === 'function' ? 'a function' : String(value);
}
