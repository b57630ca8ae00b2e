import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DATABASES, type TestDatabase, type TestPool } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { type Comparison, comparisonTable } from '../comparison.js';
import { pin, scriptOf } from '../session.js';
import { format, median } from '../statistics.js';
import { markdownTable, type Row } from '../table.js';
import { fullHours, INSTANCE, ROOM } from './full-hour.js';
import { sqlHandOffs } from './hand-off.js';
import { histories } from './history.js';
import { rawContender, serviceContender, type SqlContender, storeContender } from './contenders.js';

/*
 * npm run bench:sql [-- <rounds> [cycles | history | hold | full-hour | hand-off] [--against <folder>]]
 *
 * A benchmark, not a test. Contenders take turns on one pool, a few cycles each, so that other load on the machine disturbs
 * all of them. Ratios are medians over the rounds. Node and the server are on one core, as in the benchmark of Redis: the
 * elapsed time is the processor time of both, plus that of the disk. With --against, the full hour also measures another checkout
 * of this project, whose tools are built and have this case.
 */
const {
  values: { against },
  positionals: [rounds = '7', only],
} = parseArgs({ allowPositionals: true, options: { against: { type: 'string', default: '' } } });
const ROUNDS = Number(rounds);
const wants = (part: string): boolean => only === undefined || only === part;
/** Cycles of each contender and round. */
const CYCLES = 1_500;
/** Cycles in a row. */
const TURN = 25;
const NAMES = 50;
const LEASES = 1_000;
const HOLD_TTL = 3_000;
const HOLD_SECONDS = 12;

const core = pin(process.pid);
console.log(core === undefined ? 'not pinned to a core' : `node and the server pinned to core ${core}`);
const before = scriptOf(against, INSTANCE);
const rows: Row[] = [];
const comparisons: Comparison[] = [];
for (const database of DATABASES) {
  // A private server, and durable: the cost of a commit is a part of every statement.
  const server = await database.start([...database.durable, ROOM[database.name] ?? '']);
  const pool = database.pool(server.url);
  const table = uniqueTable('bench');
  try {
    if (wants('cycles')) await cycles(database, pool, table);
    if (wants('history')) await histories(database, pool.store({ table }), ROUNDS);
    if (wants('hold')) await hold(database, pool, table);
    if (wants('full-hour')) {
      const found = await fullHours({ database, server, core, rounds: ROUNDS, before });
      rows.push(...found.rows);
      comparisons.push(...found.comparisons);
    }
    if (wants('hand-off')) rows.push(...(await sqlHandOffs({ database, url: server.url, rounds: ROUNDS })));
  } finally {
    for (const suffix of ['', '_entries']) await pool.write(`DROP TABLE IF EXISTS ${table}${suffix}`);
    await pool.end();
    await server.stop();
  }
}
if (rows.length > 0) console.log(`\n${markdownTable(rows)}\n`);
if (comparisons.length > 0) console.log(`${comparisonTable(comparisons)}\n`);
process.exit(0);

/** Acquire and release, one after another. */
async function cycles(database: TestDatabase, pool: TestPool, table: string): Promise<void> {
  const store = pool.store({ table });
  await store.init();
  const contenders: SqlContender[] = [
    rawContender(database, pool, table),
    storeContender(store),
    await serviceContender(store),
  ];
  const times = new Map(contenders.map(({ name }) => [name, [] as number[]]));
  const turn = async ({ cycle }: SqlContender, from: number): Promise<number> => {
    const start = performance.now();
    for (let i = from; i < from + TURN; i++) await cycle(`job-${i % NAMES}`);
    return performance.now() - start;
  };
  /** Microseconds per cycle of each contender. */
  const run = async (): Promise<number[]> => {
    const sums = contenders.map(() => 0);
    for (let from = 0; from < CYCLES; from += TURN) {
      // Changes the order, so that no contender always follows the same one.
      const first = (from / TURN) % contenders.length;
      for (const step of contenders.keys()) {
        const next = (first + step) % contenders.length;
        const contender = contenders[next];
        if (contender !== undefined) sums[next] = (sums[next] ?? 0) + (await turn(contender, from));
      }
    }
    return sums.map((sum) => (sum * 1_000) / CYCLES);
  };
  // Before the first figure, the rows exist, with our tokens, and the code is compiled.
  for (const contender of [...contenders].reverse()) {
    for (let from = 0; from < 1_000; from += TURN) await turn(contender, from);
  }
  for (let round = 0; round < ROUNDS; round++) {
    const measured = await run();
    for (const [i, { name }] of contenders.entries()) times.get(name)?.push(measured[i] ?? NaN);
  }
  const raw = times.get('raw') ?? [];
  for (const { name } of contenders) {
    const own = times.get(name) ?? [];
    const ratio = median(own.map((time, round) => (raw[round] ?? NaN) / time));
    console.log(
      `${database.name}: acquire + release, ${name}: ${format(median(own))} µs, ${format(ratio)} of raw`,
    );
  }
  for (const contender of contenders) await contender.close();
}

/** Statements that keep a thousand leases. */
async function hold(database: TestDatabase, pool: TestPool, table: string): Promise<void> {
  let statements = 0;
  let lost = 0;
  const store = pool.store({ table });
  const { extend } = store;
  store.extend = (leases) => {
    statements += 1;
    return extend.call(store, leases);
  };
  const { locks, close } = await serviceContender(store);
  let letGo!: () => void;
  const end = new Promise<void>((resolve) => (letGo = resolve));
  let held = 0;
  const runs = Array.from({ length: LEASES }, async (_, i) => {
    await sleep((i * 900) / LEASES);
    return locks.run(`lease-${i}`, { ttl: HOLD_TTL }, async ({ signal }) => {
      held += 1;
      signal.addEventListener('abort', () => (lost += 1));
      await end;
    });
  });
  while (held < LEASES) await sleep(10);
  statements = 0;
  await sleep(HOLD_SECONDS * 1_000);
  const perSecond = statements / HOLD_SECONDS;
  letGo();
  await Promise.all(runs);
  await close();
  console.log(
    `${database.name}: ${LEASES} leases held at ttl ${HOLD_TTL} ms: ${format(perSecond)} statements per second, ${lost} lost`,
  );
}
