import { SchedulerLockConfigError } from '../errors.js';
import { Given } from './check.js';
import { actOf, type Desk } from './desk.js';
import { note } from './lifts.js';
import type { RedeliverRequest, RedeliverResult } from './types.js';

/** Puts dead letters of a lock back, and notes who did. */
export async function redeliver(desk: Desk, request: RedeliverRequest): Promise<RedeliverResult> {
  const given = new Given('redeliver()');
  given.name('lock', request.lock);
  given.actor(request.actor);
  given.reason(request.reason, false);
  given.done();
  const { lock, id } = request;
  const { store, clock } = desk;
  if (store.queuedCalls === undefined)
    throw new SchedulerLockConfigError(['redeliver(): the store keeps no queued calls.']);
  const count = await desk.ask(store.queuedCalls.redeliver(lock, id));
  if (count === 0) return { result: 'redelivered', lock, count };
  const act = { ...actOf('redeliver', request), count };
  const time = (await desk.look(lock))?.time ?? clock.now();
  await note(desk, lock, act, time);
  desk.tell(lock, act);
  return { result: 'redelivered', lock, count };
}
