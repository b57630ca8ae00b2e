import { LockTimeoutError } from '../base/errors.js';
import type { ReleaseOutcome } from '../contract/lock-store.js';

/** How a run has ended. @param failed whether its job has thrown */
export function outcomeOf(
  { abortReason }: { readonly abortReason: unknown },
  failed: boolean,
): Exclude<ReleaseOutcome, 'abandoned'> {
  if (abortReason instanceof LockTimeoutError) return 'timed-out';
  if (abortReason !== undefined) return 'aborted';
  return failed ? 'failed' : 'completed';
}

/** How many failing jobs are remembered at most: a caller can make up a name per call. */
const MAX_FAILING = 1_000;

export function noteFailure(failing: Set<string>, job: string | undefined, outcome: ReleaseOutcome): void {
  const failed = outcome === 'failed' || outcome === 'timed-out';
  if (!failed && failing.size === 0) return;
  if (job === undefined) return;
  if (!failed) failing.delete(job);
  else if (failing.size < MAX_FAILING) failing.add(job);
}
