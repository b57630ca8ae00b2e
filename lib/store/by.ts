import type { ReleaseOutcome } from '../stores/lock-store.js';
import type { Lease } from './rules/document.js';

/** The length of ShedLock's column `locked_by`, characters. */
export const BY_LENGTH = 255;
/** A slash, a UUID, another slash, a fencing token, one more slash and the longest outcome. */
const RESERVED = 1 + 36 + 1 + String(Number.MAX_SAFE_INTEGER).length + 1 + 'completed'.length;

/**
 * What a lease writes into `by`: `instance/token/fencing token`, and the outcome behind it once it was released. So it is another one for
 * each lease, and for one that has ended: what is compared with it is compared with this very lease while it lives.
 */
export function byOf({ holder, token, fencingToken }: Lease, ended?: ReleaseOutcome): string {
  const lease = `${written(holder)}/${token}/${fencingToken}`;
  return ended === undefined ? lease : `${lease}/${ended}`;
}

/** An instance id in ASCII, as a column may have any character set: one that replaced a character would never match in comparisons. */
function written(holder: string): string {
  const room = BY_LENGTH - RESERVED;
  if (/^[ -$&-~]*$/.test(holder)) return holder.slice(0, room);
  let text = '';
  for (const char of holder) {
    const next = /[ -$&-~]/.test(char) ? char : escaped(char);
    // Half an escaped character would be unreadable.
    if (text.length + next.length > room) break;
    text += next;
  }
  return text;
}

/** Percent-encoded, as in a URL. */
function escaped(char: string): string {
  return [...Buffer.from(char)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}
