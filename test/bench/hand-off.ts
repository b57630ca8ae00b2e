import { column, type Measurements, measureAll } from './rounds.js';
import type { Session } from './session.js';
import { format, median, medianRatio } from './statistics.js';
import type { Row } from './table.js';
import type { Contestant } from './task.js';
import { WAITERS } from './waiters.js';

/*
 * One gives a lock back, the next one of those who wait gets it. Measured is how long that takes, whether they are served in the
 * order in which they asked, and what waiting costs. The bound is a list whose token goes to whoever waits in BLPOP.
 */

/** How many wait, and whether in one process. */
export const SIZES = [
  { waiters: 1, shared: false },
  { waiters: 10, shared: false },
  { waiters: 100, shared: false },
  { waiters: 100, shared: true },
] as const;
const QUICK = [
  { waiters: 3, shared: false },
  { waiters: 3, shared: true },
] as const;

export async function handOffs(session: Session, rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { waiters, shared } of session.quick ? QUICK : SIZES) {
    const all = await measureAll(session, rounds, 'hand-off', WAITERS, { waiters, shared });
    rows.push(...rowsOf(`hand-off, ${crowdOf({ waiters, shared })}`, all));
  }
  return rows;
}

/** How a table calls those who wait. */
export const crowdOf = ({ waiters, shared }: { waiters: number; shared: boolean }): string =>
  `${waiters === 1 ? '1 waiter' : `${waiters} waiters`}${shared ? ' in one process' : ''}`;

function rowsOf(title: string, all: Measurements): Row[] {
  const of = (contender: Contestant, figure: string): number => median(column(all, contender, figure));
  const row = (
    label: string,
    text: (contender: Contestant) => string,
    target = '',
    met: boolean | undefined = undefined,
  ): Row => ({
    case: `${title}: ${label}`,
    ours: text('service'),
    reference: text('blpop'),
    redlock: text('redlock'),
    semaphore: text('redis-semaphore'),
    target,
    met,
  });
  const over = (label: string, figure: string, unit: string): Row => {
    const ratio = medianRatio(column(all, 'service', figure), column(all, 'blpop', figure));
    const plain = row(label, (contender) => format(of(contender, figure), unit));
    return { ...plain, ours: `${plain.ours} (${format(ratio)} × bound)` };
  };
  const sum = (contender: Contestant, figure: string): number =>
    column(all, contender, figure).reduce((total, value) => total + value, 0);
  const order = row(
    `inversions of ${sum('service', 'pairs')} pairs`,
    (contender) => String(sum(contender, 'inversions')),
    '0',
    sum('service', 'inversions') === 0,
  );
  const idle = row(
    'commands per second of a process that waits',
    (contender) => format(of(contender, 'idle')),
    '≤ 1',
    of('service', 'idle') <= 1,
  );
  return [
    over('median', 'median', 'ms'),
    over('p99', 'p99', 'ms'),
    ...(sum('service', 'pairs') > 0 ? [order] : []),
    idle,
    over("Redis' processor time", 'redis', 'µs'),
  ];
}
