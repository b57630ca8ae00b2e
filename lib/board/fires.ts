import type { TickFinder } from '../insight/facts.js';
import { inTurns } from '../insight/turns.js';
import type { JobView } from '../insight/types.js';

/** When a job is to fire within a day. */
export interface Fires {
  readonly job: JobView;
  /** The first of them, epoch milliseconds. */
  readonly next: number;
  /** Those that are known. More than {@link MOST_FIRES} come so often that a list would tell nothing. */
  readonly at: readonly number[];
  readonly isFrequent: boolean;
  /** When the clocks of its zone change within that day, and by how much, ms. */
  readonly change?: { readonly at: number; readonly by: number };
}

export const DAY = 86_400_000;
/** So many fires of a job are looked for. */
export const MOST_FIRES = 24;
/** So many jobs are shown. */
export const MOST_FIRING = 40;

/** More schedules than a fleet has, unless it makes up new ones all the time. */
const MOST_SCHEDULES = 2_000;

/**
 * Finds fires. It keeps the dates of each schedule, as a question to `cron` takes a millisecond: from one answer of the store to the next
 * only those are asked for that have come within a day since.
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

  /** One date at a time, so that whatever else waits has its turn in between; behind the last one of a job its fires. */
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

/** The next change of the clocks in a zone, within a day. */
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
/** There are about so many zones. */
const MOST_FORMATS = 600;

/** How far the clocks of a zone are ahead of UTC, ms. NaN for what is no zone, such as an offset. */
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
