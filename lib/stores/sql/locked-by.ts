import { LOCKED_BY_LENGTH, holderText } from '../holder-text.js';
import type { LeaseRef, ReleaseOptions, ReleaseOutcome } from '../lock-store.js';
import { NOTHING_RAN } from '../rules.js';

/** A slash, a UUID, another slash and the longest outcome. */
const RESERVED = 1 + 36 + 1 + 'completed'.length;

/** How a lease can end. The `locked_by` of a released lease ends with one of these. */
export const OUTCOMES: readonly ReleaseOutcome[] = [
  'completed',
  'failed',
  'timed-out',
  'aborted',
  'abandoned',
];

/** How a lease ends. */
export type Ending = Required<Omit<ReleaseOptions, 'record'>>;

/** The content of a `locked_by`. */
export interface LockedBy {
  /** Instance id of the holder; the whole text if the lease is not ours. */
  readonly holder: string;
  /** The token of the lease; `undefined` for a lease that is not ours. */
  readonly token: string | undefined;
  /** How the lease ended, if it was released. */
  readonly outcome: ReleaseOutcome | undefined;
}

/**
 * What a lease writes into `locked_by`: `instance/token`, and `instance/token/outcome` once it was released. The next holder, a
 * ShedLock too, replaces the whole text. A mark in a column of its own would outlive the lease.
 */
export function lockedBy({ holder, token }: Pick<LeaseRef, 'holder' | 'token'>): string {
  return `${holderText(holder, LOCKED_BY_LENGTH - RESERVED)}/${token}`;
}

function readable(holder: string): string {
  try {
    return decodeURIComponent(holder);
  } catch {
    return holder;
  }
}

/** The `locked_by` of a row that keeps a lock free for a holder who may write the lease back. */
export const NOBODY = '/00000000-0000-0000-0000-000000000000';

/** The `locked_by` after the release. */
export function endedBy(by: string, outcome: ReleaseOutcome): string {
  return `${by}/${outcome}`;
}

/**
 * Whether a release only has to record the end of the lease: the lease has no job and no tick, and its lock becomes free at
 * once.
 */
export function isPlain({ job, tick }: LeaseRef, { outcome, keepFor }: Ending): boolean {
  return job === undefined && tick === undefined && outcome !== NOTHING_RAN && keepFor === 0;
}

/** `instance/token`, perhaps with `/outcome` behind it. A token is a UUID, so no host name matches. */
const OURS = /^(.*)\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/([a-z-]+))?$/s;

/** Whether a lease of this library has written this `locked_by`. */
export function isOurs(text: string): boolean {
  return OURS.test(text);
}

/** Whether a lease of this library has written this `locked_by`, and was not released. */
export function isUnended(text: string): boolean {
  return text !== NOBODY && isOurs(text) && readLockedBy(text).outcome === undefined;
}

/** Parses a `locked_by`. A text that is not ours is the holder as a whole. */
export function readLockedBy(text: string): LockedBy {
  const [, ours, token, end] = OURS.exec(text) ?? [];
  const outcome = OUTCOMES.find((each) => each === end);
  return { holder: ours === undefined ? text : readable(ours), token, outcome };
}
