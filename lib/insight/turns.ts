import { type Clock, nextTurn, systemClock } from '../base/clock.js';

/** How long one stretch of work may last before the event loop has its turn, ms. */
const TURN = 5;

/**
 * Calls a function for each, a few milliseconds at a stretch: there may be hundreds of jobs, each with hundreds of instances.
 * On a manual clock no time passes, so all is one stretch.
 */
export async function inTurns<T, R>(
  items: Iterable<T>,
  each: (item: T) => readonly R[] | Promise<readonly R[]>,
  clock: Clock = systemClock,
): Promise<R[]> {
  const results: R[] = [];
  let began = clock.monotonic();
  for (const item of items) {
    if (clock.monotonic() - began >= TURN) {
      await nextTurn();
      began = clock.monotonic();
    }
    const found = each(item);
    results.push(...(found instanceof Promise ? await found : found));
  }
  return results;
}
