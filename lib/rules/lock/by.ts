import { LOCKED_BY_LENGTH, holderText } from '../../contract/holder-text.js';
import type { ReleaseOutcome } from '../../contract/lock-store.js';
import type { Lease } from './document.js';

/** A slash, a UUID, another slash, a fencing token, one more slash and the longest outcome. */
const RESERVED = 1 + 36 + 1 + String(Number.MAX_SAFE_INTEGER).length + 1 + 'completed'.length;

/**
 * What a lease writes into `by`: `instance/token/fencing token`, and the outcome behind it once it was released. So it is another one for
 * each lease, and for one that has ended: what is compared with it is compared with this very lease while it lives.
 */
export function byOf({ holder, token, fencingToken }: Lease, ended?: ReleaseOutcome): string {
  const lease = `${holderText(holder, LOCKED_BY_LENGTH - RESERVED)}/${token}/${fencingToken}`;
  return ended === undefined ? lease : `${lease}/${ended}`;
}
