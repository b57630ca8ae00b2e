import type { Retry } from '../../base/job-start.js';
import type { Spread } from '../../schedule/spread.js';
import { show } from '../../base/wording.js';
import { KEPT } from '../../insight/control/desk.js';
import { applicationOf } from './application.js';
import type { InsightOptions } from './module-options.js';
import type { RetryOptions } from './lock-options.js';
import type { OnHeld, SchedulerLockOptions } from './options.js';
import { readOption, readOptions, unknownOptions } from './table.js';

/** How an application remembers runs, checked and complete; durations in milliseconds. */
export interface InsightSettings {
  readonly keep: number;
  readonly age: number;
  /** Milliseconds between two beats, or `'with-ticks'`: beats come with the ticks of jobs. */
  readonly beat: number | 'with-ticks';
  readonly error: NonNullable<InsightOptions['error']>;
  readonly application: string | undefined;
  readonly version: string | undefined;
}

/** How many characters of the name of an application, and of its version, are kept. */
const MAX_APPLICATION = 100;
const MAX_VERSION = 50;

/** Reads and checks `insight`. Adds the problems, one sentence each. Returns `undefined` if it is off. */
export function readInsight(
  given: InsightOptions | false | undefined,
  problems: string[],
): InsightSettings | undefined {
  if (given === false) return undefined;
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    problems.push(`insight: ${show(given)} is no object. Give { keep, beat, … }, false, or leave it out.`);
    return undefined;
  }
  problems.push(...unknownOptions(given ?? {}, 'insight').map((problem) => `insight.${problem}`));
  const main = applicationOf(process.argv[1]);
  const read = readOptions('insight', (option) => given?.[option], problems, 'insight.');
  return {
    ...read,
    age: KEPT.age,
    application: (read.application ?? main.name)?.slice(0, MAX_APPLICATION),
    version: (read.version ?? main.version)?.slice(0, MAX_VERSION),
  };
}

/** How calls of a job are queued that find their lock taken: checked and complete. */
export interface QueueSettings {
  /** `undefined`: each call stands alone. */
  readonly key: '' | ((...args: never[]) => unknown) | undefined;
  readonly max: number;
  readonly redeliver: number;
}

/** Reads and checks `queue`. Adds the problems, one sentence each. Returns `undefined` if calls are not queued. */
export function readQueue(
  { queue }: SchedulerLockOptions,
  onHeld: OnHeld,
  isScheduled: boolean,
  problems: string[],
): QueueSettings | undefined {
  if (onHeld === 'skip') {
    if (queue !== undefined)
      problems.push("queue: it has no effect without onHeld. Give onHeld: 'queue' as well.");
    return undefined;
  }
  if (isScheduled) {
    problems.push(
      `onHeld: '${onHeld}' is for methods that are called by hand, and the scheduler fires this one. Give \`wait\` instead: then a tick that finds its lock taken runs late.`,
    );
    return undefined;
  }
  const isObject = typeof queue === 'object' && queue !== null;
  if (queue !== undefined && !isObject)
    problems.push(`queue: ${show(queue)} is no object. Give { key, max, redeliver }, or some of them.`);
  const given = isObject ? queue : {};
  problems.push(...unknownOptions(given, 'queue').map((problem) => `queue.${problem}`));
  const key = readKey(given.key, onHeld, problems);
  return { key, ...readOptions('queue', (option) => given[option], problems, 'queue.') };
}

/** Reads and checks `retry`. Adds the problems, one sentence each. Returns `undefined` if a run that fails is not tried again. */
export function readRetry(retry: RetryOptions | undefined, problems: string[]): Retry | undefined {
  if (retry === undefined) return undefined;
  if (typeof retry !== 'object' || retry === null) {
    problems.push(`retry: ${show(retry)} is no object. Give { attempts, delay, factor }, or some of them.`);
    return undefined;
  }
  problems.push(...unknownOptions(retry, 'retry').map((problem) => `retry.${problem}`));
  return readOptions('retry', (option) => retry[option], problems, 'retry.');
}

/** How long the calls of one moment are spread over the instances by default, ms: more than clocks differ that are kept in time. */
const OVER_INSTANCES = 1_000;

/** Reads and checks `spread`. Adds the problems, one sentence each. Returns `undefined` if calls are not spread. */
export function readSpread(spread: unknown, problems: string[]): Spread | undefined {
  if (spread === undefined) return undefined;
  const isObject = typeof spread === 'object' && spread !== null;
  const given = (isObject ? spread : { within: spread }) as Partial<Record<string, unknown>>;
  const by = given['by'] ?? 'job';
  problems.push(...unknownOptions(given, 'spread').map((problem) => `spread.${problem}`));
  if (by !== 'job' && by !== 'instance')
    problems.push(`spread.by: ${show(by)} is not one of 'job', 'instance'.`);
  if (by === 'job' && given['within'] === undefined)
    problems.push("spread: it does not say within which time. Give a duration such as '2m'.");
  const within = readOption('within', given['within'], problems, isObject ? 'spread.' : 'spread: ');
  return { by: by === 'instance' ? 'instance' : 'job', within: within ?? OVER_INSTANCES };
}

function readKey(
  key: QueueSettings['key'],
  onHeld: 'queue' | 'once-more',
  problems: string[],
): QueueSettings['key'] {
  if (onHeld === 'once-more' && key !== undefined)
    problems.push(
      "queue.key: onHeld: 'once-more' keeps one call of all. Leave the key out, or give onHeld: 'queue'.",
    );
  else if (key !== undefined && key !== '' && typeof key !== 'function')
    problems.push(
      `queue.key: ${show(key)} is no function. Give one that makes a text of the arguments of the call, such as (id) => id, or '' to keep one call of all.`,
    );
  return onHeld === 'once-more' ? '' : key;
}
