import type { Socket } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';

export type Direction = 'requests' | 'replies';

/** The delays of one direction, shared by all connections. */
export interface Traffic {
  frozen: boolean;
  /** How many holds are in force. */
  held: number;
  /** Milliseconds that each unit is late. */
  delay: number;
}

/** One direction of one connection: a queue whose order never changes. */
export class Lane {
  readonly #queue: { bytes: Buffer; due: number }[] = [];
  #lastDue = 0;
  #timer: NodeJS.Timeout | undefined;
  #ending = false;

  /** `pass` sees each unit as it leaves; if it answers false the unit is dropped. */
  constructor(
    private readonly traffic: Traffic,
    private readonly to: Socket,
    private readonly pass: (bytes: Buffer) => boolean = () => true,
  ) {}

  push(bytes: Buffer): void {
    // Not before its predecessor, also when the delay was shortened in between.
    this.#lastDue = Math.max(this.#lastDue, performance.now() + this.traffic.delay);
    this.#queue.push({ bytes, due: this.#lastDue });
    this.pump();
  }

  /** Closes the other side once everything has been delivered. */
  end(): void {
    this.#ending = true;
    this.pump();
  }

  /** Delivers what may be delivered now. Call this when the traffic's state has changed. */
  pump(): void {
    clearTimeout(this.#timer);
    while (!this.traffic.frozen) {
      const next = this.#queue[0];
      if (next === undefined) {
        if (this.#ending) this.to.end();
        return;
      }
      if (this.traffic.held > 0 || this.to.connecting) return;
      const wait = next.due - performance.now();
      if (wait > 0) {
        this.#timer = setTimeout(() => this.pump(), Math.ceil(wait));
        return;
      }
      this.#queue.shift();
      if (!this.to.destroyed && this.pass(next.bytes)) this.to.write(next.bytes);
    }
  }

  destroy(): void {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
  }
}
