import { setTimeout as sleep } from 'node:timers/promises';
import type { Lock, RunOptions, RunResult } from '../../../lib/index.js';
import type { TestApp } from './app.js';

/** The runs of a test, in their order, with those that overlapped. */
export class Runs {
  readonly order: string[] = [];
  readonly tokens: number[] = [];
  readonly overlaps: string[] = [];
  #now: string | undefined;

  /** A call that waits, and runs for a moment. */
  call(app: TestApp, who: string, options: RunOptions = {}): Promise<RunResult<void>> {
    return app.locks.run('lock', { wait: '1m', ...options }, async ({ fencingToken = 0 }: Lock) => {
      if (this.#now !== undefined) this.overlaps.push(`${this.#now}, ${who}`);
      this.#now = who;
      this.order.push(who);
      this.tokens.push(fencingToken);
      await sleep(5);
      this.#now = undefined;
    });
  }
}

/** Calls that stand in line in this order, some of each application. @param first number of the first call */
export async function standing(
  runs: Runs,
  apps: readonly TestApp[],
  count: number,
  first = 0,
): Promise<Promise<RunResult<void>>[]> {
  const calls: Promise<RunResult<void>>[] = [];
  for (let i = first; i < first + count; i++) {
    const app = apps[i % apps.length] as TestApp;
    calls.push(runs.call(app, String(i)));
    await app.event('waiting', 'lock', Math.floor(i / apps.length) + 1);
  }
  return calls;
}

export const inOrder = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i));
