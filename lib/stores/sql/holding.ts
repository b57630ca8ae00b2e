import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';

/** Room that ShedLock's column `locked_by` has, characters. */
const COLUMN_LENGTH = 255;
/** A slash, a UUID, another slash and the longest outcome. */
const RESERVED = 1 + 36 + 1 + 'completed'.length;

const OUTCOMES: readonly string[] = [
  'completed',
  'failed',
  'timed-out',
  'aborted',
  'abandoned',
] satisfies ReleaseOutcome[];

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

/** Reads a `locked_by`. A name that only looks like one of ours is taken as it is. */
export function holdingOf(text: string): Holding {
  const [, lease = text, last] = /^(.*\/.*)\/([a-z-]+)$/s.exec(text) ?? [];
  const outcome = OUTCOMES.includes(last ?? '') ? (last as ReleaseOutcome) : undefined;
  const [, holder = text] = /^(.*)\/[^/]+$/s.exec(outcome === undefined ? text : lease) ?? [];
  return { holder, outcome };
}
