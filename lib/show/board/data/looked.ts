import type { MissEntry } from '../../../contract/history-store.js';
import type { JobFacts } from '../../../insight/facts.js';
import type { Member } from '../../../insight/fleet-jobs.js';
import type { FleetView } from '../../../insight/look.js';
import { type Deploy, deploysOf } from './deploys.js';

/** One answer of the store, put in order for people. */
export interface Looked extends FleetView {
  /** The store's time. */
  readonly now: number;
  /** The outages of the store that cost a tick, and the deploys, oldest first. */
  readonly outages: readonly Outage[];
  readonly deploys: readonly Deploy[];
  /** How many entries of a lock were read at most. */
  readonly most: number;
}

/** @param clock the time here: the store has none to tell if it remembers nothing */
export function lookedAt(look: FleetView, most: number, clock: number): Looked {
  const now = Math.max(look.time, ...[...look.locks.values()].map(({ lock }) => lock?.time ?? 0)) || clock;
  const misses = [...look.locks.values()].flatMap(({ entries }) =>
    entries.flatMap((entry) => (entry.type === 'miss' ? entry : [])),
  );
  return { ...look, now, most, outages: outagesOf(misses, look.told), deploys: deploysOf(look.told) };
}

/** Since when all runs of a job are shown: older ones were not read, or are not kept any more. */
export function shownSince({ since, runs, others }: JobFacts, most: number): number | undefined {
  const all = [...runs, ...others];
  return all.length < most ? since : Math.min(...all.map(({ startedAt }) => startedAt));
}

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
