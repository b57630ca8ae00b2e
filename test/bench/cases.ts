import { queuedCalls } from './queued-calls.js';
import { footprint } from './footprint.js';
import { fullHours } from './full-hour.js';
import { handOffs } from './hand-off.js';
import { column, measureAll } from './rounds.js';
import type { Session } from './session.js';
import { format, median, medianRatio } from './statistics.js';
import type { Row } from './table.js';
import type { Contestant, TurnsMeasurement } from './task.js';

/** One question to the benchmark, with its answer as lines of the table. */
export interface BenchCase {
  readonly name: string;
  readonly rounds: number;
  run(session: Session, rounds: number): Promise<Row[]>;
}

/*
 * The targets are for the processor time of node and Redis together. On one core that does nothing else, it equals
 * the elapsed time. On a busy machine it still means something. The table shows both.
 */

const LIBRARIES = ['service', 'redlock', 'redis-semaphore'] as const;

export const CASES: readonly BenchCase[] = [
  {
    name: 'cycles',
    rounds: 9,
    run: (session, rounds) => throughput(session, rounds, 'cycles', 'one after another', 0.8),
  },
  {
    name: 'at-once',
    rounds: 9,
    run: (session, rounds) => throughput(session, rounds, 'at-once', '1,000 keys at once', 0.6),
  },
  { name: 'refused', rounds: 9, run: refused },
  { name: 'ticks', rounds: 5, run: ticks },
  { name: 'full-hour', rounds: 9, run: fullHours },
  { name: 'hand-off', rounds: 3, run: handOffs },
  { name: 'queued-calls', rounds: 3, run: queuedCalls },
  { name: 'hold', rounds: 3, run: hold },
  { name: 'block', rounds: 5, run: block },
  { name: 'start', rounds: 9, run: start },
  { name: 'footprint', rounds: 1, run: async () => footprint() },
];

async function throughput(
  session: Session,
  rounds: number,
  measurement: TurnsMeasurement,
  title: string,
  target: number,
): Promise<Row[]> {
  const contenders = ['raw', 'service', 'runner', 'redlock', 'redis-semaphore', 'fenced'] as const;
  const all = await measureAll(session, rounds, measurement, contenders);
  const ratio = (contender: Contestant, figure: string): number =>
    medianRatio(column(all, 'raw', figure), column(all, contender, figure));
  const row = (label: string, figure: 'cpu' | 'wall', ours: Contestant): Row => ({
    case: `lease + release, ${title}: ${label}`,
    ours: format(ratio(ours, figure)),
    reference: `1 (${format(median(column(all, 'raw', figure)))} µs)`,
    redlock: format(ratio('redlock', figure)),
    semaphore: format(ratio('redis-semaphore', figure)),
    target: figure === 'cpu' ? `≥ ${target}` : '',
    met: figure === 'cpu' ? ratio(ours, figure) >= target : undefined,
  });
  return [
    row(`over raw (fenced EVAL recipe by hand ${format(ratio('fenced', 'cpu'))})`, 'cpu', 'service'),
    row('over raw, without Nest', 'cpu', 'runner'),
    row(`by the clock on the wall (by hand ${format(ratio('fenced', 'wall'))})`, 'wall', 'service'),
  ];
}

async function refused(session: Session, rounds: number): Promise<Row[]> {
  const all = await measureAll(session, rounds, 'refused', ['raw', ...LIBRARIES]);
  const ratio = (contender: Contestant, figure: string): number =>
    medianRatio(column(all, contender, figure), column(all, 'raw', figure));
  const times = (label: string, figure: 'cpu' | 'wall'): Row => ({
    case: `refused attempt: ${label}`,
    ours: format(ratio('service', figure)),
    reference: `1 (${format(median(column(all, 'raw', figure)))} µs)`,
    redlock: format(ratio('redlock', figure)),
    semaphore: format(ratio('redis-semaphore', figure)),
    target: figure === 'cpu' ? '≤ 1.3' : '',
    met: figure === 'cpu' ? ratio('service', figure) <= 1.3 : undefined,
  });
  const counts = (label: string, figure: string, target: number): Row => {
    const count = (contender: Contestant): number => Math.max(...column(all, contender, figure));
    return {
      case: label,
      ours: format(count('service')),
      reference: format(count('raw')),
      redlock: format(count('redlock')),
      semaphore: format(count('redis-semaphore')),
      target: String(target),
      met: count('service') === target,
    };
  };
  return [
    times('time over raw', 'cpu'),
    times('by the clock on the wall', 'wall'),
    counts('refused attempt: commands', 'commands', 1),
    counts('refused by this very process: commands', 'repeated', 0),
  ];
}

async function ticks(session: Session, rounds: number): Promise<Row[]> {
  const all = await measureAll(session, rounds, 'ticks', ['runner']);
  const of = (figure: string): number[] => column(all, 'runner', figure);
  const row = (label: string, ticked: string, plain: string, limit?: number): Row => {
    const ratio = medianRatio(of(ticked), of(plain));
    const what = ticked.startsWith('history') ? 'a tick and a history' : 'a tick';
    return {
      case: `lease + release with ${what}: ${label}`,
      ours: format(ratio),
      reference: `1 (${format(median(of(plain)))} µs)`,
      redlock: '-',
      semaphore: '-',
      target: limit === undefined ? '' : `≤ ${limit}`,
      met: limit === undefined ? undefined : ratio <= limit,
    };
  };
  const commands = Math.max(...of('perRefusal'));
  const searches = await measureAll(session, rounds, 'search', ['idle']);
  const worst = Math.max(...column(searches, 'idle', 'worst'));
  return [
    row('over the same without one', 'ticked', 'plain', 1.15),
    row("of that, Redis' part", 'tickedRedis', 'plainRedis'),
    row('by the clock on the wall', 'tickedWall', 'plainWall'),
    row('over the same without either', 'history', 'plain', 1.3),
    row("of that, Redis' part", 'historyRedis', 'plainRedis'),
    row('over the same with a tick alone', 'history', 'ticked', 1.2),
    {
      ...row('', 'ticked', 'plain'),
      case: 'refused tick: commands',
      ours: format(commands),
      reference: '1',
      target: '1',
      met: commands === 1,
    },
    {
      ...row('', 'ticked', 'plain'),
      case: `tick of a job from nothing, the dearest (mean ${format(median(column(searches, 'idle', 'mean')), 'ms')})`,
      ours: format(worst, 'ms'),
      reference: '-',
      target: '≤ 50 ms',
      met: worst <= 50,
    },
  ];
}

