import type { Clock } from '../../base/clock.js';
import type { ControlSwitches } from '../../insight/control/types.js';
import type { Insight } from '../../insight/insight.js';

/** What a board needs of the application, or of the shell. */
export interface BoardSource {
  /** Insight into the store. Times in its sentences are of this zone. */
  insight(zone: string): Promise<Insight>;
  readonly clock: Clock;
  /** The name of the store for people, without credentials. */
  readonly label: () => string;
  readonly traceUrl: string | undefined;
  /** Absent: the page only reads. */
  readonly control?: ControlSwitches | undefined;
}

/** How many zones are kept: the people of one team are in a few. */
const MOST_ZONES = 50;

/** Keeps one insight for each zone, because an insight knows the dates of all schedules. */
export function insightsOf(open: BoardSource['insight']): BoardSource['insight'] {
  const known = new Map<string, Promise<Insight>>();
  return (zone) => {
    const found = known.get(zone) ?? open(zone);
    if (known.size >= MOST_ZONES) known.clear();
    known.set(zone, found);
    // The next viewer must not get an error of an outage that is over.
    found.catch(() => known.delete(zone));
    return found;
  };
}
