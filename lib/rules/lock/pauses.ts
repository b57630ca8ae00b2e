import type { Standing } from '../../contract/line.js';
import type { NewPause, Pause } from '../../contract/pause.js';
import {
  type Decision,
  FREE,
  isTaken,
  type LockDocument,
  type LockRecord,
  NOTHING,
  pauseOf,
} from './document.js';
import { lineOf, nextTurn } from './in-line.js';

/** Rule 19: pauses a lock, unless it is paused. @param now of the database */
export function pause(
  document: LockDocument | undefined,
  now: number,
  { length, ...by }: NewPause,
): Decision<Pause> {
  const known = pauseOf(document, now);
  if (known !== undefined) return { answer: known };
  const paused = { ...by, since: Math.trunc(now), until: Math.trunc(now) + length };
  const kept = withPause(document, paused);
  return { answer: paused, change: document === undefined ? { kept, end: FREE } : { kept } };
}

/** Rule 19: ends the pause with this id. If the lock is free, the first in line has its turn. */
export function resume(
  document: LockDocument | undefined,
  now: number,
  id: number,
  standing: readonly Standing[] = [],
): Decision<boolean> {
  if (document === undefined || pauseOf(document, now)?.id !== id) return { answer: false };
  const after = { ...document, ...withPause(document) };
  const { change = { kept: after }, hint } =
    standing.length === 0 || isTaken(document, now) ? {} : nextTurn(after, lineOf(after, standing), now);
  return { answer: true, change, ...(hint && { hint }) };
}

const withPause = (document: LockRecord = NOTHING, paused?: Pause): LockRecord => ({
  ...document,
  more: { ...document.more, paused },
});
