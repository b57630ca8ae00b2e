import { paint } from './paint.js';

/** Something that the page has to show at some time. */
export interface Shown {
  /** Found in the HTML of the page. */
  readonly shows: RegExp;
  /** As a sentence goes on: `The page shows …`. */
  readonly told: string;
}

const word = (text: string): string => paint(text, 'yellow');

/** The row of a job in the table of all jobs. */
const rowOf = (job: string, shows: string): RegExp =>
  new RegExp(`FleetJobs\\.${job}</a><span class="faint schedule">(?:(?!</tr>).)*${shows}`, 's');
const statusOf = (job: string, status: string): RegExp => rowOf(job, `<span [^>]*>[^<]*</span> ${status}`);

/** Each kind of event that the page of the demo shows. */
export const SHOWN = {
  pause: { shows: statusOf('backup', 'paused'), told: `backup as ${word('paused')}: by whom, and why` },
  leader: { shows: /<td>feed<\/td>/, told: `which instance ${word('leads')} the feed` },
  fires: { shows: /Europe\/Berlin/, told: `when nightly runs ${word('next')}, also in its own zone` },
  line: {
    shows: /stock<\/th>(?:(?!<\/tr>).)*<td>\d+, first /s,
    told: `who waits ${word('in line')} for stock`,
  },
  queued: {
    shows: /orders<\/th>(?:(?!<\/tr>).)*<td>[1-9]\d{0,3}<\/td><td>(?:(?!<td).)*<\/td><\/tr>/s,
    told: `${word('queued')} calls for orders`,
  },
  dead: { shows: /the newest failed/, told: `a ${word('dead letter')} of orders` },
  fails: { shows: statusOf('mail', 'failing'), told: `mail as ${word('failing')}, with its error` },
  gone: { shows: /▲<\/span> gone/, told: `old-2 as ${word('gone')}` },
  left: { shows: /○<\/span> shut down/, told: `old-3 as ${word('shut down')}` },
  version: { shows: /class="deployed"><title>[^<]*version 1\.1\.0/, told: `the new ${word('version')}` },
  schedule: { shows: rowOf('digest', ' instead of '), told: `the changed ${word('schedule')}` },
  disagree: {
    shows: statusOf('digest', 'disagree'),
    told: `digest as ${word('disagree')}: two instances have different schedules`,
  },
  overdue: {
    shows: statusOf('cleanup', 'overdue'),
    told: `cleanup as ${word('overdue')}: nobody has it switched on any more`,
  },
  overrun: {
    shows: statusOf('export', 'overrun'),
    told: `export as ${word('overrun')}: it takes longer than the time between its ticks`,
  },
  grey: {
    shows: /No job can start: /,
    told: `that ${word('no job can start')}: the store does not answer`,
  },
  outage: {
    shows: /<title>The store was away [^<]*<\/title><rect class="outage"/,
    told: `the ${word('outage')}`,
  },
  misses: { shows: rowOf('\\w+', '[1-9]\\d* missed ticks?;'), told: `the ${word('missed')} ticks` },
} as const satisfies Readonly<Record<string, Shown>>;
