import { LockStateError, StoreUnavailableError } from '../base/errors.js';
import type { Asked } from './access/asked.js';
import type { AcquireRequest, AcquireResult, LeaseRef } from '../contract/lock-store.js';
import { AskedTwice } from './asked-twice.js';
import type { Release } from './release.js';
import type { Releases } from './releases.js';

/** Whether a call that failed has certainly changed nothing. */
export function wasNotApplied(error: Error): boolean {
  return (
    error instanceof LockStateError ||
    (error instanceof StoreUnavailableError && error.outcome === 'not-applied')
  );
}

/** An acquire that is to be undone. */
interface Undone {
  readonly asked: Asked<AcquireResult> | AskedTwice;
  /** Whether it records the start of a job. */
  readonly isStart: boolean;
}

/**
 * Undoes an acquire that the store may have carried out: releases the lease that it may have taken, at once, and again
 * when the store answers the acquire after all.
 */
export function undo(releases: Releases, request: AcquireRequest, { asked, isStart }: Undone): void {
  const lease = { ...request, fencingToken: 0 };
  if (asked instanceof AskedTwice) return undoTwice(releases, releases.abandon(lease, asked.limit, 2), asked);
  const release = releases.abandon(lease, asked.limit, 1);
  const leavesNothing = !isStart && request.wait === undefined;
  asked.listen((outcome) => {
    if ('result' in outcome) {
      const { result } = outcome;
      // A client may have sent the acquire twice. If the lease of the first copy ran out in between, its start refuses the second one.
      // A call that waits may stand in the store's line.
      if (!result.acquired && leavesNothing) return releases.end(release);
      release.arrived(result.acquired ? result.fencingToken : 0);
    } else {
      // A refusal of the second copy says nothing about the first one.
      if (wasNotApplied(outcome.error) && leavesNothing) return releases.end(release);
      release.failedLate();
    }
    releases.tryNow(release);
  });
}

/** The answer to one copy of an acquire says nothing about the other copy: only time ends that one. */
function undoTwice(releases: Releases, release: Release, asked: AskedTwice): void {
  asked.listen(() => {
    release.copyArrived();
    releases.tryNow(release);
  });
}

/** A copy that is carried out when the run is over, and granted even so, leaves a lease behind that nobody uses. */
export function undoOthers(releases: Releases, lease: LeaseRef, asked: AskedTwice): void {
  asked.listen((outcome) => {
    if (!('result' in outcome) || !outcome.result.acquired) return;
    const { fencingToken } = outcome.result;
    if (fencingToken !== lease.fencingToken) releases.abandon({ ...lease, fencingToken }, asked.limit);
  });
}
