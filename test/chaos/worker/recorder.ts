import { AsyncLocalStorage } from 'node:async_hooks';
import type { SchedulerLockEvent } from 'nestjs-scheduler-lock';
import { HistoryWriter, type JobFacts, type Line, monotonic } from '../history.js';

type WithoutLife<T> = T extends unknown ? Omit<T, 'i' | 'n' | 'w'> : never;

/** A later event loop is recorded, ms: it explains what would otherwise be a mistake of the library. */
const STALL = 150;
const BEAT = 50;

/** Records the events in this life of this instance. */
export class Recorder {
  readonly #writer: HistoryWriter;
  readonly #life: { i: string; n: number };
  readonly #calls = new AsyncLocalStorage<number>();
  /** Calls without an outcome so far, with their ticks: events do not name their call. */
  readonly #open = new Map<number, { readonly job: string; readonly tick: number | undefined }>();
  #count = 0;

  constructor(folder: string, instance: string, life: number) {
    this.#writer = new HistoryWriter(folder, `${instance}.${life}`);
    this.#life = { i: instance, n: life };
    this.#watch();
  }

  write(line: WithoutLife<Exclude<Line, { k: 'begin' }>>): void {
    this.#writer.write({ ...line, w: Date.now(), ...this.#life });
  }

  /** Runs a call that the scheduler has fired, and gives it a number that all its lines have. */
  async call({ job, kind, every }: JobFacts, run: () => Promise<void>): Promise<void> {
    const call = ++this.#count;
    const tick = kind === 'cron' ? Math.floor(Date.now() / every) * every : undefined;
    this.write({ k: 'fired', m: monotonic(), job, call });
    this.#open.set(call, { job, tick });
    try {
      await this.#calls.run(call, run);
    } catch (error) {
      // Does not pass the error to the scheduler, whose reaction is not tested here.
      this.write({ k: 'rejected', m: monotonic(), job, call, error: String(error) });
    } finally {
      this.#open.delete(call);
    }
  }

  /** The number of the call in which the caller, a job, begins; 0 for one that the library makes again. */
  begins(): number {
    const call = this.#calls.getStore() ?? 0;
    return this.#open.delete(call) ? call : 0;
  }

  /** The number of the call that was refused; 0 for one that the library has made again. */
  #refused(job: string, callTick: number | undefined): number {
    const [call = 0] =
      [...this.#open].findLast(
        ([, open]) => open.job === job && (open.tick === callTick || callTick === undefined),
      ) ?? [];
    this.#open.delete(call);
    return call;
  }

  /** Records an event of the library. */
  hear(event: SchedulerLockEvent): void {
    const m = monotonic();
    switch (event.type) {
      case 'skipped': {
        const { job = '', reason } = event;
        const more: { tick?: number; finished?: boolean } = {};
        if (event.tick !== undefined) more.tick = event.tick;
        if (event.finished !== undefined) more.finished = event.finished;
        const call = this.#refused(job, event.callTick);
        return this.write({ k: 'skipped', m, job, call, reason, ...more });
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
