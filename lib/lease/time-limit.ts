import type { Clock } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';

/** A timer that fires this late was held up by a busy event loop, milliseconds. */
const LATE = 5;

/**
 * The same as `call`, but rejects with {@link StoreUnavailableError} (outcome unknown) if it has not settled within
 * `limit` milliseconds.
 *
 * An event loop that was blocked past the limit reads the answers that have come meanwhile before it gives up: a
 * busy process is no outage of the store.
 */
export function within<T>(call: Promise<T>, limit: number, clock: Clock): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const due = clock.monotonic() + limit;
    const giveUp = (): void => {
      reject(
        new StoreUnavailableError(`The store did not answer within ${Math.round(limit)} ms.`, {
          outcome: 'unknown',
        }),
      );
    };
    let timer = clock.setTimer(() => {
      if (clock.monotonic() - due < LATE) giveUp();
      else timer = clock.setTimer(giveUp, 1);
    }, limit);
    call.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: Error) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}

/** The promise of a call, also if it throws instead. */
export function called<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error as Error);
  }
}
