import { paint } from './paint.js';

/** Something that the page has to show at some time. */
export interface Shown {
  /** Found in the HTML of the page. */
  readonly shows: RegExp;
  /** As a sentence goes on: `The page shows …`. */
  readonly told: string;
}

const word = (text: string): string => paint(text, 'yellow');

/** How a job is, in the list of all jobs. */
const statusOf = (job: string, status: string): RegExp =>
  new RegExp(`FleetJobs\\.${job}</a></th><td><span class="status \\w+"><span[^>]*>[^<]*</span> ${status}`);

/** A row of what changed has at least one mark. */
const changed = (row: string): RegExp => new RegExp(`aria-label="${row}: [1-9]`);

/** Each kind of event that the page of the demo shows. */
export const SHOWN = {
  pause: { shows: statusOf('backup', 'paused'), told: `backup as ${word('paused')}: by whom, and why` },
  leader: { shows: /<td>feed<\/td>/, told: `which instance ${word('leads')} the feed` },
  fires: { shows: /Europe\/Berlin/, told: `when nightly runs ${word('next')}, also in its own zone` },
  line: {
    shows: /stock<\/th>(?:(?!<\/tr>).)*class="waiter"/s,
    told: `who waits ${word('in line')} for stock`,
  },
  queued: {
    shows: /orders<\/th>(?:(?!<\/tr>).)*<td class="number">[1-9]\d*<\/td><td>(?:(?!<td).)*<\/td><\/tr>/s,
    told: `${word('queued')} calls for orders`,
  },
  dead: { shows: /the newest failed/, told: `a ${word('dead letter')} of orders` },
  fails: { shows: statusOf('mail', 'failing'), told: `mail as ${word('failing')}, with its error` },
  rerun: {
    shows: /class="run \w+(?: overlap)? again"/,
    told: `that another instance has started report ${word('again')}`,
  },
  gone: { shows: /▲ gone/, told: `old-2 as ${word('gone')}` },
  left: { shows: /○ shut down/, told: `old-3 as ${word('shut down')}` },
  version: { shows: changed('Versions'), told: `the new ${word('version')}` },
  schedule: { shows: changed('Schedules'), told: `the changed ${word('schedule')}` },
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
    shows: /class="verdict stale"/,
    told: `that its answer is ${word('old')}: the store does not answer`,
  },
  outage: { shows: changed('Store away'), told: `the ${word('outage')}` },
  misses: { shows: changed('Missed ticks'), told: `the ${word('missed')} ticks` },
  overlap: { shows: /class="run \w+ overlap/, told: `that two runs of export ${word('overlap')}` },
} as const satisfies Readonly<Record<string, Shown>>;
