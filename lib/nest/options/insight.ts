import { show, unknownNames } from '../../base/wording.js';
import { applicationOf } from './application.js';
import type { InsightOptions, SchedulerLockModuleOptions } from './module-options.js';
import { PARTS } from '../../contract/allowances.js';
import { KEPT } from '../../insight/control/desk.js';
import { readDuration } from './values.js';

/** How an application remembers runs, checked and complete; durations in milliseconds. */
export interface InsightSettings {
  readonly keep: number;
  readonly age: number;
  /** Milliseconds between two beats, or `'with-ticks'`: beats come with the ticks of jobs. */
  readonly beat: number | 'with-ticks';
  readonly overdue: number | false;
  readonly error: NonNullable<InsightOptions['error']>;
  readonly application: string | undefined;
  readonly version: string | undefined;
}

const DAY = 86_400_000;
const DEFAULTS = PARTS.insight;
const NAMES = ['keep', 'beat', 'overdue', 'error', 'application', 'version'];
const KEPT_OF_ERRORS: readonly string[] = ['none', 'type', 'message'];
/** The least and the most of durations, ms. */
const RANGES = {
  beat: { least: 1_000, most: 3_600_000, range: "1 s to 1 h, or 'with-ticks'" },
  overdue: { least: 1, most: 30 * DAY, range: '30 days at most' },
};
/** How many characters of a version, and of the name of an application, are kept. */
const MAX_VERSION = 50;
const MAX_APPLICATION = 100;

/** Reads and checks `insight`. Adds the problems, one sentence each. Returns `undefined` if it is off. */
export function readInsight(
  { insight: given }: SchedulerLockModuleOptions,
  problems: string[],
): InsightSettings | undefined {
  if (given === false) return undefined;
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    problems.push(`insight: ${show(given)} is no object. Give { keep, beat, … }, false, or leave it out.`);
    return undefined;
  }
  const options = given ?? {};
  problems.push(...problemsOf(options));
  const main = applicationOf(process.argv[1]);
  const read = (option: keyof typeof RANGES): number => readInRange(options, option, problems);
  const {
    keep = DEFAULTS.keep,
    error = DEFAULTS.error,
    overdue,
    application = main.name,
    version = main.version,
  } = options;
  return {
    keep,
    error,
    age: KEPT.age,
    beat: readBeat(options, problems),
    overdue: overdue === false ? false : read('overdue'),
    application: shortened(application, MAX_APPLICATION),
    version: shortened(version, MAX_VERSION),
  };
}

const shortened = (text: unknown, most: number): string | undefined =>
  typeof text === 'string' ? text.slice(0, most) : undefined;

const isText = (value: unknown): boolean => typeof value === 'string';
const isName = (value: unknown): boolean => isText(value) && value !== '';

function problemsOf(options: InsightOptions): string[] {
  const problems = unknownNames(options, NAMES);
  const { keep = DEFAULTS.keep, error = DEFAULTS.error, application = 'none', version = '' } = options;
  if (!Number.isInteger(keep) || keep < 1 || keep > 10_000)
    problems.push(`keep: ${show(keep)} is no whole number from 1 to 10000.`);
  if (typeof error !== 'function' && !KEPT_OF_ERRORS.includes(error))
    problems.push(`error: ${show(error)} is no function, and not one of 'none', 'type', 'message'.`);
  if (!isName(application)) problems.push(`application: ${show(application)} is no name.`);
  if (!isText(version)) problems.push(`version: ${show(version)} is no text.`);
  return problems.map((problem) => `insight.${problem}`);
}

const readBeat = (options: InsightOptions, problems: string[]): InsightSettings['beat'] =>
  options.beat === 'with-ticks' ? options.beat : readInRange(options, 'beat', problems);

function readInRange(options: InsightOptions, option: keyof typeof RANGES, problems: string[]): number {
  const { least, most, range } = RANGES[option];
  const given = options[option];
  const read = given === undefined ? undefined : readDuration(`insight.${option}`, given, problems, Infinity);
  if (read === undefined) return DEFAULTS[option];
  if (read < least || read > most)
    problems.push(`insight.${option}: ${show(given)} is out of range. Give ${range}.`);
  return read;
}
