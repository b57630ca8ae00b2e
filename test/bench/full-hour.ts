import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { LET_GO } from './cases/full-hour.js';
import type { Child } from './child-process.js';
import { compare } from './comparison.js';
import { bytesIn, redisCpu } from './measure.js';
import type { Session } from './session.js';
import { format, median, medianRatio, quantile } from './statistics.js';
import type { Row } from './table.js';
import { BEFORE, type Contestant, type Figures } from './task.js';

/*
 * At the full hour every instance asks for every job, and all but one are refused. Measured is what that costs Redis, how late
 * the last job begins, and what everybody else of that Redis feels.
 */

const SIZES = [
  { instances: 20, jobs: 200 },
  { instances: 50, jobs: 100 },
] as const;
const WARM_UP = 10;
/** Between the order and the hour, ms: all processes have set their timers by then. */
const LEAD = 250;
/** When the figures of Redis begin to count, ms before the hour. */
const BEFORE_HOUR = 20;
/** Between two commands of the client that has nothing to do with the fleet, ms. */
const PING_EVERY = 2;
/** Shorter commands are not looked at, microseconds. */
const SLOW = 100;

/** The bound: one bare `SET NX PX` for each attempt, pipelined. */
const BOUND = 'pipelined';
const CONTENDERS = [BOUND, 'runner', 'redlock', 'redis-semaphore'] as const;

export async function fullHours(session: Session, rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { instances, jobs } of session.quick ? [{ instances: 5, jobs: 20 }] : SIZES) {
    const size = `${instances} × ${jobs}`;
    const hours = await measureHours(session, rounds, { instances, jobs });
    if (session.compares)
      session.comparisons.push(...compare(`full-hour ${size}`, hours.get('runner'), hours.get(BEFORE)));
    rows.push(...rowsOf(`full hour, ${size}`, hours));
  }
  return rows;
}

type Hours = ReadonlyMap<Contestant, readonly Figures[]>;

function rowsOf(title: string, hours: Hours): Row[] {
  const of = (contender: Contestant, figure: string): number[] =>
    (hours.get(contender) ?? []).map((figures) => figures[figure] ?? NaN);
  const over = (label: string, figure: string, unit: string, limit: number): Row => {
    const ratio = (contender: Contestant): string =>
      format(medianRatio(of(contender, figure), of(BOUND, figure)));
    return {
      case: `${title}: ${label}, over bare`,
      ours: `${ratio('runner')} (${format(median(of('runner', figure)), unit)})`,
      reference: `1 (${format(median(of(BOUND, figure)), unit)})`,
      redlock: ratio('redlock'),
      semaphore: ratio('redis-semaphore'),
      target: `≤ ${limit}`,
      met: medianRatio(of('runner', figure), of(BOUND, figure)) <= limit,
    };
  };
  const most = (label: string, figure: string, unit: string, limit: number): Row => {
    const text = (contender: Contestant): string => format(median(of(contender, figure)), unit);
    return {
      case: `${title}: ${label}`,
      ours: text('runner'),
      reference: text(BOUND),
      redlock: text('redlock'),
      semaphore: text('redis-semaphore'),
      target: `≤ ${limit} ${unit}`,
      met: median(of('runner', figure)) <= limit,
    };
  };
  return [
    over("Redis' processor time per attempt", 'redis', 'µs', 1.25),
    over('bytes in per attempt', 'bytes', 'B', 1),
    over('the last job begins after', 'last', 'ms', 1.25),
    most('longest command', 'longest', 'ms', 1),
    most('PING of an innocent client, p99', 'ping', 'ms', 2),
  ];
}

async function measureHours(
  session: Session,
  rounds: number,
  { instances, jobs }: { instances: number; jobs: number },
): Promise<Hours> {
  const contenders: readonly Contestant[] = session.compares ? [...CONTENDERS, BEFORE] : CONTENDERS;
  const fleets: { contender: Contestant; children: Child[]; hours: Figures[] }[] = [];
  for (const contender of contenders) {
    const children = session.fleet(instances, contender, jobs);
    await Promise.all(children.map((child) => child.answer()));
    fleets.push({ contender, children, hours: [] });
  }
  const server = new Redis(session.redis.url);
  const innocent = new Redis(session.redis.url);
  if (session.redis.process !== undefined) await server.config('SET', 'slowlog-log-slower-than', SLOW);
  for (let round = 0; round < WARM_UP + rounds; round++) {
    for (const { children, hours } of fleets) {
      const figures = await measureHour(children, server, innocent);
      if (figures['won'] !== jobs) throw new Error(`${figures['won']} of ${jobs} jobs ran`);
      if (round >= WARM_UP) hours.push({ ...figures, ...perAttempt(figures, instances * jobs) });
    }
    process.stderr.write(`full-hour ${instances} × ${jobs}: round ${round + 1} of ${WARM_UP + rounds}\n`);
  }
  for (const { children } of fleets)
    await Promise.all(children.map((child) => child.close().then(() => child.exit())));
  server.disconnect();
  innocent.disconnect();
  return new Map(fleets.map(({ contender, hours }) => [contender, hours]));
}

const perAttempt = ({ redis = NaN, bytes = NaN }: Figures, attempts: number): Figures => ({
  redis: redis / attempts,
  bytes: bytes / attempts,
});

async function measureHour(children: readonly Child[], server: Redis, innocent: Redis): Promise<Figures> {
  await server.slowlog('RESET');
  const at = Date.now() + LEAD;
  const answers = children.map((child) => child.ask(String(at)));
  await sleep(LEAD - BEFORE_HOUR);
  const [cpu, bytes] = [await redisCpu(server), await bytesIn(server)];
  const { latencies, stop } = pings(innocent, at);
  const found = await Promise.all(answers);
  await stop();
  const figures = {
    redis: (await redisCpu(server)) - cpu,
    bytes: (await bytesIn(server)) - bytes,
    won: found.reduce((sum, { won = 0 }) => sum + won, 0),
    last: Math.max(...found.map(({ last = 0 }) => last)),
    longest: await longestCommand(server),
    ping: quantile(latencies, 0.99),
  };
  await Promise.all(children.map((child) => child.ask(LET_GO)));
  return figures;
}

/** Sends a `PING` every few milliseconds, and takes note of those from `at` on. */
function pings(client: Redis, at: number): { latencies: number[]; stop: () => Promise<unknown> } {
  const latencies: number[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    const [sent, counts] = [performance.now(), Date.now() >= at];
    last = client.ping().then(() => counts && latencies.push(performance.now() - sent));
  }, PING_EVERY);
  const stop = (): Promise<unknown> => {
    clearInterval(timer);
    return last;
  };
  return { latencies, stop };
}

/** Milliseconds; 0 if none was slow. */
async function longestCommand(server: Redis): Promise<number> {
  const entries = (await server.slowlog('GET', -1)) as [id: number, time: number, duration: number][];
  return Math.max(0, ...entries.map(([, , duration]) => duration)) / 1e3;
}
