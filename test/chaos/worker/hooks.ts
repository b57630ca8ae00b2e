import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { currentLock, SchedulerLock, SchedulerLockService } from 'nestjs-scheduler-lock';
import { monotonic } from '../history.js';
import { HOOK } from '../jobs.js';
import { type Recording, run } from './jobs.js';
import type { Recorder } from './recorder.js';

/** How long it is until the next webhook at most, ms. */
const REST = 600;

/** Webhooks for one of these become one while they wait; each other one stands alone. */
const SHARED = ['a', 'b', 'c'];

/** How often what is queued is counted, ms. */
const COUNT_EVERY = 1_000;

/** Webhooks that come to each instance by themselves: what finds its lock taken is queued. */
@Injectable()
export class Hooks implements Recording, OnApplicationBootstrap {
  #count = 0;

  constructor(
    readonly recorder: Recorder,
    private readonly locks: SchedulerLockService,
    private readonly isOn: boolean,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.isOn) return;
    void this.#keepCalling();
    void this.#keepLooking();
  }

  @SchedulerLock<[key: string]>({
    name: HOOK.lock,
    job: HOOK.job,
    ttl: HOOK.ttl,
    onHeld: 'queue',
    queue: { key: (key) => key, max: 10_000, redeliver: HOOK.redeliver },
    onSkip: 'throw',
  })
  async hook(key: string): Promise<true> {
    const { queuedCall } = currentLock();
    await run(this, HOOK, 5, 40, queuedCall === undefined ? { key } : { key, delivery: queuedCall.delivery });
    return true;
  }

  /** Until the process ends. */
  async #keepCalling(): Promise<void> {
    for (;;) {
      await sleep(Math.random() * REST);
      const shared = SHARED[Math.floor(Math.random() * 2 * SHARED.length)];
      const key = shared ?? `${this.recorder.life} ${++this.#count}`;
      const m = monotonic();
      // Refused calls are nobody's: their senders try again.
      const ran = await this.hook(key).catch(() => false);
      if (ran === undefined)
        this.recorder.write({ k: 'queued', m: monotonic(), since: m, lock: HOOK.lock, key });
    }
  }

  async #keepLooking(): Promise<void> {
    for (;;) {
      await sleep(COUNT_EVERY);
      const since = monotonic();
      const infos = await this.locks.inspect().catch(() => undefined);
      if (infos === undefined) continue;
      const { queued = 0, dead = [], unknown } = infos.find(({ name }) => name === HOOK.lock) ?? {};
      // The table of the queued calls has not answered in time, so nobody knows how many there are.
      if (unknown !== undefined) continue;
      this.recorder.write({ k: 'queue', m: monotonic(), since, lock: HOOK.lock, queued, dead: dead.length });
    }
  }
}
