import type { Clock } from '../clock.js';
import type { ControlSwitches } from '../control/types.js';
import type { Insight } from '../insight/insight.js';

/** What a board needs of where it stands. */
export interface BoardSource {
  /** Reads the store; sentences have times of this zone. */
  insight(zone: string): Promise<Insight>;
  readonly clock: Clock;
  /** What people call the store. It has no credentials. */
  readonly label: () => string;
  readonly traceUrl: string | undefined;
  /** Absent: the page only reads. */
  readonly control?: ControlSwitches | undefined;
}

/** So many zones are read in at a time: people of one team are in a few. */
const MOST_ZONES = 50;

/** Keeps what reads the store, one for each zone: it knows the dates of all schedules. */
export function insightsOf(open: BoardSource['insight']): BoardSource['insight'] {
  const known = new Map<string, Promise<Insight>>();
  return (zone) => {
    const found = known.get(zone) ?? open(zone);
    if (known.size >= MOST_ZONES) known.clear();
    known.set(zone, found);
    // Whoever asks next is not to hear of an outage that is over.
    found.catch(() => known.delete(zone));
    return found;
  };
}
