import type { Clock } from '../../base/clock.js';
import type { ControlSwitches } from '../../insight/control/types.js';
import type { Insight } from '../../insight/insight.js';

/** What a board needs of the application, or of the shell. */
export interface BoardSource {
  /** Insight into the store. */
  insight(): Promise<Insight>;
  readonly clock: Clock;
  /** The name of the store for people, without credentials. */
  readonly label: () => string;
  readonly traceUrl: string | undefined;
  /** Absent: the page only reads. */
  readonly control?: ControlSwitches | undefined;
}
