import { AsyncLocalStorage } from 'node:async_hooks';
import type { SchedulerLockEvent } from 'nestjs-scheduler-lock';
import { HistoryWriter, type JobFacts, type Line, monotonic } from '../history.js';
import { CALLER, HOOK } from '../jobs.js';

type WithoutLife<T> = T extends unknown ? Omit<T, 'i' | 'n' | 'w'> : never;

/** A later event loop is recorded, ms: it explains what would otherwise be a mistake of the library. */
const STALL = 150;
const BEAT = 50;
/** What a job throws that is to be tried again. */
export const ON_PURPOSE = 'it fails on purpose';

/** A call without an outcome so far. */
interface OpenCall {
  readonly job: string;
  /** The tick of a cron job. */
  readonly tick?: number | undefined;
  /** How long a call of the application waits. */
  readonly wait?: number;
}

/** Records the events in this life of this instance. */
export class Recorder {
  readonly #writer: HistoryWriter;
  readonly #life: { i: string; n: number };
  readonly #calls = new AsyncLocalStorage<number>();
  /** Events do not name their call: their job and tick do, or how long they wait. */
  readonly #open = new Map<number, OpenCall>();
  #count = 0;

  constructor(folder: string, instance: string, life: number) {
    this.#writer = new HistoryWriter(folder, `${instance}.${life}`);
    this.#life = { i: instance, n: life };
    this.#watch();
  }

  /** Names this life of this instance. */
  get life(): string {
    return `${this.#life.i}.${this.#life.n}`;
  }

  write(line: WithoutLife<Exclude<Line, { k: 'begin' | 'stored' }>>): void {
    this.#writer.write({ ...line, w: Date.now(), ...this.#life });
  }

  /** Runs a call that the scheduler has fired, and gives it a number that all its lines have. */
  async call({ job, kind, every }: JobFacts, run: () => Promise<void>): Promise<void> {
    const call = ++this.#count;
    const tick = kind === 'cron' ? Math.floor(Date.now() / every) * every : undefined;
    this.write({ k: 'fired', m: monotonic(), job, call });
    await this.#make({ job, tick }, call, run);
  }

  /** Runs a call of the application, which gets its number, and answers why it was refused, if it was. */
  async ask(
    how: { readonly wait: number; readonly priority: number },
    run: (call: number) => Promise<string | undefined>,
  ): Promise<void> {
    const { job } = CALLER;
    const call = ++this.#count;
    this.write({ k: 'fired', m: monotonic(), job, call, ...how });
    await this.#make({ job, wait: how.wait }, call, async () => {
      const reason = await run(call);
      if (reason !== undefined) this.write({ k: 'skipped', m: monotonic(), job, call, reason });
    });
  }

  async #make(open: OpenCall, call: number, run: () => Promise<void>): Promise<void> {
    this.#open.set(call, open);
    try {
      await this.#calls.run(call, run);
    } catch (error) {
      if (error instanceof Error && error.message === ON_PURPOSE) return;
      // Does not pass the error to the scheduler, whose reaction is not tested here.
      this.write({ k: 'rejected', m: monotonic(), job: open.job, call, error: String(error) });
    } finally {
      this.#open.delete(call);
    }
  }

  /** The number of the call in which the caller, a job, begins; 0 for one that the library makes again. */
  begins(): number {
    const call = this.#calls.getStore() ?? 0;
    return this.#open.delete(call) ? call : 0;
  }

  /** The newest call of this job without an outcome, for this tick or with this wait; 0 for one that the library has made again. */
  #callOf(job: string, { tick, wait }: { tick?: number | undefined; wait?: number }): number {
    const fits = (open: OpenCall): boolean =>
      open.job === job &&
      (tick === undefined || open.tick === tick) &&
      (wait === undefined || open.wait === wait);
    return [...this.#open].findLast(([, open]) => fits(open))?.[0] ?? 0;
  }

  /** Records an event of the library. */
  hear(event: SchedulerLockEvent): void {
    const m = monotonic();
    switch (event.type) {
      case 'waiting': {
        const { lock, job = CALLER.job, priority } = event;
        const call = this.#callOf(
          job,
          event.job === undefined ? { wait: event.wait } : { tick: event.callTick },
        );
        return this.write({ k: 'waiting', m, lock, job, call, priority });
      }
      case 'skipped': {
        const { job, reason } = event;
        // A call of the application tells itself how it ended.
        if (job === undefined || job === HOOK.job) return undefined;
        const more: { tick?: number; finished?: boolean } = {};
        if (event.tick !== undefined) more.tick = event.tick;
        if (event.finished !== undefined) more.finished = event.finished;
        const call = this.#callOf(job, { tick: event.callTick });
        this.#open.delete(call);
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
          outcome: event.outcome,
        });
      case 'overdue': {
        const { lock, job, tick } = event;
        return this.write({ k: 'overdue', m, lock, job, tick });
      }
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
