import type { TickFinder } from '../../../insight/facts.js';
import { inTurns } from '../../../insight/turns.js';
import type { JobView } from '../../../insight/types.js';

/** The fires of a job within the next day. */
export interface Fires {
  readonly job: JobView;
  /** The next fire, epoch milliseconds. */
  readonly next: number;
  /** The fires in order. A list of more than {@link MOST_FIRES} would not help a reader. */
  readonly at: readonly number[];
  readonly isFrequent: boolean;
  /** When daylight saving time begins or ends in the zone of the job within that day, and by how much the clocks change, ms. */
  readonly change?: { readonly at: number; readonly by: number };
}

export const DAY = 86_400_000;
/** How many fires of a job are computed. */
export const MOST_FIRES = 24;
/** How many jobs are shown. */
export const MOST_FIRING = 40;

/** How many schedules are kept: more than a fleet has, unless an application keeps making new ones. */
const MOST_SCHEDULES = 2_000;

/**
 * Finds fires. It keeps the dates of each schedule, because `cron` takes a millisecond for a date: for a new answer of the store, it
 * computes only the dates that have come within a day since the last answer.
 */
export class FireFinder {
  readonly #known = new Map<string, number[]>();

  /** The jobs that fire next, by their next fire. */
  async of(jobs: readonly JobView[], now: number, ticks: TickFinder | undefined): Promise<Fires[]> {
    const firing = jobs
      .filter(({ next }) => next !== undefined && next <= now + DAY)
      .sort((one, other) => (one.next ?? 0) - (other.next ?? 0) || (one.job < other.job ? -1 : 1))
      .slice(0, MOST_FIRING);
    return inTurns(this.#steps(firing, now, ticks), (found) => (found === undefined ? [] : [found]));
  }

  /** Computes one date per step, so that other work of the process can run in between. After its last date, a job's fires follow. */
  *#steps(
    firing: readonly JobView[],
    now: number,
    ticks: TickFinder | undefined,
  ): Generator<Fires | undefined> {
    for (const job of firing) {
      const { timeZone, next = now } = job;
      const known = this.#datesOf(job).filter((date) => date >= next);
      const at = known[0] === next ? known : [next];
      const after = dateAfter(job, ticks);
      for (let last = at.at(-1) ?? next; last <= now + DAY && at.length <= MOST_FIRES; yield) {
        last = after(last);
        at.push(last);
      }
      this.#known.set(keyOf(job), at);
      const soon = at.filter((date) => date <= now + DAY).slice(0, MOST_FIRES + 1);
      const change = timeZone === undefined ? undefined : changeOf(timeZone, now);
      yield { job, next, at: soon, isFrequent: soon.length > MOST_FIRES, ...(change && { change }) };
    }
  }

  #datesOf(job: JobView): readonly number[] {
    if (this.#known.size >= MOST_SCHEDULES) this.#known.clear();
    return this.#known.get(keyOf(job)) ?? [];
  }
}

const keyOf = ({ job, schedule, timeZone }: JobView): string =>
  JSON.stringify(schedule === undefined ? { job } : [schedule, timeZone]);

function dateAfter(
  { schedule, timeZone, interval }: JobView,
  ticks: TickFinder | undefined,
): (at: number) => number {
  if (interval !== undefined) return (at) => at + interval;
  const dates = schedule === undefined ? undefined : ticks?.(schedule, timeZone);
  return (at) => dates?.next(at) ?? Infinity;
}

/** The next beginning or end of daylight saving time in a zone, within a day. */
export function changeOf(zone: string, now: number): { at: number; by: number } | undefined {
  const before = offsetOf(zone, now);
  const by = offsetOf(zone, now + DAY) - before;
  if (by === 0 || Number.isNaN(by)) return undefined;
  let [from, to] = [now, now + DAY];
  while (to - from > 1_000) {
    const middle = Math.floor((from + to) / 2);
    if (offsetOf(zone, middle) === before) from = middle;
    else to = middle;
  }
  return { at: Math.round(to / 60_000) * 60_000, by };
}

const formats = new Map<string, Intl.DateTimeFormat | undefined>();
/** About as many as there are zones. */
const MOST_FORMATS = 600;

/** How far the clocks of a zone are ahead of UTC, ms. NaN for a text that is no zone, such as an offset. */
function offsetOf(zone: string, at: number): number {
  if (!formats.has(zone)) {
    if (formats.size >= MOST_FORMATS) formats.clear();
    formats.set(zone, formatFor(zone));
  }
  const text = formats
    .get(zone)
    ?.formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value;
  const [, sign, hours = '0', minutes = '0'] = /^GMT(?:([+-])(\d\d):(\d\d))?/.exec(text ?? '') ?? [
    '',
    '',
    'x',
  ];
  return (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
}

function formatFor(zone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  } catch {
    return undefined;
  }
}