async function hold(session: Session, rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const leases of [1_000, 10_000]) rows.push(...(await holdMany(session, rounds, leases)));
  return rows;
}

async function holdMany(session: Session, rounds: number, leases: number): Promise<Row[]> {
  const all = await measureAll(session, rounds, 'hold', ['idle', ...LIBRARIES], { leases });
  const of = (contender: Contestant, figure: string): number => median(column(all, contender, figure));
  const title = `${leases.toLocaleString('en')} leases held, ttl 3 s`;
  // What grows with the leases has a goal for a thousand.
  const scale = leases / 1_000;
  const row = (
    label: string,
    figure: string,
    limit: number,
    target: string,
    { unit = '', reference = '' } = {},
  ): Row => ({
    case: `${title}: ${label}`,
    ours: format(of('service', figure), unit),
    reference: reference || format(of('idle', figure), unit),
    redlock: format(of('redlock', figure), unit),
    semaphore: format(of('redis-semaphore', figure), unit),
    target,
    met: of('service', figure) <= limit,
  });
  const lost = (contender: Contestant): number => Math.max(...column(all, contender, 'lost'));
  const redis = medianRatio(column(all, 'service', 'redis'), column(all, 'redis-semaphore', 'redis'));
  return [
    row('batches per second', 'batches', 5, '≤ 5', { reference: '-' }),
    row('commands per second', 'commands', 5 * scale, `≤ ${5 * scale}`),
    row('bytes into Redis per second', 'bytes', 100 * scale, `≤ ${100 * scale} KB`, { unit: 'KB' }),
    {
      ...row("Redis' processor time", 'redis', 0, '≤ 0.7 × redis-semaphore', { unit: '%' }),
      ours: `${format(of('service', 'redis'), '%')} (${format(redis)})`,
      met: redis <= 0.7,
    },
    row('timers', 'timers', 3, '≤ 3'),
    row('event-loop delay p99', 'delay', 2 * of('idle', 'delay'), '≤ 2 × idle', { unit: 'ms' }),
    { ...row('event-loop delay, longest', 'longest', 0, '', { unit: 'ms' }), met: undefined },
    { ...row('processor time of node', 'cpu', 0, '', { unit: '%' }), met: undefined },
    {
      case: `${title}: leases lost`,
      ours: String(lost('service')),
      reference: '-',
      redlock: String(lost('redlock')),
      semaphore: String(lost('redis-semaphore')),
      target: '0',
      met: lost('service') === 0,
    },
  ];
}

async function block(session: Session, rounds: number): Promise<Row[]> {
  const all = await measureAll(session, rounds, 'block', LIBRARIES);
  const worst = (contender: Contestant, figure: string): number =>
    Math.max(...column(all, contender, figure));
  const signalled = (contender: Contestant): string =>
    worst(contender, 'signalled') > 3_000
      ? 'never'
      : format(median(column(all, contender, 'signalled')), 'ms');
  const yesNo = (label: string, figure: string): Row => {
    const answer = (contender: Contestant): string => (worst(contender, figure) > 0 ? 'yes' : 'no');
    return {
      case: `loop blocked for 3 × ttl: ${label}`,
      ours: answer('service'),
      reference: '-',
      redlock: answer('redlock'),
      semaphore: answer('redis-semaphore'),
      target: 'no',
      met: worst('service', figure) === 0,
    };
  };
  return [
    {
      case: 'loop blocked for 3 × ttl: signalled after (worst of ours)',
      ours: `${signalled('service')} (${format(worst('service', 'signalled'), 'ms')})`,
      reference: '-',
      redlock: signalled('redlock'),
      semaphore: signalled('redis-semaphore'),
      target: '≤ 20 ms',
      met: worst('service', 'signalled') <= 20,
    },
    yesNo('release throws', 'threw'),
    yesNo("release frees the next holder's lock", 'freed'),
  ];
}

async function start(session: Session, rounds: number): Promise<Row[]> {
  const all = await measureAll(session, rounds, 'start', ['raw', 'service']);
  const row = (label: string, figure: 'cpu' | 'wall'): Row => {
    const [without, locked] = [column(all, 'raw', figure), column(all, 'service', figure)];
    const added = median(locked.map((time, round) => time - (without[round] ?? NaN)));
    return {
      case: `start-up with 1,000 decorated methods: ${label}`,
      ours: format(added, 'ms'),
      reference: `${format(median(without), 'ms')} undecorated`,
      redlock: '-',
      semaphore: '-',
      target: figure === 'cpu' ? '< 50 ms' : '',
      met: figure === 'cpu' ? added < 50 : undefined,
    };
  };
  return [row('added', 'cpu'), row('by the clock on the wall', 'wall')];
}
