import type { NewPause, Pause } from '../../contract/pause.js';
import { type Decision, FREE, type LockDocument, type LockRecord, NOTHING, pauseOf } from './document.js';

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

/** Rule 19: ends the pause with this id. */
export const resume = (document: LockDocument | undefined, now: number, id: number): Decision<boolean> =>
  document === undefined || pauseOf(document, now)?.id !== id
    ? { answer: false }
    : { answer: true, change: { kept: withPause(document) } };

const withPause = (document: LockRecord = NOTHING, paused?: Pause): LockRecord => ({
  ...document,
  more: { ...document.more, paused },
});
