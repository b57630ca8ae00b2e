import type { LockInfo } from '../../contract/lock-info.js';
import { lockState } from './cooling-down.js';
import { expiresIn, holderOf, type LockDocument } from './document.js';
import { jobInfos } from './starts.js';

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
    jobs: jobInfos(starts),
  };
}
