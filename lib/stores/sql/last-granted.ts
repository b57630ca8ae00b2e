/** How many names are remembered: all of a usual application, the newest of one that makes names from arguments. */
const ROOM = 1_000;

/**
 * The locks that were granted to this instance the last time it asked. Most likely the row of such a lock is there and
 * free, and a short statement takes it. Any other lock is more likely held, so the better statement is the one that reports
 * the holder. A wrong guess costs a second statement, and nothing else.
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
