import { formatDuration } from '../base/duration.js';
import { timesIn } from './times.js';
import type { JobView } from './types.js';

const DAY = 86_400_000;
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Shows times in a zone. */
export class Times {
  /** With date and offset: `2026-11-22 03:00:00+01:00`. */
  readonly full: (time: number) => string;
  readonly #today: number;

  /** @param now epoch milliseconds */
  constructor(
    readonly zone: string,
    readonly now: number,
  ) {
    this.full = timesIn(zone);
    this.#today = dayOf(this.full(now));
  }

  /** As short as it is unambiguous: `03:00`, `03:00:05`, `Sat 03:00`, `2026-11-22 03:00`. */
  short(time: number): string {
    const full = this.full(time);
    const clock = full.slice(11, 19).replace(/:00$/, '');
    const day = dayOf(full);
    if (day === this.#today) return clock;
    if (Math.abs(day - this.#today) >= 7 * DAY) return `${full.slice(0, 10)} ${clock}`;
    return `${WEEKDAYS[new Date(day).getUTCDay()]} ${clock}`;
  }

  /** As people say it: `today 03:00`, `Sat 03:00`, `2026-11-22 03:00`. */
  said(time: number): string {
    return `${dayOf(this.full(time)) === this.#today ? 'today ' : ''}${this.short(time)}`;
  }

  /** How long ago a time was: `40 s`. */
  since(time: number): string {
    return formatDuration(Math.max(0, this.now - time));
  }
}

/** The day of a time that is shown, as a number that only orders days. */
const dayOf = (full: string): number => Date.parse(`${full.slice(0, 10)}T00:00Z`);

/** When a job runs: its expression, with its zone if that differs from the zone of the times beside it. */
export function scheduleOf(
  { schedule, timeZone, interval }: Pick<JobView, 'schedule' | 'timeZone' | 'interval'>,
  zone?: string,
): string {
  if (interval !== undefined) return `every ${formatDuration(interval)}`;
  if (schedule === undefined) return 'by hand';
  return timeZone === undefined || timeZone === zone ? schedule : `${schedule} ${timeZone}`;
}
