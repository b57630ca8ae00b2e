import type { Fact } from './history.js';

type FromInstance<F> = F extends Fact ? Omit<F, 'instance'> : never;

/** What an instance tells the demo: that it could begin, what its jobs do, and the events of their locks. */
export type Report =
  { type: 'ready' } | PageReport | FromInstance<Exclude<Fact, { type: 'instance-ended' }>> | LockReport;

/** Where its page is. */
export interface PageReport {
  type: 'page';
  url: string;
}

export interface LockReport {
  type: 'lock';
  at: number;
  /** The type of the library's event. */
  event: string;
  lock: string;
  reason?: string | undefined;
  holder?: string | undefined;
  /** Milliseconds. */
  expiresIn?: number | undefined;
  /** How many stand before it in line. */
  ahead?: number | undefined;
}

/** Milliseconds on the machine's monotonic clock, which is the same for all its processes. */
export function machineTime(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
