/** How many names are remembered: more than a usual application has. If names are made from arguments, the newest names. */
const ROOM = 1_000;

/**
 * The locks that this instance got the last time it asked.
 *
 * 1. Most likely, the row of such a lock exists and the lock is free: then a short statement takes the lock.
 * 2. Any other lock is more likely held: then the longer statement is better, which reports the holder.
 * 3. A wrong guess costs a second statement, and nothing else.
 */
export class LastGranted {
  readonly #names = new Set<string>();

  has(name: string): boolean {
    return this.#names.has(name);
  }

  note(name: string, granted: boolean): void {
    this.#names.delete(name);
    if (!granted) return;
    this.#names.add(name);
    const [oldest = name] = this.#names;
    if (this.#names.size > ROOM) this.#names.delete(oldest);
  }
}
