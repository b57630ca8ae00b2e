import type { MissEntry } from '../../../contract/history-store.js';
import type { Member } from '../../../insight/fleet-jobs.js';

/** A time in which instances could not reach the store, by the store's clock. */
export interface Outage {
  readonly from: number;
  /** The last time at which it is known to have gone on. */
  readonly to: number;
  /** Whether {@link to} is its end: if not, at least one instance has not noted when the store answered again. */
  readonly isOver: boolean;
}

/** Outages with less time than this between them count as one, ms. */
const APART = 30_000;

/** The outages of the store, oldest first. An instance notes an outage only if the instance missed a tick because of the outage. */
export function outagesOf(misses: readonly MissEntry[], told: readonly Member[]): Outage[] {
  const offsets = new Map(told.map(({ info: { instance, clockOffset = 0 } }) => [instance, clockOffset]));
  const spans = misses
    .filter(({ reason }) => reason === 'store-unavailable')
    .map(({ instance, tick, since = tick, until }) => {
      const offset = offsets.get(instance) ?? 0;
      const from = Math.min(since, tick);
      return {
        from: from + offset,
        to: (until ?? Math.max(tick, from)) + offset,
        isOver: until !== undefined,
      };
    })
    .sort((one, other) => one.from - other.from);
  const outages: Outage[] = [];
  for (const span of spans) {
    const last = outages.at(-1);
    if (last === undefined || span.from > last.to + APART) outages.push(span);
    else
      outages[outages.length - 1] = {
        from: last.from,
        to: Math.max(last.to, span.to),
        isOver: last.isOver && span.isOver,
      };
  }
  return outages;
}
