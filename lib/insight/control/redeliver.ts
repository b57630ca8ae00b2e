import type { LockInfo } from '../../contract/lock-info.js';
import { Given } from './check.js';
import { actOf, type Desk } from './desk.js';
import type { RedeliverRequest, RedeliverResult } from './types.js';

/** Puts dead letters of a lock back. The note comes first: if this process dies in between, the entry says who asked. */
export async function redeliver(desk: Desk, request: RedeliverRequest): Promise<RedeliverResult> {
  const given = new Given('redeliver()', request, false);
  given.name('lock', request.lock);
  if (request.id !== undefined) given.name('id', request.id);
  given.done();
  const { lock } = request;
  const { store } = desk;
  const info = await desk.look(lock);
  const wanted = wantedOf(info, request);
  if (wanted === 0) return { result: 'redelivered', lock, count: 0 };
  const act = actOf('redeliver', request);
  const asked = wanted === undefined ? act : { ...act, count: wanted };
  if (info !== undefined) await desk.note(lock, asked, info.time);
  const count = await desk.ask(store.queuedCalls.redeliver(lock, request.id));
  if (count > 0) {
    await desk.announce();
    // A mistyped name gets no history.
    if (info === undefined) await desk.note(lock, { ...act, count }, await desk.timeOf(info));
    desk.tell(lock, { ...act, count });
  }
  return { result: 'redelivered', lock, count };
}

/** How many dead letters are meant; `undefined`: the store cannot tell, so it is tried. */
function wantedOf(info: LockInfo | undefined, { id }: RedeliverRequest): number | undefined {
  // Redis forgets a lock after a day, and keeps dead letters for a week.
  if (info === undefined || info.unknown !== undefined) return undefined;
  return info.dead?.filter((letter) => id === undefined || letter.id === id).length ?? 0;
}
