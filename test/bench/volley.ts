import { inversions, median, quantile } from './statistics.js';
import type { Figures } from './task.js';
import type { Waiter } from './waiters.js';

/** What was seen while a lock went through a line. */
export interface Volley {
  /** From each call of release until the next one had the lock, ms. */
  readonly times: readonly number[];
  /** Who was served, by the order in which they had asked. */
  readonly order: readonly number[];
}

/**
 * The first one takes the lock, the others ask one after another and wait. Then it goes from hand to hand: each gives it back at
 * once.
 *
 * @param standing called when all stand in line, before the first release
 * @param served called when the last one has the lock, before it is given back
 */
export async function volley(
  [holder, ...others]: readonly Waiter[],
  standing: () => Promise<unknown> = nothing,
  served: () => Promise<unknown> = nothing,
): Promise<Volley> {
  if (holder === undefined) throw new Error('Nobody holds the lock');
  const release = await holder.ask().granted;
  const [times, order]: [number[], number[]] = [[], []];
  let [releasedAt, began] = [NaN, false];
  const hands = (free: () => Promise<unknown>): Promise<unknown> => {
    releasedAt = performance.now();
    return free();
  };
  const waits: Promise<unknown>[] = [];
  for (const [number, waiter] of others.entries()) {
    const { stands, granted } = waiter.ask();
    const wait = granted.then(async (free) => {
      const at = performance.now();
      if (!began) throw new Error('The lock was granted while another one held it');
      times.push(at - releasedAt);
      order.push(number);
      if (order.length === others.length) await served();
      await hands(free);
    });
    waits.push(wait);
    await Promise.race([stands, wait]);
  }
  await standing();
  began = true;
  await Promise.all([hands(release), ...waits]);
  return { times, order };
}

/** How often the lock was handed over. */
export const handOffs = (volleys: readonly Volley[]): number =>
  volleys.reduce((sum, { times }) => sum + times.length, 0);

/** How fast that was, and in which order. */
export function figuresOf(volleys: readonly Volley[]): Figures {
  const times = volleys.flatMap((seen) => seen.times);
  return {
    median: median(times),
    p99: quantile(times, 0.99),
    inversions: volleys.reduce((sum, { order }) => sum + inversions(order), 0),
    pairs: volleys.reduce((sum, { order }) => sum + order.length - 1, 0),
  };
}

async function nothing(): Promise<void> {}
