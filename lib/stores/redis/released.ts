/** Names that are remembered. They can be made up per call. */
const ROOM = 1_000;

/**
 * The locks that this process has given back and not asked for since. Most likely they are free; of any other lock it is more
 * likely that somebody has it. A guess that is wrong costs three commands within the script, and nothing else.
 */
export class Released {
  // Not a set: one that shrinks and grows with each run leaves tables behind.
  readonly #names = new Map<string, boolean>();

  add(name: string): void {
    if (this.#names.size < ROOM || this.#names.has(name)) this.#names.set(name, true);
  }

  /** Whether it is one of them. It is not from now on. */
  take(name: string): boolean {
    if (this.#names.get(name) !== true) return false;
    this.#names.set(name, false);
    return true;
  }
}
