import { column, measureAll } from './rounds.js';
import type { Session } from './session.js';
import { format, median, medianRatio } from './statistics.js';
import type { Row } from './table.js';

/** Queued calls, beside a queue: see cases/queued-calls.ts. Its figures are in the column of the reference. */
export async function queuedCalls(session: Session, rounds: number): Promise<Row[]> {
  const all = await measureAll(session, rounds, 'queued-calls', ['service', 'bullmq']);
  const row = (label: string, figure: string, unit: string, target = '', most = NaN): Row => {
    const [ours, theirs] = [column(all, 'service', figure), column(all, 'bullmq', figure)];
    return {
      case: `queued calls: ${label}`,
      ours: `${format(median(ours), unit)} (${format(medianRatio(ours, theirs))} ×)`,
      reference: `BullMQ ${format(median(theirs), unit)}`,
      redlock: '',
      semaphore: '',
      target,
      met: target === '' ? undefined : median(ours) <= most,
    };
  };
  return [
    row('queued per second', 'queued per second', ''),
    row('run per second', 'run per second', ''),
    row("Redis' processor time to keep one", 'redis to queue', 'µs'),
    row("Redis' processor time to run one", 'redis to run', 'µs'),
    row('processor time of node to keep one', 'node to queue', 'µs'),
    row('processor time of node to run one', 'node to run', 'µs'),
    row('commands to run one', 'commands', '', '≤ 1.1', 1.1),
  ];
}
