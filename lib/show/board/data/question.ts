import { given } from '../../../base/shared.js';
import { isZone, readTime } from '../../../insight/times.js';

/**
 * What a viewer asks for. The page has one address, and the question is its query. So every link is relative, and stays right under
 * any prefix, version and proxy, with and without a slash at the end.
 */
export interface Question {
  /** The zone of all times. */
  readonly zone: string;
  /** How far back the strips go. Absent: as far as the oldest problem. */
  readonly hours?: number;
  /** Absent: all jobs. */
  readonly job?: string;
  /** A time, epoch milliseconds: asks why the job ran then, or did not run. */
  readonly at?: number;
  /** Only jobs in this state, of this application, with this text in their names. */
  readonly state?: string;
  readonly app?: string;
  readonly find: string;
  /** How many jobs of the table come before the ones that are shown. */
  readonly skip: number;
}

export const HOURS = [6, 24, 168] as const;
const DEFAULTS = { zone: 'UTC', find: '', skip: 0 };
/** The longest text in a query, characters. */
const LONGEST = 300;

/** Reads a query. Ignores what it cannot read: a link that was cut still leads to the page. */
export function readQuestion(query: URLSearchParams): Question {
  const text = (name: string): string => (query.get(name) ?? '').slice(0, LONGEST);
  const part = (name: string): Record<string, string> =>
    text(name).trim() === '' ? {} : { [name]: text(name) };
  const number = (name: string): number => (/^\d{1,15}$/.test(text(name)) ? Number(text(name)) : NaN);
  const zone = isZone(text('zone')) ? text('zone') : DEFAULTS.zone;
  // A link has a number; the form of the page a text in the zone of the viewer.
  const at = readTime(text('at'), zone) ?? number('at');
  const hours = HOURS.find((each) => each === number('hours'));
  return {
    zone,
    ...(hours !== undefined && { hours }),
    ...part('job'),
    ...(text('job').trim() !== '' && at >= EARLIEST && { at }),
    ...part('state'),
    ...part('app'),
    find: text('find').trim(),
    skip: number('skip') || 0,
  };
}

/** A number before 1973 is no tick in milliseconds: the viewer has given seconds. */
const EARLIEST = 1e11;

const NAMES = ['job', 'at', 'state', 'app', 'find', 'skip', 'hours', 'zone'] as const;
const isDefault = (name: string, value: unknown): boolean =>
  value === (DEFAULTS as Record<string, unknown>)[name];

/** The parts of a question that are in its link. */
export const partsOf = (question: Partial<Question>): [name: string, value: string][] =>
  NAMES.flatMap((name): [string, string][] => {
    const value = question[name];
    return value === undefined || isDefault(name, value) ? [] : [[name, String(value)]];
  });

/** A relative link to a question. An empty one would keep the query of the present page. */
export const linkTo = (question: Partial<Question>): string => `?${new URLSearchParams(partsOf(question))}`;

/** A link from one page to another one, in the same zone, and as far back. */
export const linkFrom = ({ zone, hours }: Question, to: Partial<Question>): string =>
  linkTo({ zone, ...given({ hours }), ...to });
