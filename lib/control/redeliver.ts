import { SchedulerLockConfigError } from '../errors.js';
import { Given } from './check.js';
import { actOf, type Desk } from './desk.js';
import type { RedeliverRequest, RedeliverResult } from './types.js';

/** Puts dead letters of a lock back, and notes who has. */
export async function redeliver(desk: Desk, request: RedeliverRequest): Promise<RedeliverResult> {
  const given = new Given('redeliver()');
  given.name('lock', request.lock);
  given.actor(request.actor);
  given.reason(request.reason, false);
  given.done();
  const { lock, id, actor } = request;
  const { store, kept, clock } = desk;
  if (store.queuedCalls === undefined)
    throw new SchedulerLockConfigError(['redeliver(): the store keeps no queued calls.']);
  const count = await desk.ask(store.queuedCalls.redeliver(lock, id));
  if (count === 0) return { result: 'redelivered', lock, count };
  const act = { ...actOf('redeliver', request), count };
  const time = (await desk.look(lock))?.time ?? clock.now();
  // It belongs to no lease: the number only says when it was.
  const fencingToken = time * 1_000 + Math.floor(Math.random() * 1_000);
  await desk.ask(desk.history.interrupted({ name: lock, fencingToken, holder: actor, kept, by: act }));
  desk.tell(lock, act);
  return { result: 'redelivered', lock, count };
}
