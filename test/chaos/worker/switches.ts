import { setTimeout as sleep } from 'node:timers/promises';
import type { SchedulerLockControl, SchedulerLockService } from 'nestjs-scheduler-lock';
import type { ChildMessage } from '../../support/child.js';
import { monotonic } from '../history.js';
import type { Recorder } from './recorder.js';

/** How much longer than the fault a pause lasts that nobody resumes, ms. */
const MORE = 8_000;
/** How often a resume is tried while the store does not answer. */
const TRIES = 10;
const REST = 200;
const BY = { actor: 'chaos', reason: 'it is in the plan' } as const;

/** What people do by the switches of this instance. While the store is away nothing comes of it. */
export class Switches {
  constructor(
    private readonly recorder: Recorder,
    private readonly control: SchedulerLockControl,
    private readonly locks: SchedulerLockService,
  ) {}

  async hear({ what, lock, lasts }: ChildMessage): Promise<void> {
    const name = String(lock);
    if (what === 'pause') await this.#pause(name, Number(lasts)).catch(() => undefined);
    if (what === 'break') await this.#break(name).catch(() => undefined);
    if (what === 'resume') await this.#resume(name);
  }

  async #pause(lock: string, lasts: number): Promise<void> {
    const paused = await this.control.pause({ lock, for: lasts + MORE, ...BY });
    if (paused.result !== 'paused') return;
    const { since, until } = paused.pause;
    const token = paused.running?.fencingToken ?? 0;
    this.recorder.write({ k: 'paused', m: monotonic(), lock, token, lasts: until - since });
  }

  async #break(lock: string): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const [info] = await this.locks.inspect([lock]);
      const { fencingToken = 0, state } = info ?? {};
      const held = state === 'held' && fencingToken > 0;
      if (held && (await this.#end(lock, fencingToken))) return;
      // Nobody runs at the moment.
      await sleep(REST);
    }
  }

  async #end(lock: string, token: number): Promise<boolean> {
    this.recorder.write({ k: 'breaking', m: monotonic(), lock, token });
    const { result } = await this.control.break({ lock, fencingToken: token, ...BY });
    if (result === 'broken') this.recorder.write({ k: 'broken', m: monotonic(), lock, token });
    return result === 'broken';
  }

  async #resume(lock: string): Promise<void> {
    this.recorder.write({ k: 'resuming', m: monotonic(), lock });
    for (let tries = 0; tries < TRIES; tries++) {
      const result = await this.control.resume({ lock, actor: BY.actor }).catch(() => undefined);
      if (result !== undefined) return;
      await sleep(REST);
    }
  }
}
