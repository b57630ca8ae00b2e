import type { LockInfo } from '../../contract/lock-info.js';
import { expiresIn, holderOf, isTaken, type LockDocument, lockState, pauseOf } from './document.js';
import { jobInfos } from './starts.js';
import type { Miss } from '../../contract/history-store.js';

/** Rule 9: what `acquire` would find. @param now of the database */
export function inspect(name: string, document: LockDocument, now: number): LockInfo {
  const { lease, ended, stranger, since, starts } = document;
  const state = lockState(document, now);
  const isInterrupted =
    state === 'free' && stranger === undefined && lease !== undefined && ended === undefined;
  return {
    name,
    time: Math.trunc(now),
    state,
    ...holderOf(document),
    since: Math.trunc(since),
    ...(state === 'free' ? undefined : expiresIn(document, now)),
    ...(lease === undefined ? undefined : { fencingToken: lease.fencingToken }),
    ...(lease === undefined || state !== 'held' || stranger !== undefined
      ? undefined
      : { token: lease.token }),
    ...(lease?.job === undefined ? undefined : { job: lease.job }),
    ...(isInterrupted ? { interrupted: true } : undefined),
    ...pausedIn(document, now),
    jobs: jobInfos(starts),
  };
}

const pausedIn = (document: LockDocument, now: number): Pick<LockInfo, 'paused'> => {
  const paused = pauseOf(document, now);
  return paused === undefined ? {} : { paused };
};

/** What a miss is judged by. */
export interface SeenStarts {
  /** The job whose run goes on. */
  readonly running?: string | undefined;
  /** The last tick of each job that was started, or when its interval is due again. */
  readonly starts: ReadonlyMap<string, { readonly tick?: number } | { readonly due?: number }>;
}

/** What a lock tells of starts. @param now of the database */
export function startsIn(document: LockDocument, now: number): SeenStarts {
  const { lease, ended, stranger, starts } = document;
  const isOurs = ended === undefined && stranger === undefined && isTaken(document, now);
  return { running: isOurs ? lease?.job : undefined, starts };
}

/** Rule 17: the tick that was missed, or when an interval was due; `undefined` if no tick was missed. @param now of the database */
export function missedTick(
  { running, starts }: SeenStarts,
  now: number,
  { job, tick, grace = 0 }: Pick<Miss, 'job' | 'tick' | 'grace'>,
): number | undefined {
  // A run of the job goes on.
  if (running === job) return undefined;
  const { tick: last, due } = startOf(starts, job);
  if (due !== undefined) return due + grace <= now ? due : undefined;
  return last === undefined || last < tick ? tick : undefined;
}

/** Whether a miss is told late, and a newer tick was started since, which hides whether this one was. */
export function isHidden({ starts }: SeenStarts, { job, tick, late = false }: Miss): boolean {
  return late && (startOf(starts, job).tick ?? -Infinity) > tick;
}

const startOf = (
  starts: SeenStarts['starts'],
  job: string,
): { readonly tick?: number; readonly due?: number } => starts.get(job) ?? {};
