/** Names that are remembered: all of a usual application, the newest of one that makes them of arguments. */
const ROOM = 1_000;

/**
 * The locks that were granted to this instance the last time it asked. Most likely their row is there and free, and a short
 * statement takes it; of any other lock it is more likely that somebody has it, so that statement is the better one which
 * tells who. A wrong guess costs a second statement, and nothing else.
 */
export class LastGranted {
  readonly #names = new Set<string>();

  has(name: string): boolean {
    return this.#names.has(name);
  }

  note(name: string, granted: boolean): void {
    if (!granted) {
      this.#names.delete(name);
      return;
    }
    if (this.#names.has(name)) return;
    this.#names.add(name);
    if (this.#names.size <= ROOM) return;
    for (const oldest of this.#names) {
      this.#names.delete(oldest);
      return;
    }
  }
}
