import { randomUUID } from 'node:crypto';
import type { AcquireRequest } from '../../../lib/contract/lock-store.js';
import type { RunRecord } from '../../../lib/contract/history-store.js';
import type { SqlStore, TestDatabase } from '../../support/database.js';
import { format, median, medianRatio } from '../statistics.js';

/*
 * What the history of a job costs: acquire and release of a tick, with and without it, one after another. A plain lock beside them has
 * no history.
 */

const CYCLES = 750;
/** Cycles in a row. */
const TURN = 25;
const WARM_UP = 500;
const NAMES = 50;

const record: RunRecord = { kept: { count: 100, age: 30 * 86_400_000 }, duration: 12 };
/** What a contender's calls have, and whether it has ticks. */
const CONTENDERS = {
  'a plain lock': { ticks: false, history: false },
  'a tick': { ticks: true, history: false },
  'a tick with history': { ticks: true, history: true },
} as const;
type Name = keyof typeof CONTENDERS;
const NAMES_OF_CONTENDERS = Object.keys(CONTENDERS) as Name[];

export async function histories(database: TestDatabase, store: SqlStore, rounds: number): Promise<void> {
  await store.init();
  const problem = await store.history.init();
  if (problem !== undefined) throw new Error(problem);
  const times = new Map(NAMES_OF_CONTENDERS.map((name) => [name, [] as number[]]));
  let tick = Date.now();
  const cycle = async (lock: string, { ticks, history }: (typeof CONTENDERS)[Name]): Promise<void> => {
    const start = ticks ? { job: lock, tick: ++tick, schedule: '* * * * *' } : {};
    const request: AcquireRequest = {
      name: lock,
      token: randomUUID(),
      ttl: 60_000,
      holder: 'bench',
      ...start,
    };
    const result = await store.acquire(history ? { ...request, history } : request);
    if (!result.acquired) throw new Error(`The lock ${lock} was not granted: ${result.reason}`);
    await store.release({ ...request, ...result }, history ? { record } : {});
  };
  const turn = async (name: Name, from: number): Promise<number> => {
    const start = performance.now();
    for (let i = from; i < from + TURN; i++) await cycle(`${name} ${i % NAMES}`, CONTENDERS[name]);
    return performance.now() - start;
  };
  for (const name of NAMES_OF_CONTENDERS)
    for (let from = 0; from < WARM_UP; from += TURN) await turn(name, from);
  for (let round = 0; round < rounds; round++) {
    const sums = new Map<Name, number>();
    for (let from = 0; from < CYCLES; from += TURN) {
      // Changes the order, so that no contender always follows the same one.
      const first = (from / TURN) % NAMES_OF_CONTENDERS.length;
      const order = [...NAMES_OF_CONTENDERS.slice(first), ...NAMES_OF_CONTENDERS.slice(0, first)];
      for (const name of order) sums.set(name, (sums.get(name) ?? 0) + (await turn(name, from)));
    }
    for (const [name, sum] of sums) times.get(name)?.push((sum * 1_000) / CYCLES);
  }
  await store.close();
  const without = times.get('a tick') ?? [];
  for (const [name, own] of times) {
    const ratio = format(medianRatio(own, without));
    console.log(
      `${database.name}: acquire + release of ${name}: ${format(median(own))} µs, ${ratio} × a tick`,
    );
  }
}
