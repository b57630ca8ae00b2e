import { SchedulerLockConfigError } from '../base/errors.js';
import { show } from '../base/wording.js';
import type { Report } from '../contract/history-store.js';

/** How many names a run may report, how long a name and a text may be, in characters. */
const MOST_NAMES = 8;
const LONGEST_NAME = 40;
const LONGEST_TEXT = 100;
const NAME = /^[a-z][\w.-]*$/i;

/** What is expected of a number that a run reports. */
export interface Bounds {
  /** It has to be at least this. */
  readonly min?: number | undefined;
  /** It must not be more than this. */
  readonly max?: number | undefined;
}

/** What is expected of the report of a run that completes; or a function that answers what is missing, as a sentence, if anything is. */
export type Expect = Readonly<Record<string, Bounds>> | ((report: Report) => string | undefined | void);

/** Says what is missing in a report; `undefined`: nothing. */
export type Shortfall = (report: Report) => string | undefined;

/** Adds values to what a run has reported. @throws SchedulerLockConfigError for a value that is not kept; then nothing is added */
export function reported(before: Report | undefined, values: Report): Report {
  const refuse = (problem: string): never => {
    throw new SchedulerLockConfigError([`report(): ${problem}`]);
  };
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    refuse(`${show(values)} is no object. Give names and numbers, such as { invoices: 120 }.`);
  const after = { ...before, ...values };
  for (const [name, value] of Object.entries<unknown>(after)) {
    if (!NAME.test(name) || name.length > LONGEST_NAME)
      refuse(
        `${show(name)} is no name: a letter, and up to ${LONGEST_NAME} letters, digits, "_", "." or "-" in all.`,
      );
    const isText = typeof value === 'string' && value.length <= LONGEST_TEXT;
    if (!isText && !Number.isFinite(value))
      refuse(
        `${name}: ${show(value)} is neither a finite number nor a text of at most ${LONGEST_TEXT} characters.`,
      );
  }
  if (Object.keys(after).length > MOST_NAMES)
    refuse(`${Object.keys(after).join(', ')}: a run reports at most ${MOST_NAMES} names.`);
  return after;
}

/** Reads `expect`. Adds the problems, one sentence each. */
export function readExpect(expect: unknown, problems: string[]): Shortfall | undefined {
  if (expect === undefined) return undefined;
  if (typeof expect === 'function') return byFunction(expect as (report: Report) => unknown);
  if (typeof expect !== 'object' || expect === null) {
    problems.push(`expect: ${show(expect)} is no object and no function. Give { name: { min, max } }.`);
    return undefined;
  }
  const all = Object.entries(expect as Readonly<Record<string, unknown>>);
  for (const [name, bounds] of all) {
    const { min, max, ...more } = (bounds ?? {}) as Record<string, unknown>;
    const given = [min, max].filter((one) => one !== undefined);
    const isBounds = typeof bounds === 'object' && Object.keys(more).length === 0;
    if (!isBounds || given.length === 0 || !given.every(Number.isFinite))
      problems.push(
        `expect.${name}: ${show(bounds)} says nothing that can be checked. Give { min }, { max }, or both.`,
      );
  }
  return (report) => {
    const missing = all.flatMap(([name, bounds]) => shortOf(name, bounds as Bounds, report[name]) ?? []);
    return missing.length === 0 ? undefined : missing.join('; ');
  };
}

function shortOf(
  name: string,
  { min = -Infinity, max = Infinity }: Bounds,
  value: unknown,
): string | undefined {
  if (typeof value === 'number' && value >= min && value <= max) return undefined;
  const what =
    value === undefined
      ? `no ${name}`
      : typeof value === 'number'
        ? `${value} ${name}`
        : `${name}: ${show(value)}`;
  const bounds = [min === -Infinity ? '' : `at least ${min}`, max === Infinity ? '' : `at most ${max}`];
  return `reported ${what}; expected ${bounds.filter((bound) => bound !== '').join(' and ')}`;
}

/** A function of the user that fails, or answers no text, has not said that all is well. */
const byFunction =
  (expect: (report: Report) => unknown): Shortfall =>
  (report) => {
    try {
      const answer = expect(report);
      if (answer === undefined || answer === '') return undefined;
      return typeof answer === 'string'
        ? answer.slice(0, 2 * LONGEST_TEXT)
        : `\`expect\` answered ${show(answer)}, which is no sentence`;
    } catch (error) {
      return `\`expect\` failed: ${error instanceof Error ? error.message.slice(0, LONGEST_TEXT) : show(error)}`;
    }
  };
