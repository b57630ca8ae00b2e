import type { KnownStreams } from './records.js';

/** How many entries are kept, some 400 bytes each. A look at 500 jobs reads 1,500, a page of them 6,000. */
const MOST = 10_000;

/** What was read of histories: a look at all jobs comes every few seconds, and most of them have not run in between. */
export class KnownHistories {
  /** What was read last is at the end. */
  readonly #known = new Map<string, KnownStreams>();
  #size = 0;

  get(of: string): KnownStreams | undefined {
    return this.#known.get(of);
  }

  set(of: string, streams: KnownStreams): void {
    this.#drop(of);
    this.#known.set(of, streams);
    this.#size += sizeOf(streams);
    for (const oldest of this.#known.keys()) {
      if (this.#size <= MOST) break;
      this.#drop(oldest);
    }
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
