import { AsyncLocalStorage } from 'node:async_hooks';
import type { SchedulerLockEvent } from 'nestjs-scheduler-lock';
import { HistoryWriter, type Line, monotonic } from '../history.js';

type WithoutLife<T> = T extends unknown ? Omit<T, 'i' | 'n' | 'w'> : never;

/** An event loop that is later than this is noted, ms: it explains what would be a mistake otherwise. */
const STALL = 150;
const BEAT = 50;

/** Writes down what happens in this life of this instance. */
export class Recorder {
  readonly #writer: HistoryWriter;
  readonly #life: { i: string; n: number };
  readonly #calls = new AsyncLocalStorage<number>();
  #count = 0;

  constructor(folder: string, instance: string, life: number) {
    this.#writer = new HistoryWriter(folder, `${instance}.${life}`);
    this.#life = { i: instance, n: life };
    this.#watch();
  }

  write(line: WithoutLife<Exclude<Line, { k: 'begin' }>>): void {
    this.#writer.write({ ...line, w: Date.now(), ...this.#life } as Line);
  }

  /** Runs what the scheduler has fired, and gives it a number by which all that comes of it is known. */
  call<T>(job: string, run: () => T): T {
    const call = ++this.#count;
    this.write({ k: 'fired', m: monotonic(), job, call });
    return this.#calls.run(call, run);
  }

  /** The number of the call that the caller belongs to; 0 for none. */
  get currentCall(): number {
    return this.#calls.getStore() ?? 0;
  }

  /** Writes down what the library says of it. */
  hear(event: SchedulerLockEvent): void {
    const m = monotonic();
    switch (event.type) {
      case 'skipped': {
        const { job = '', reason } = event;
        const more: { tick?: number; finished?: boolean } = {};
        if (event.tick !== undefined) more.tick = event.tick;
        if (event.finished !== undefined) more.finished = event.finished;
        return this.write({ k: 'skipped', m, job, call: this.currentCall, reason, ...more });
      }
      case 'acquired':
      case 'renewed': {
        const { lock, fencingToken: token, at, expiresIn, job = '', tick, attempt = 1 } = event;
        // A process that was frozen between the event and this line must not believe for longer.
        const said = m - (Date.now() - at);
        const line = { k: 'confirmed', m: said, lock, token, until: said + expiresIn, job, attempt } as const;
        return this.write(tick === undefined ? line : { ...line, tick });
      }
      case 'lost':
        return this.write({
          k: 'lost',
          m,
          lock: event.lock,
          token: event.fencingToken,
          reason: event.reason,
        });
      case 'released':
        return this.write({
          k: 'released',
          m,
          lock: event.lock,
          token: event.fencingToken,
          confirmed: event.confirmed,
        });
      default:
        return undefined;
    }
  }

  #watch(): void {
    let last = monotonic();
    setInterval(() => {
      const m = monotonic();
      if (m - last > BEAT + STALL) this.write({ k: 'stall', from: last, m });
      last = m;
    }, BEAT).unref();
  }
}
