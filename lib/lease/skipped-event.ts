import { displayName } from '../lock-name.js';
import type { Writable } from './writable.js';
import type { SkippedEvent } from '../events/events.js';
import type { LockCall, Skipped } from './lock-call.js';

/**
 * The event for a call that did not run its job. Set field by field: every refusal takes this path, and spreads cost several times
 * as much.
 */
export function skippedEvent(
  { name, job, start }: LockCall,
  { reason, holder, expiresIn, tick, finished, storeTime, error }: Skipped,
  instance: string,
  at: number,
): SkippedEvent {
  const lock = reason === 'invalid-name' ? displayName(name) : name;
  const event: Writable<SkippedEvent> = { type: 'skipped', lock, instance, at, reason };
  if (job !== undefined) event.job = job;
  if (start?.tick !== undefined) event.callTick = start.tick;
  if (holder !== undefined) event.holder = holder;
  if (expiresIn !== undefined) event.expiresIn = expiresIn;
  if (tick !== undefined) event.tick = tick;
  if (finished !== undefined) event.finished = finished;
  if (storeTime !== undefined) event.storeTime = storeTime;
  if (error !== undefined) event.error = error;
  return event;
}
