import { SchedulerLockConfigError } from '../base/errors.js';
import type { LockCall } from '../lock/lock-call.js';
import { displayName } from '../base/lock-name.js';
import { readOption, unknownOptions } from './options/table.js';
import { invalidNames } from './options/values.js';
import { show } from '../base/wording.js';
import type { RunOptions } from './options/options.js';
import { checkLockOptions, type ModuleSettings } from './options/check.js';

/**
 * The options and the function of `run(name, job)` and `run(name, options, job)`.
 *
 * @throws SchedulerLockConfigError if there is no function, or not in its place
 */
export function runArguments<J>(name: string, rest: readonly unknown[]): { options?: RunOptions; job: J } {
  const [options, job] = rest.length < 2 ? [undefined, rest[0]] : rest;
  if (typeof job === 'function') return { options: options as RunOptions, job: job as J };
  const found =
    typeof options === 'function'
      ? 'the function comes before the options'
      : `there is no function to run, but ${show(job)}`;
  throw new SchedulerLockConfigError([
    `run(${quoted(name)}): ${found}. Call run(name, job) or run(name, options, job). Nothing was run.`,
  ]);
}

/**
 * One call by hand, with checked settings.
 *
 * @throws SchedulerLockConfigError for bad options
 */
export function callByHand(name: string, options: RunOptions, module: ModuleSettings): LockCall {
  if (typeof options !== 'object' || options === null) {
    throw new SchedulerLockConfigError([
      `lock ${quoted(name)}: ${show(options)} is given where its options go, such as { ttl: '10m' }.`,
    ]);
  }
  const { job } = options;
  const { settings, problems } = checkLockOptions(options, module);
  const all = [...unknownOptions(options, 'run'), ...problems];
  if (job !== undefined) all.push(...invalidNames({ job }));
  const tick = readOption('tick', options.tick, all);
  const signal = readOption('signal', options.signal, all);
  if (all.length > 0)
    throw new SchedulerLockConfigError(all.map((problem) => `lock ${quoted(name)}: ${problem}`));
  const start = tick === undefined ? undefined : { tick };
  return { kind: 'by-hand', name, job, settings, start, signal };
}

const quoted = (name: unknown): string =>
  typeof name === 'string' ? JSON.stringify(name) : displayName(name);
