import type { LockInfo } from '../../contract/lock-info.js';
import {
  expiresIn,
  holderOf,
  isTaken,
  type LockDocument,
  lockState,
  openLease,
  pauseOf,
} from './document.js';
import { given } from '../../base/shared.js';
import { jobInfos } from './starts.js';
import type { Miss } from '../../contract/history-store.js';

/** Rule 9: what `acquire` would find. @param now of the database */
export function inspect(name: string, document: LockDocument, now: number): LockInfo {
  const { lease, since, starts } = document;
  const state = lockState(document, now);
  const open = openLease(document);
  return {
    name,
    time: Math.trunc(now),
    state,
    ...holderOf(document),
    since: Math.trunc(since),
    ...(state === 'free' ? undefined : expiresIn(document, now)),
    ...given({
      fencingToken: lease?.fencingToken,
      token: state === 'held' ? open?.token : undefined,
      job: lease?.job,
      interrupted: state === 'free' && open !== undefined ? true : undefined,
      paused: pauseOf(document, now),
    }),
    jobs: jobInfos(starts),
  };
}

/** What a miss is judged by. */
export interface SeenStarts {
  /** The time of the database. */
  readonly now: number;
  /** The job whose run goes on. */
  readonly running?: string | undefined;
  /** The last tick of each job that was started, or when its interval is due again. */
  readonly starts: ReadonlyMap<string, { readonly tick?: number; readonly due?: number }>;
}

/** What a lock tells of starts. @param now of the database */
export function startsIn(document: LockDocument, now: number): SeenStarts {
  const running = isTaken(document, now) ? openLease(document)?.job : undefined;
  return { now, running, starts: document.starts };
}

/** Rule 17: the tick that was missed, or when an interval was due; `undefined` if no tick was missed. */
export function missedTick(
  { now, running, starts }: SeenStarts,
  { job, tick, grace = 0 }: Pick<Miss, 'job' | 'tick' | 'grace'>,
): number | undefined {
  // A run of the job goes on.
  if (running === job) return undefined;
  const { tick: last, due } = starts.get(job) ?? {};
  if (due !== undefined) return due + grace <= now ? due : undefined;
  return last === undefined || last < tick ? tick : undefined;
}

/** Whether a miss is told late, and a newer tick was started since, which hides whether this one was. */
export function isHidden({ starts }: SeenStarts, { job, tick, late = false }: Miss): boolean {
  return late && (starts.get(job)?.tick ?? -Infinity) > tick;
}
