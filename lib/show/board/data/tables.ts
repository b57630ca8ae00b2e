import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { withoutSql } from '../../../base/wording.js';
import type { LockInfo } from '../../../contract/lock-info.js';
import { type Member, upSince } from '../../../insight/fleet-jobs.js';
import { some } from '../../../insight/phrases.js';
import type { Mark } from './verdict.js';

/* The columns of the tables of instances and locks. The page and the shell each draw them in their own way. */

/** A part of a cell. */
export type Bit = string | Mark | { readonly at: number };

/** A column of a table. Nothing is shown of an empty text. */
export interface Column<T> {
  readonly head: string;
  readonly bits: (one: T) => readonly (Bit | undefined | false)[];
}

const column = <T>(head: string, bits: Column<T>['bits']): Column<T> => ({ head, bits });

/** From here on the difference of a clock is told, ms: less can be the network's doing. */
const CLOCK_OFF = 1_000;

/** How far a clock is off. */
export function clockText({ info: { clockOffset: offset = 0 } }: Member): string | undefined {
  if (Math.abs(offset) < CLOCK_OFF) return undefined;
  return `${formatDuration(Math.abs(offset))} ${offset > 0 ? 'behind' : 'ahead'}`;
}

const STATES = {
  up: { tone: 'good', text: 'up', shape: '●' },
  gone: { tone: 'bad', text: 'gone', shape: '▲' },
  left: { tone: 'plain', text: 'shut down', shape: '○' },
} as const;

export const INSTANCES: readonly Column<Member>[] = [
  column('Instance', ({ info }) => [displayName(info.instance)]),
  column('State', ({ info }) => [STATES[info.state]]),
  column('Started', ({ info }) => [{ at: upSince(info) }]),
  column('Last seen', ({ info }) => [{ at: info.seenAt }]),
  column('Application', ({ info }) => [info.application]),
  column('Version', ({ info }) => [info.version]),
  column('Jobs', ({ jobs }) => [String(jobs.length)]),
  column('Clock', (one) => [clockText(one)]),
  // An instance that is gone leads nothing any more.
  column('Leads', ({ info }) => [info.state === 'up' && info.leads.join(', ')]),
  column('Switched off there', ({ jobs }) => [
    some(jobs.filter(({ enabled }) => !enabled).map(({ job }) => displayName(job))),
  ]),
];

const LOCK_STATES = {
  held: { tone: 'going', text: 'held', shape: '▶' },
  'cooling-down': { tone: 'doubt', text: 'cooling down', shape: '◇' },
  free: { tone: 'plain', text: 'free', shape: '○' },
  interrupted: { tone: 'bad', text: 'interrupted', shape: '⚡' },
} as const;

export const LOCKS: readonly Column<LockInfo>[] = [
  column('Lock', ({ name }) => [displayName(name)]),
  column('State', ({ interrupted, state }) => [LOCK_STATES[interrupted ? 'interrupted' : state]]),
  column('Since', ({ since }) => [since !== undefined && { at: since }]),
  column('Expires in', ({ expiresIn }) => [expiresIn === undefined ? '' : formatDuration(expiresIn)]),
  column('Job', ({ job, name }) => [job !== name && job]),
  // `break` needs it: it ends this lease, and no other one.
  column('Fencing', ({ state, fencingToken }) => [state === 'held' && fencingToken?.toString()]),
  column('In line', ({ line = [] }) => {
    const [first] = line;
    if (first === undefined) return [];
    const { holder = 'not known', since } = first;
    return [`${line.length}, first ${displayName(holder)}, since `, { at: since }];
  }),
  column('Queued', ({ unknown, queued }) => [
    unknown === undefined
      ? queued?.toString()
      : { tone: 'doubt', text: 'unknown', shape: '?', why: withoutSql(unknown) },
  ]),
  column('Dead', ({ dead = [] }) => {
    const [newest] = dead;
    if (newest === undefined) return [];
    const text = `${dead.length}, the newest ${newest.reason}`;
    return [{ tone: 'bad', text, shape: '▲' }, ' ', { at: newest.at }];
  }),
  column('Holder', ({ holder }) => [holder === undefined ? '' : displayName(holder)]),
];
