import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';

/** Room that ShedLock's column `locked_by` has, characters. */
export const HOLDING_LENGTH = 255;
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
  return `${written(holder)}/${token}`;
}

/**
 * An instance id as the column has it: in ASCII, as a column may have any character set, and one that replaced a character
 * would never be equal to what is compared with it.
 */
function written(holder: string): string {
  const room = HOLDING_LENGTH - RESERVED;
  if (/^[ -$&-~]*$/.test(holder)) return holder.slice(0, room);
  let text = '';
  for (const char of holder) {
    const next = /[ -$&-~]/.test(char) ? char : escaped(char);
    // Half of a character could not be read.
    if (text.length + next.length > room) break;
    text += next;
  }
  return text;
}

/** As a URL has it. */
function escaped(char: string): string {
  return [...Buffer.from(char)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

function readable(holder: string): string {
  try {
    return decodeURIComponent(holder);
  } catch {
    return holder;
  }
}

/** What is left in `locked_by` when the lease has been given back. */
export function endedBy(by: string, outcome: ReleaseOutcome): string {
  return `${by}/${outcome}`;
}

/** `instance/token`, and `/outcome` behind it: a token is a UUID, so that the name of a host is not taken for ours. */
const OURS = /^(.*)\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\/([a-z-]+))?$/s;

/** Reads a `locked_by`. One that is not ours is a holder as it is. */
export function holdingOf(text: string): Holding {
  const [, ours, end] = OURS.exec(text) ?? [];
  const outcome = OUTCOMES.find((each) => each === end);
  return { holder: ours === undefined ? text : readable(ours), outcome };
}
