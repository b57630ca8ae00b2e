/** How many names are remembered. A caller can make up a name per call. */
const ROOM = 1_000;

/**
 * The locks that this process has released and not asked for since. Most likely they are free; any other lock is more likely
 * held. A wrong guess costs three commands within the script, and nothing else.
 */
export class Released {
  // Not a set: a set that shrinks and grows with each run leaves tables behind.
  readonly #names = new Map<string, boolean>();

  add(name: string): void {
    if (this.#names.size < ROOM || this.#names.has(name)) this.#names.set(name, true);
  }

  /** Removes a lock. Returns whether it was there. */
  take(name: string): boolean {
    if (this.#names.get(name) !== true) return false;
    this.#names.set(name, false);
    return true;
  }
}
