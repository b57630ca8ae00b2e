import { setTimeout as sleep } from 'node:timers/promises';
import { DATABASES, type TestDatabase, type TestPool } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { format, median } from '../statistics.js';
import { rawContender, serviceContender, type SqlContender, storeContender } from './contenders.js';

/*
 * npm run bench:sql [-- <rounds>]
 *
 * A benchmark, not a test. Contenders take turns, round after round on one pool, so that what disturbs the machine disturbs
 * all of them; ratios are medians over the rounds.
 */
const ROUNDS = Number(process.argv[2] ?? 7);
const CYCLES = 1_500;
const NAMES = 50;
const LEASES = 1_000;
const HOLD_TTL = 3_000;
const HOLD_SECONDS = 12;

for (const database of DATABASES) {
  // Of our own, and durable: what a commit costs is a part of every statement.
  const server = await database.start(database.durable);
  const pool = database.pool(server.url);
  const table = uniqueTable('bench');
  try {
    await cycles(database, pool, table);
    await hold(database, pool, table);
  } finally {
    await pool.write(`DROP TABLE IF EXISTS ${table}`);
    await pool.end();
    await server.stop();
  }
}
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
  const run = async ({ cycle }: SqlContender, count: number): Promise<number> => {
    const start = performance.now();
    for (let i = 0; i < count; i++) await cycle(`job-${i % NAMES}`);
    return ((performance.now() - start) * 1_000) / count;
  };
  // Rows are there, and code is compiled, before the first figure.
  for (const contender of [...contenders].reverse()) await run(contender, CYCLES / 3);
  for (let round = 0; round < ROUNDS; round++) {
    for (const contender of contenders) times.get(contender.name)?.push(await run(contender, CYCLES));
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
