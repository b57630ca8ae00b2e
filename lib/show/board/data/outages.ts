import type { MissEntry } from '../../../contract/history-store.js';

/** A time in which instances could not reach the store. Times are those of the instances, corrected by the offsets that they have reported. */
export interface Outage {
  readonly from: number;
  /** The last time at which it is known to have gone on. */
  readonly to: number;
  /** Whether {@link to} is its end: if not, at least one instance has not noted when the store answered again. */
  readonly isOver: boolean;
  readonly instances: readonly string[];
  /** The jobs that missed ticks because of the outage. */
  readonly jobs: readonly string[];
}

/** Outages with less time than this between them count as one, ms. */
const APART = 30_000;

/** The outages of the store, newest first. An instance notes an outage only if the instance missed a tick because of the outage. */
export function outagesOf(misses: readonly MissEntry[]): Outage[] {
  const spans = misses
    .filter(({ reason }) => reason === 'store-unavailable')
    .map((miss) => ({ ...miss, from: Math.min(miss.since ?? miss.tick, miss.tick) }))
    .sort((one, other) => one.from - other.from);
  const groups: { from: number; end: number; isOver: boolean; misses: MissEntry[] }[] = [];
  for (const miss of spans) {
    const end = miss.until ?? Math.max(miss.tick, miss.from);
    const last = groups.at(-1);
    if (last === undefined || miss.from > last.end + APART)
      groups.push({ from: miss.from, end, isOver: miss.until !== undefined, misses: [miss] });
    else {
      last.end = Math.max(last.end, end);
      last.isOver &&= miss.until !== undefined;
      last.misses.push(miss);
    }
  }
  return groups.reverse().map((group) => ({
    from: group.from,
    to: group.end,
    isOver: group.isOver,
    instances: [...new Set(group.misses.map(({ instance }) => instance))],
    jobs: [...new Set(group.misses.map(({ job }) => job))],
  }));
}
