import { pauseNow } from '../controls.js';
import type { PauseInfo } from '../types.js';
import type { ControlAct } from '../../contract/history-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import { readPause } from '../../contract/pause.js';
import { Given } from './check.js';
import { actOf, type Desk, type Found } from './desk.js';
import { entriesOf, entryOf, liftedPause, note } from './lifts.js';
import type { By, ResumeRequest, ResumeResult } from './types.js';

/** Ends a pause: the lease that this person, or another one, holds. */
export async function resume(desk: Desk, request: ResumeRequest): Promise<ResumeResult> {
  const given = new Given('resume()');
  given.target(request);
  given.actor(request.actor);
  given.reason(request.reason, false);
  given.done();
  const found = await desk.find(request);
  if ('result' in found) return found;
  const { lock, jobs } = found;
  const info = await desk.look(lock);
  const known = pauseNow(info);
  if (known === undefined || info === undefined)
    return resumeLifted(desk, found, { request, now: desk.timeOf(info) ?? desk.clock.now() });
  const isOver = await endPause(desk, info, known, request);
  return isOver ? { result: 'resumed', pause: known, jobs, time: info.time } : { result: 'not-paused', lock };
}

/**
 * Keeps a pause that was lifted for one run from coming back.
 *
 * @param now by the store's clock, epoch ms
 */
async function resumeLifted(
  desk: Desk,
  { lock, jobs }: Found,
  { request, now }: { readonly request: ResumeRequest; readonly now: number },
): Promise<ResumeResult> {
  const holder = liftedPause(await entriesOf(desk, lock), now);
  const lifted = readPause(holder);
  if (lifted === undefined) return { result: 'not-paused', lock };
  // The caller that puts the pause back looks for this note afterwards: either that caller sees the note, or the pause is seen here.
  const act = actOf('resume', request);
  await note(desk, lock, act, now);
  const again = await desk.look(lock);
  const back = again?.holder === holder ? pauseNow(again) : undefined;
  const isOver = again !== undefined && back !== undefined && (await endPause(desk, again, back, request));
  if (!isOver) desk.tell(lock, act);
  const pause = back ?? { lock, ...lifted, since: now, fencingToken: 0 };
  return { result: 'resumed', pause, jobs, time: again?.time ?? now };
}

/**
 * @param by with the id of the call, if the pause is lifted for its run
 * @returns whether this call has ended the pause
 */
export async function endPause(
  desk: Desk,
  info: LockInfo,
  pause: PauseInfo,
  { call, ...by }: By & Pick<ControlAct, 'call'>,
): Promise<boolean> {
  const { lock: name, fencingToken, since, until } = pause;
  // The entry of the end of a pause takes the place of that of its begin, which says who had paused the lock.
  const begin = (await entryOf(desk, pause))?.by;
  const act = actOf('resume', by, begin?.action === 'pause' ? begin : undefined);
  const { token = '', holder = '', time } = info;
  const lease = { name, token, fencingToken, ttl: Math.max(1, until - time), holder };
  return desk.end(lease, call === undefined ? act : { ...act, call }, time - since);
}
