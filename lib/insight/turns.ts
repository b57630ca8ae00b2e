import { atEndOfTurn, type Clock, systemClock } from '../clock.js';

/** For how long jobs, or instances, are looked at before whatever else waits in the event loop has its turn, ms. */
const TURN = 5;

/**
 * Does something for each, a few milliseconds at a stretch: there may be hundreds of jobs, each with hundreds of instances.
 * On a manual clock no time passes, and nothing else has its turn.
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
      await new Promise<void>((resolve) => atEndOfTurn(resolve));
      began = clock.monotonic();
    }
    const found = each(item);
    results.push(...(found instanceof Promise ? await found : found));
  }
  return results;
}
