import type { JobFacts } from '../../../insight/facts.js';
import type { FleetView } from '../../../insight/look.js';
import { type Deploy, deploysOf } from './deploys.js';
import { type Outage, outagesOf } from './outages.js';

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
