import type { Desk } from './desk.js';

/** How long to wait for one's turn. */
interface Patience {
  /** Monotonic. */
  readonly deadline: number;
  /** Ends the wait: rejects with its reason. A shutdown ends it, too. */
  readonly signal?: AbortSignal | undefined;
  /** Called if it has to wait. */
  readonly onWaiting: () => Promise<void>;
}

/**
 * Of several pauses of one lock in this process one stands in line: the others wait for what becomes of it, and come after it if nothing
 * does. So a person who asks again and again makes no line of pauses.
 *
 * @returns what `work` does; `undefined` if its turn has not come in time
 */
export async function oneByOne<T>(
  desk: Desk,
  lock: string,
  { deadline, signal, onWaiting }: Patience,
  work: () => Promise<T>,
): Promise<T | undefined> {
  for (let waits = false; ; waits = true) {
    const other = desk.pausing.get(lock);
    if (other === undefined) break;
    desk.checkWait(lock, signal);
    const left = deadline - desk.clock.monotonic();
    if (left <= 0) return undefined;
    if (!waits) await onWaiting();
    await desk.sleep(left, { signal, done: other });
  }
  const own = work();
  const settled = own.then(
    () => undefined,
    () => undefined,
  );
  desk.pausing.set(lock, settled);
  return own.finally(() => desk.pausing.delete(lock));
}
