import type { HintChannel } from '../../contract/lock-store.js';

/** Hints to the processes that share this memory. */
export class MemoryHints {
  readonly #listeners = new Map<string, (token: string) => void>();

  listen(process: string, called: (token: string) => void): HintChannel {
    this.#listeners.set(process, called);
    return { open: true, close: () => void this.#listeners.delete(process) };
  }

  /** Tells it in a later turn: the caller is not done yet. */
  send(process: string, token: string): void {
    void Promise.resolve().then(() => this.#listeners.get(process)?.(token));
  }

  /** Tells every process. */
  announce(text: string): void {
    for (const process of this.#listeners.keys()) this.send(process, text);
  }
}
