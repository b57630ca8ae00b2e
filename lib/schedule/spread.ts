import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.js';

/** How calls that one moment fires are spread over a while: checked, whole milliseconds. */
export interface Spread {
  /** `job`: each job has an offset of its own, the same on all instances. `instance`: each instance has one, another for each tick. */
  readonly by: 'job' | 'instance';
  readonly within: number;
}

/** A tick keeps at least this part of the time until the next one. */
const PART = 0.5;

/** How long after its tick a job asks for its lock, at most, ms. */
export const latest = ({ by, within }: Spread, job: string): number =>
  by === 'job' ? Math.floor(within * shareOf(job)) : within;

/** Lets fires of ticks wait for their moment. Nothing waits any more once it is stopped. */
export class Spreader {
  readonly #waiting = new Set<() => void>();
  #stopped = false;

  constructor(
    private readonly clock: Clock,
    private readonly instance: string,
  ) {}

  /** Waits until it is the turn of a tick. @param next the tick after it: no wait goes past the middle between the two */
  async wait(spread: Spread, job: string, tick: number, next: number): Promise<void> {
    const { by, within } = spread;
    const offset = by === 'job' ? latest(spread, job) : within * shareOf(`${this.instance} ${tick}`);
    // Counted from the tick: a busy process has lost some of it already.
    const left = tick + Math.min(offset, (next - tick) * PART) - this.clock.now();
    if (left <= 0 || this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = this.clock.setTimer(() => end(), left);
      const end = (): void => {
        timer.cancel();
        this.#waiting.delete(end);
        resolve();
      };
      this.#waiting.add(end);
    });
  }

  /** Those that wait go on at once: the shutdown refuses them. */
  stop(): void {
    this.#stopped = true;
    for (const end of this.#waiting) end();
  }
}

/** A number from 0 to 1 that is always the same for the same text. */
const shareOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
