import { show } from '../wording.js';
import type { InsightOptions, SchedulerLockModuleOptions } from './options.js';
import { readDuration } from './values.js';

/** How an application remembers runs, checked and complete; durations in milliseconds. */
export interface InsightSettings {
  readonly keep: number;
  readonly age: number;
  readonly beat: number;
  readonly overdue: number | false;
  readonly error: NonNullable<InsightOptions['error']>;
  readonly version: string | undefined;
}

const DAY = 86_400_000;
const DEFAULTS = { keep: 100, age: 30 * DAY, beat: 30_000, overdue: 60_000 };
const NAMES = ['keep', 'for', 'beat', 'overdue', 'error', 'version'];
/** The longest time that runs are kept, and the bounds of a beat, ms. */
const MAX_AGE = 400 * DAY;
const MIN_BEAT = 1_000;
const MAX_BEAT = 3_600_000;
/** How many characters of a version are kept. */
const MAX_VERSION = 50;

/** Reads and checks `insight`. Adds the problems, one sentence each. Returns `undefined` if it is off. */
export function readInsight(
  { insight: given }: SchedulerLockModuleOptions,
  problems: string[],
): InsightSettings | undefined {
  if (given === false) return undefined;
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    problems.push(`insight: ${show(given)} is no object. Give { keep, for, … }, false, or leave it out.`);
    return undefined;
  }
  const options = given ?? {};
  const unknown = Object.keys(options).filter((name) => !NAMES.includes(name));
  problems.push(
    ...unknown.map((name) => `insight.${name}: there is no such option. There are ${NAMES.join(', ')}.`),
  );
  const read = (option: 'for' | 'beat' | 'overdue', max?: number): number | undefined =>
    options[option] === undefined
      ? undefined
      : readDuration(`insight.${option}`, options[option], problems, max);
  const { keep = DEFAULTS.keep, error = 'message', overdue, version } = options;
  if (!Number.isInteger(keep) || keep < 1 || keep > 10_000)
    problems.push(`insight.keep: ${show(keep)} is no whole number from 1 to 10000.`);
  if (typeof error !== 'function' && !['none', 'type', 'message'].includes(error))
    problems.push(`insight.error: ${show(error)} is not one of 'none', 'type', 'message', and no function.`);
  if (version !== undefined && typeof version !== 'string')
    problems.push(`insight.version: ${show(version)} is no text.`);
  return {
    keep,
    error,
    age:
      inRange(
        'for',
        read('for', Infinity),
        { least: 1, most: MAX_AGE, range: 'at most 400 days' },
        problems,
      ) ?? DEFAULTS.age,
    beat:
      inRange('beat', read('beat'), { least: MIN_BEAT, most: MAX_BEAT, range: '1 s to 1 h' }, problems) ??
      DEFAULTS.beat,
    overdue: overdue === false ? false : (read('overdue') ?? DEFAULTS.overdue),
    version: versionOf(version ?? process.env['npm_package_version']),
  };
}

function inRange(
  option: string,
  given: number | undefined,
  { least, most, range }: { least: number; most: number; range: string },
  problems: string[],
): number | undefined {
  if (given === undefined || (given >= least && given <= most)) return given;
  problems.push(`insight.${option}: ${given} ms is out of range. Give ${range}.`);
  return undefined;
}

const versionOf = (version: unknown): string | undefined =>
  typeof version === 'string' ? version.slice(0, MAX_VERSION) : undefined;
