import { newId } from '../../base/shared.js';
import type { Clock } from '../../base/clock.js';
import type { LockStore } from '../../contract/lock-store.js';
import { asError, storeLabel } from './safe-store.js';
import { TimeLimits } from './time-limits.js';

/** The result of a ping. */
export type PingResult =
  | {
      readonly ok: true;
      /** How long the answer took, milliseconds. */
      readonly latency: number;
      /** What the log calls the store: its kind and its address, without secrets. */
      readonly store: string;
    }
  | {
      readonly ok: false;
      /** Why the ping failed: mostly a `StoreUnavailableError`. */
      readonly error: Error;
      readonly store: string;
    };

/** The lock that a ping names, if the store can keep that name. A ping never takes it. */
export const PING_NAME = 'ping';

/**
 * Asks a store to release a lease that was never granted: it answers as it does for a job, and nothing changes. No event tells of it.
 *
 * @param name any name that the store can keep
 * @param limit how long the answer may take, milliseconds
 */
export async function ping(
  store: LockStore,
  { opened, name, clock, limit }: { opened: Promise<void>; name: string; clock: Clock; limit: number },
): Promise<PingResult> {
  const label = storeLabel(store);
  const limits = new TimeLimits(clock);
  const start = clock.monotonic();
  const lease = { name, token: newId(), fencingToken: 0, holder: PING_NAME, ttl: limit };
  try {
    await limits.within(
      opened.then(() => store.release(lease)),
      limit,
    );
    return { ok: true, latency: clock.monotonic() - start, store: label };
  } catch (error) {
    return { ok: false, error: asError(store, error), store: label };
  } finally {
    limits.stop();
  }
}
