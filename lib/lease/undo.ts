import { LockStateError, StoreUnavailableError } from '../errors.js';
import type { Asked } from '../store-access/asked.js';
import type { AcquireRequest, AcquireResult } from '../stores/lock-store.js';
import type { Releases } from './releases.js';

/** Whether a call that failed has certainly changed nothing. */
export function wasNotApplied(error: Error): boolean {
  return (
    error instanceof LockStateError ||
    (error instanceof StoreUnavailableError && error.outcome === 'not-applied')
  );
}

/**
 * Undoes an acquire that has failed, unless it was certainly not carried out: releases what it may have taken, at once, and again
 * when it is answered after all.
 *
 * @param isStart whether it records the start of a job
 */
export function undo(
  releases: Releases,
  request: AcquireRequest,
  { asked, error, isStart }: { asked: Asked<AcquireResult>; error: Error; isStart: boolean },
): void {
  if (wasNotApplied(error)) return;
  const release = releases.abandon({ ...request, fencingToken: 0 }, asked.limit, true);
  const leavesNothing = !isStart && request.wait === undefined;
  asked.listen((outcome) => {
    if ('result' in outcome) {
      const { result } = outcome;
      // A client may have sent it twice. Then its own start can refuse it, if the lease ran out in between. A call in line stands there.
      if (!result.acquired && leavesNothing) return releases.end(release);
      release.arrived(result.acquired ? result.fencingToken : 0);
    } else {
      // That the store refuses a second copy says nothing of the first one.
      if (wasNotApplied(outcome.error) && leavesNothing) return releases.end(release);
      release.failedLate();
    }
    releases.tryNow(release);
  });
}
