import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';

/** Room that ShedLock's column `locked_by` has, characters. */
const COLUMN_LENGTH = 255;
/** A slash, a UUID, another slash and the longest outcome. */
const RESERVED = 1 + 36 + 1 + 'completed'.length;

const OUTCOMES: readonly ReleaseOutcome[] = ['completed', 'failed', 'timed-out', 'aborted', 'abandoned'];

/** What a `locked_by` says. */
export interface Holding {
  /** Instance id of the holder; of one that is not ours, whatever it calls itself. */
  readonly holder: string;
  /** How the lease ended, if it was given back. */
  readonly outcome: ReleaseOutcome | undefined;
}

/**
 * What a lease puts into `locked_by`: `instance/token`, and `instance/token/outcome` once it was given back. Whoever
 * takes the lock over replaces it as a whole, a ShedLock too: a mark of its own for the end would outlive the lease.
 */
export function lockedBy({ holder, token }: Pick<LeaseRef, 'holder' | 'token'>): string {
  return `${holder.slice(0, COLUMN_LENGTH - RESERVED)}/${token}`;
}

/** `instance/token`, and `/outcome` behind it: a token is a UUID, so that the name of a host is not taken for ours. */
const OURS = /^(.*)\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\/([a-z-]+))?$/s;

/** Reads a `locked_by`. One that is not ours is a holder as it is. */
export function holdingOf(text: string): Holding {
  const [, holder = text, end] = OURS.exec(text) ?? [];
  const outcome = OUTCOMES.find((each) => each === end);
  return { holder, outcome };
}
