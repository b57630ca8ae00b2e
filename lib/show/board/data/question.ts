import { timesIn } from '../../../insight/times.js';

/**
 * A question to the page.
 *
 * What a viewer asks for. The page has one address, and the question is its query. So every link is relative, and stays right under
 * any prefix, version and proxy, with and without a slash at the end.
 */
export interface Question {
  /** The zone of all times. */
  readonly zone: string;
  /** How far back timelines go. */
  readonly hours: number;
  /** Absent: all jobs. */
  readonly job?: string;
  /** A tick of the job, epoch milliseconds: asks why the tick ran, or did not run. */
  readonly at?: number;
  /** A part of a name: only jobs with it in their names are listed. */
  readonly find: string;
  /** How many jobs of the list come before the ones that are shown. */
  readonly skip: number;
}

export const HOURS = [1, 3, 6, 12, 24, 72] as const;
const DEFAULTS: Question = { zone: 'UTC', hours: 3, find: '', skip: 0 };
/** The longest text in a query, characters. */
const LONGEST = 300;

/** Reads a query. Ignores what it cannot read: a link that was cut still leads to the page. */
export function readQuestion(query: URLSearchParams): Question {
  const text = (name: string): string => (query.get(name) ?? '').slice(0, LONGEST);
  const number = (name: string): number => (/^\d{1,15}$/.test(text(name)) ? Number(text(name)) : NaN);
  const [job, at, skip, hours] = [text('job'), number('at'), number('skip'), number('hours')];
  return {
    zone: isZone(text('zone')) ? text('zone') : DEFAULTS.zone,
    hours: HOURS.find((each) => each === hours) ?? DEFAULTS.hours,
    ...(job.trim() !== '' && { job }),
    ...(job.trim() !== '' && at >= EARLIEST && { at }),
    find: text('find').trim(),
    skip: skip > 0 ? skip : 0,
  };
}

/** A number before 1973 is no tick in milliseconds: the viewer has given seconds. */
const EARLIEST = 1e11;

export function isZone(zone: string): boolean {
  if (zone === '') return false;
  try {
    timesIn(zone);
    return true;
  } catch {
    return false;
  }
}

/** A relative link to a question. */
export function linkTo(question: Partial<Question>): string {
  const query = new URLSearchParams();
  for (const name of ['job', 'at', 'find', 'skip', 'hours', 'zone'] as const) {
    const value = question[name];
    if (value !== undefined && value !== DEFAULTS[name]) query.set(name, String(value));
  }
  // An empty link would keep the query of the present page.
  return `?${query}`;
}
