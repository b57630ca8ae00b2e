import type { JobFacts } from '../history.js';
import type { Model } from './model.js';

/** At the edges of a run some instances may be missing, ms: for the difference of clocks, and a start. */
const MARGIN = 4_500;

/** The ticks of a job that one of the instances has to run, epoch ms. */
export function dueTicks({ begin, over, lives }: Model, { kind, every }: JobFacts): number[] {
  if (kind !== 'cron') return [];
  const firstUps = new Map<string, number>();
  for (const { i, up } of lives) firstUps.set(i, Math.min(up, firstUps.get(i) ?? Infinity));
  const wallOffset = begin.w - begin.m;
  const first = Math.max(...firstUps.values()) + MARGIN + wallOffset;
  const ticks: number[] = [];
  for (let tick = Math.ceil(first / every) * every; tick < over + wallOffset - MARGIN; tick += every)
    ticks.push(tick);
  return ticks;
}

/** The tick for which a job was fired at this time of the instance's clock, epoch ms. */
export function tickOf({ jobs }: Model, job: string, w: number): number {
  const { every } = jobs.get(job) as JobFacts;
  return Math.floor(w / every) * every;
}

/** When a tick comes on an instance, monotonic. */
export function dueAt({ begin }: Model, tick: number, i: string): number {
  return tick - (begin.w - begin.m) - (begin.offsets[i] ?? 0);
}
