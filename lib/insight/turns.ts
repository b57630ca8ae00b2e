import { atEndOfTurn, systemClock } from '../clock.js';

/** For how long jobs, or instances, are looked at before whatever else waits in the event loop has its turn, ms. */
const TURN = 5;

/** Does something for each, a few milliseconds at a stretch: there may be hundreds of jobs, each with hundreds of instances. */
export async function inTurns<T, R>(
  items: Iterable<T>,
  each: (item: T) => readonly R[] | Promise<readonly R[]>,
): Promise<R[]> {
  const results: R[] = [];
  let began = systemClock.monotonic();
  for (const item of items) {
    if (systemClock.monotonic() - began >= TURN) {
      await new Promise<void>((resolve) => atEndOfTurn(resolve));
      began = systemClock.monotonic();
    }
    const found = each(item);
    results.push(...(found instanceof Promise ? await found : found));
  }
  return results;
}
