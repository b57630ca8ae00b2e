import { given } from '../../base/shared.js';
import { pauseNow } from '../controls.js';
import type { LockInfo } from '../../contract/lock-info.js';
import { Given, MAX_PAUSE, USUAL_PAUSE } from './check.js';
import { actOf, type Desk, EVERY } from './desk.js';
import type { PauseRequest, PauseResult, ResumeRequest, ResumeResult } from './types.js';

/** Pauses a lock. The note comes first: if this process dies in between, the entry says who asked. */
export async function pause(desk: Desk, request: PauseRequest): Promise<PauseResult> {
  const asked = new Given('pause()', request, true);
  asked.target(request);
  const length = asked.duration('for', request.for, { usual: USUAL_PAUSE, most: MAX_PAUSE });
  const wait = asked.duration('wait', request.wait, { usual: 0, most: 3_600_000 });
  asked.done();
  const found = await desk.find(request);
  if ('result' in found) return found;
  const { lock, jobs } = found;
  const info = await desk.look(lock);
  const known = pauseNow(info);
  if (info !== undefined && known !== undefined)
    return { result: 'paused-already', pause: known, jobs, time: info.time };
  const now = await desk.timeOf(info);
  const act = { ...actOf('pause', request), until: now + length };
  const id = await desk.note(lock, act, now);
  const { actor, reason } = request;
  const { id: of, ...paused } = await desk.ask(desk.pauses.pause(lock, { id, actor, reason, length }));
  const pause = { lock, ...paused };
  // Somebody else was faster.
  if (of !== id) return { result: 'paused-already', pause, jobs, time: now };
  desk.tell(lock, act);
  const running = await runThere(desk, request, lock, wait);
  return { result: 'paused', pause, jobs, ...(running && { running }) };
}

/** The run that goes on under a lock. Waits for its end, so many milliseconds at most. */
async function runThere(
  desk: Desk,
  { onWaiting }: Pick<PauseRequest, 'onWaiting'>,
  lock: string,
  wait: number,
): Promise<Pick<LockInfo, 'holder' | 'fencingToken'> | undefined> {
  const deadline = desk.clock.monotonic() + wait;
  let first: LockInfo | undefined;
  for (;;) {
    // The pause is in force, also if the store is away now.
    const info = await desk.look(lock).catch(() => first);
    if (info?.state !== 'held' || isOther(info, first)) return undefined;
    const { holder, fencingToken } = info;
    if (desk.clock.monotonic() >= deadline || desk.closing.aborted) return given({ holder, fencingToken });
    if (first === undefined) onWaiting?.(holder);
    first = info;
    await desk.wait(EVERY);
  }
}

/** Whether the lock has another lease by now: one that goes through the pause. */
const isOther = (info: LockInfo, first: LockInfo | undefined): boolean =>
  first !== undefined && info.fencingToken !== first.fencingToken;

/** Ends a pause: that of this person, or of another one. */
export async function resume(desk: Desk, request: ResumeRequest): Promise<ResumeResult> {
  const asked = new Given('resume()', request, false);
  asked.target(request);
  asked.done();
  const found = await desk.find(request);
  if ('result' in found) return found;
  const { lock, jobs } = found;
  const info = await desk.look(lock);
  const pause = pauseNow(info);
  if (info?.paused === undefined || pause === undefined) return { result: 'not-paused', lock };
  const act = actOf('resume', request);
  await desk.note(lock, act, info.time);
  if (!(await desk.ask(desk.pauses.resume(lock, info.paused)))) return { result: 'not-paused', lock };
  await desk.announce();
  desk.tell(lock, act);
  return { result: 'resumed', pause, jobs, time: info.time };
}
