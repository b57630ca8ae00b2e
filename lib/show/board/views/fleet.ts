import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { counted, withoutSql } from '../../../base/wording.js';
import type { InLine, LockInfo } from '../../../contract/lock-info.js';
import { type Member, upSince } from '../../../insight/fleet-jobs.js';
import type { Times } from '../../../insight/shown.js';
import { some } from '../../../insight/phrases.js';
import { type Content, type Markup, markup } from './markup.js';
import { type Scene, table, timeAt } from './parts.js';

const MAX_SHOWN = 60;
/** How many calls in one line are shown. */
const MOST_IN_LINE = 5;
/** From here on the difference of a clock is shown, ms: less can be the network's doing. */
const CLOCK_OFF = 1_000;

/** One line, with the table in it. It is open if there is something to say. */
const folded = (
  id: string,
  texts: readonly (string | false | undefined)[],
  isOpen: boolean,
  content: Content,
): Markup =>
  markup`<section id="${id}" class="region folded" data-live aria-label="${id}">
    <details id="${id}-details"${isOpen && markup` open`}><summary>${texts.filter(Boolean).join(' · ')}</summary>${content}</details>
  </section>`;

const state = ([tone, text]: readonly [string, string]): Markup =>
  markup`<span class="status ${tone}">${text}</span>`;
const byText = <T>(all: readonly T[], text: (one: T) => string): T[] =>
  [...all].sort((one, other) => (text(one) < text(other) ? -1 : 1));

/** The instances: first those that are up, by name. */
export function instances({ looked: { told }, times }: Scene): Markup {
  const up = told.filter(({ info }) => info.state === 'up');
  const gone = told.filter(({ info }) => info.state === 'gone').length;
  const wrong = up.filter(({ info }) => Math.abs(info.clockOffset ?? 0) >= CLOCK_OFF).length;
  const versions = [...new Set(up.map(({ info }) => info.version ?? ''))];
  const named =
    versions.length === 1 ? versions[0] && `version ${versions[0]}` : `${versions.length} versions`;
  const texts = [
    `${counted(up.length, 'instance')} up`,
    up.length > 0 && named,
    wrong > 0 && `${counted(wrong, 'clock')} off`,
    gone > 0 && `${gone} gone without a word`,
    told.length > MAX_SHOWN && `${MAX_SHOWN} are shown`,
  ];
  const sorted = [
    ...byText(up, ({ info }) => info.instance),
    ...told.filter(({ info }) => info.state !== 'up'),
  ];
  const shown = table('Instances', HEADS, sorted.slice(0, MAX_SHOWN), (one) => instanceCells(one, times));
  return folded('instances', texts, up.length === 0, shown);
}

const HEADS = 'Instance,State,Version,Started,Last seen,Clock,Leads,Switched off there'.split(',');
const STATES = { up: ['good', '● up'], gone: ['bad', '▲ gone'], left: ['plain', '○ shut down'] } as const;

function instanceCells({ info, jobs }: Member, times: Times): Content[] {
  const { instance, version = '–', application = '', seenAt, clockOffset, leads } = info;
  const off = jobs.filter(({ enabled }) => !enabled).map(({ job }) => displayName(job));
  return [
    `${displayName(instance)} ${application}`,
    state(STATES[info.state]),
    version,
    timeAt(upSince(info), times),
    timeAt(seenAt, times),
    clockText(clockOffset),
    info.state === 'up' && leads.join(', '),
    some(off),
  ];
}

/** How far a clock differs from the clock of the store, in words. */
function clockText(offset: number | undefined): string {
  if (offset === undefined) return 'not known yet';
  if (Math.abs(offset) < CLOCK_OFF) return 'right';
  return `${formatDuration(Math.abs(offset))} ${offset > 0 ? 'behind' : 'ahead'}`;
}

/** Whether a lock is worth showing: not if it is free, and nothing waits for it. */
const isOfInterest = ({ state, interrupted, line, queued, dead, unknown }: LockInfo): boolean =>
  state !== 'free' || interrupted === true || [line, queued, dead, unknown].some((one) => one !== undefined);

/** The locks of jobs that are taken, or have something waiting. */
export function locks({ looked, times }: Scene): Markup {
  const all = [...looked.locks.values()].flatMap(({ lock }) => lock ?? []);
  const found = byText(all.filter(isOfInterest), ({ name }) => name);
  const dead = found.reduce((sum, lock) => sum + (lock.dead?.length ?? 0), 0);
  const waiting = found.filter(({ line }) => line !== undefined).length;
  const texts = [
    found.length === 0
      ? `${counted(all.length, 'lock')}: none is taken, and nothing waits`
      : `${counted(found.length, 'lock')} of ${all.length} taken, or with something waiting`,
    waiting > 0 && `a line for ${waiting}`,
    dead > 0 && counted(dead, 'dead letter'),
    found.length > MAX_SHOWN && `${MAX_SHOWN} are shown`,
  ];
  const shown =
    found.length > 0 &&
    table('Locks', LOCK_HEADS, found.slice(0, MAX_SHOWN), (lock) => lockCells(lock, times));
  return folded('locks', texts, waiting > 0 || dead > 0, shown);
}

const LOCK_HEADS = 'Lock,State,Holder,Fencing token,Since,Free in,In line,Queued calls,Dead letters'.split(
  ',',
);
const LOCK_STATES = {
  held: ['going', '▶ held'],
  'cooling-down': ['plain', '◇ cooling down'],
  free: ['plain', '○ free'],
  interrupted: ['bad', '⚡ interrupted'],
} as const;

function lockCells(lock: LockInfo, times: Times): Content[] {
  const { name, holder, fencingToken, since, expiresIn, line = [], dead = [] } = lock;
  const [newest] = dead;
  return [
    displayName(name),
    state(LOCK_STATES[lock.interrupted ? 'interrupted' : lock.state]),
    holder === undefined ? 'not known' : displayName(holder),
    lock.state === 'held' && fencingToken,
    timeAt(since, times),
    expiresIn !== undefined && formatDuration(expiresIn),
    waiting(line, times),
    lock.unknown === undefined
      ? lock.queued
      : markup`<abbr title="${withoutSql(lock.unknown)}">unknown</abbr>`,
    newest && [
      state(['bad', `▲ ${dead.length}, the newest ${newest.reason}`]),
      ' ',
      timeAt(newest.at, times),
    ],
  ];
}

/** The calls in line for a lock: the first is the next to have the lock. */
export function waiting(line: readonly InLine[], times: Times): Content {
  const more = line.length - MOST_IN_LINE;
  return [
    line
      .slice(0, MOST_IN_LINE)
      .map(
        ({ holder, since }) =>
          markup`<span class="waiter">${displayName(holder ?? 'not known')}, since ${timeAt(since, times)}</span>`,
      ),
    more > 0 && markup`<span class="faint">and ${more} more</span>`,
  ];
}
