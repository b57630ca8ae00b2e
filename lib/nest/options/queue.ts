import { show, unknownNames } from '../../base/wording.js';
import type { SchedulerLockOptions } from './options.js';
import { PARTS } from '../../contract/allowances.js';
import { OPTIONS } from './table.js';
import { readOption } from './values.js';

/** How calls of a job are queued that find their lock taken: checked and complete. */
export interface QueueOptions {
  /** `undefined`: each call stands alone. */
  readonly key: '' | ((...args: never[]) => unknown) | undefined;
  readonly max: number;
  readonly redeliver: number;
}

const DEFAULTS = PARTS.queue;
const NAMES = ['key', 'max', 'redeliver'];

/** Reads and checks `onHeld` and `queue`. Adds the problems, one sentence each. Returns `undefined` if calls are not queued. */
export function readQueue(
  { onHeld: given, queue }: SchedulerLockOptions,
  isScheduled: boolean,
  problems: string[],
): QueueOptions | undefined {
  const onHeld = readOption('onHeld', given, problems);
  if (onHeld === OPTIONS.onHeld.default) {
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
  if (queue !== undefined && (typeof queue !== 'object' || queue === null)) {
    problems.push(`queue: ${show(queue)} is no object. Give { key, max, redeliver }, or some of them.`);
    return { key: undefined, ...DEFAULTS };
  }
  return readParts(queue ?? {}, onHeld, problems);
}

function readParts(
  queue: NonNullable<SchedulerLockOptions['queue']>,
  onHeld: 'queue' | 'once-more',
  problems: string[],
): QueueOptions {
  problems.push(...unknownNames(queue, NAMES).map((problem) => `queue.${problem}`));
  const { key = onHeld === 'once-more' ? '' : undefined } = queue;
  if (queue.key !== undefined && onHeld === 'once-more')
    problems.push(
      "queue.key: onHeld: 'once-more' keeps one call of all. Leave the key out, or give onHeld: 'queue'.",
    );
  else if (key !== undefined && key !== '' && typeof key !== 'function')
    problems.push(
      `queue.key: ${show(key)} is no function. Give one that makes a text of the arguments of the call, such as (id) => id, or '' to keep one call of all.`,
    );
  return { key, max: count(queue, 'max', 1, problems), redeliver: count(queue, 'redeliver', 0, problems) };
}

function count(
  queue: { readonly max?: unknown; readonly redeliver?: unknown },
  option: 'max' | 'redeliver',
  least: number,
  problems: string[],
): number {
  const given = queue[option];
  if (given === undefined) return DEFAULTS[option];
  if (Number.isInteger(given) && Number(given) >= least && Number(given) <= 10_000) return Number(given);
  problems.push(`queue.${option}: ${show(given)} is no whole number from ${least} to 10000.`);
  return DEFAULTS[option];
}
