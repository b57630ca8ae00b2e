import { pauseNow } from '../insight/controls.js';
import type { PauseInfo } from '../insight/types.js';
import type { ControlAct } from '../stores/history-store.js';
import type { LockInfo } from '../stores/lock-info.js';
import { readPause } from '../stores/pause.js';
import { Given } from './check.js';
import { actOf, type Desk, type Found } from './desk.js';
import { entriesOf, liftedPause, note } from './lifts.js';
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
  { lock, fencingToken, since, until }: PauseInfo,
  { call, ...by }: By & Pick<ControlAct, 'call'>,
): Promise<boolean> {
  const started = await pauseAct(desk, lock, fencingToken);
  const act = {
    ...actOf('resume', by),
    ...(call !== undefined && { call }),
    ...(started !== undefined && { started }),
  };
  const lease = {
    name: lock,
    token: info.token ?? '',
    fencingToken,
    ttl: Math.max(1, until - info.time),
    holder: info.holder ?? '',
  };
  const record = { kept: desk.kept, duration: Math.max(0, info.time - since), by: act };
  // With this outcome, completed runs do not push the record out of the history.
  const { released } = await desk.ask(desk.store.release(lease, { outcome: 'aborted', record }));
  if (!released) return false;
  await desk.noted(lock);
  desk.tell(lock, act, { fencingToken });
  return true;
}

/** Who had paused a lock: the entry of the end of a pause takes the place of that of its begin. */
async function pauseAct(desk: Desk, lock: string, fencingToken: number): Promise<ControlAct | undefined> {
  const entries = await entriesOf(desk, lock).catch(() => []);
  const begin = entries.find((entry) => entry.type === 'run' && entry.fencingToken === fencingToken);
  return begin?.type === 'run' && begin.by?.action === 'pause' ? begin.by : undefined;
}
