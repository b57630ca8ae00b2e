import type { LockInfo } from '../contract/lock-info.js';
import { isOn } from './facts.js';
import type { LockFacts } from './join.js';
import type { Judgement } from './judgement.js';
import type { Fleet } from './read.js';
import { RECHECK, recheckOf, REPLACED } from './recheck.js';
import type { SeenJob } from './seen-job.js';
import type { Watcher } from './watched-job.js';

/* What the store is asked about the jobs that one instance sees, and what becomes of its answer. */

export const locksOf = (states: readonly SeenJob[]): string[] => [
  ...new Set(states.map(({ job }) => job.lock)),
];

/** Gives each job what the store has answered about its lock. */
export function takeLocks(
  states: readonly SeenJob[],
  asOf: number,
  locks: ReadonlyMap<string, LockFacts>,
  { instance, runs }: Pick<Watcher, 'instance' | 'runs'>,
): void {
  const here = new Set(runs().map(({ fencingToken }) => fencingToken));
  const isKnown = ({ holder, fencingToken = 0 }: LockInfo): boolean =>
    holder !== instance || here.has(fencingToken);
  for (const state of states) {
    const { lockRefusal, ...told } = locks.get(state.job.lock) ?? { entries: [] };
    // Asks again later, as if the store had not answered.
    if (lockRefusal !== undefined) throw lockRefusal;
    state.take(asOf, told, isKnown);
  }
}

/** Who was there when the store was asked, by its clock. */
export type AskedFleet = Fleet & { readonly askedAt: number };

/**
 * Notes until when jobs were off that were off everywhere when the store was asked `before`. Somebody may have switched such a job on since
 * then, at a time that nobody knows. If an instance that has it on has started since then, that start is the time at which it was switched
 * on; so is the start of one that had not told of itself yet.
 *
 * @param instance the one that asks
 */
export function noteOff(
  states: readonly SeenJob[],
  before: AskedFleet | undefined,
  { jobs, askedAt }: AskedFleet,
  instance: string,
): void {
  const from = before?.askedAt ?? -Infinity;
  for (const state of states) {
    const { job } = state.job;
    const known = new Set(before?.jobs.get(job)?.map((by) => by.instance));
    const began = (jobs.get(job) ?? []).filter(
      (by) =>
        by.instance !== instance &&
        isOn(by.job) &&
        by.startedAt > (known.has(by.instance) ? from : from - REPLACED),
    );
    state.offUntil = Math.min(askedAt, from + RECHECK, ...began.map(({ startedAt }) => startedAt - 1));
  }
}

/**
 * After what time to look at a job again, ms.
 *
 * @param now by the store's clock
 * @param own by this machine's
 */
export function againAfter(
  { job, since, disagreeSince, told }: SeenJob,
  judgement: Judgement,
  { instance, withTicks }: Pick<Watcher, 'instance' | 'withTicks'>,
  { now, own }: { readonly now: number; readonly own: number },
): number {
  return recheckOf(judgement, {
    instance,
    withTicks,
    interval: job.interval,
    hasNext: job.dates.next(now) < Infinity,
    leaseLeft: told.lock?.expiresIn,
    disagreeFor: disagreeSince === undefined ? undefined : now - disagreeSince,
    seenFor: own - since,
  });
}
