import type { KnownStreams } from './records.js';

/** How many entries are kept: most have some 400 bytes, none over 2 kB. A look at 500 jobs that are well reads 1,500, a page of them 6,000. */
const MAX_ENTRIES = 10_000;
/** A history with more entries is read again each time: it is seldom the same twice. */
const MOST_OF_ONE = 100;

/** What was read of histories: a look at all jobs comes every few seconds, and most of them have not run in between. */
export class KnownHistories {
  readonly #known = new Map<string, KnownStreams>();
  #size = 0;

  get(of: string): KnownStreams | undefined {
    return this.#known.get(of);
  }

  set(of: string, streams: KnownStreams): void {
    this.#drop(of);
    const size = sizeOf(streams);
    if (size > MOST_OF_ONE) return;
    this.#known.set(of, streams);
    this.#size += size;
    // Not the oldest ones: where a look reads more than is kept, these are what it asks for next.
    while (this.#size > MAX_ENTRIES) this.#drop(this.#any());
  }

  #any(): string {
    const keys = this.#known.keys();
    for (let skipped = Math.floor(Math.random() * this.#known.size); skipped > 0; skipped--) keys.next();
    return keys.next().value ?? '';
  }

  #drop(of: string): void {
    const streams = this.#known.get(of);
    if (streams === undefined) return;
    this.#known.delete(of);
    this.#size -= sizeOf(streams);
  }
}

/** One that has no entries takes memory, too. */
const sizeOf = ({ runs, bad }: KnownStreams): number => runs.entries.length + bad.entries.length + 1;
