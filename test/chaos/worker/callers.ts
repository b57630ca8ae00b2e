import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { SchedulerLockService } from 'nestjs-scheduler-lock';
import { monotonic } from '../history.js';
import { CALLER } from '../jobs.js';
import { type Recording, run } from './jobs.js';
import type { Recorder } from './recorder.js';

/** How long a caller rests between two calls at most, ms: one that does not wait calls seldom, as each call helps a stuck line on. */
const REST = 600;
const LONG_REST = 5_000;

/** How long a call waits, ms: shorter than most outages, or longer. */
const WAIT = [1_000, 8_000] as const;

/** Some calls go before others. */
const PRIORITIES = [0, 0, 0, 0, 0, 1, 1, 9] as const;

/** How many of the calls are aborted while they wait. */
const ABORTED = 0.1;

/** Code of the application that calls the library by itself, over and over: most of it waits for its turn, one never does. */
@Injectable()
export class Callers implements Recording, OnApplicationBootstrap {
  constructor(
    readonly recorder: Recorder,
    private readonly locks: SchedulerLockService,
    /** How many calls wait at the same time. */
    private readonly count: number,
  ) {}

  onApplicationBootstrap(): void {
    if (this.count === 0) return;
    for (let caller = 0; caller < this.count; caller++) void this.#keepCalling(caller);
    void this.#keepCalling(undefined);
  }

  /** Until the process ends. Whoever has a number waits. */
  async #keepCalling(caller: number | undefined): Promise<void> {
    for (;;) {
      await sleep(Math.random() * (caller === undefined ? LONG_REST : REST));
      await this.#call(caller);
    }
  }

  #call(caller: number | undefined): Promise<void> {
    const waits = caller !== undefined;
    const [least, most] = WAIT;
    // No two calls at a time wait for equally long: the recorder tells them apart by that.
    const wait = waits
      ? this.count * Math.round((least + Math.random() * (most - least)) / this.count) + caller
      : 0;
    const priority = waits ? (PRIORITIES[Math.floor(Math.random() * PRIORITIES.length)] ?? 0) : 0;
    return this.recorder.ask({ wait, priority }, async (call) => {
      const { lock, ttl } = CALLER;
      const aborting = new AbortController();
      const abort = (): void => {
        this.recorder.write({ k: 'aborted', m: monotonic(), job: CALLER.job, call });
        aborting.abort();
      };
      const timer = waits && Math.random() < ABORTED ? setTimeout(abort, Math.random() * least) : undefined;
      const options = waits ? { ttl, wait, priority, signal: aborting.signal } : { ttl };
      try {
        const result = await this.locks.run(lock, options, () => {
          clearTimeout(timer);
          return run(this, CALLER, 5, 200);
        });
        return result.ran ? undefined : result.reason;
      } catch (error) {
        if (error === aborting.signal.reason) return 'aborted';
        throw error;
      } finally {
        clearTimeout(timer);
      }
    });
  }
}
