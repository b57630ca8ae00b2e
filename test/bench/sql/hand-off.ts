import { setTimeout as sleep } from 'node:timers/promises';
import type { LockStore } from '../../../lib/index.js';
import type { TestDatabase, TestPool } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { until } from '../../support/until.js';
import { crowdOf, SIZES } from '../hand-off.js';
import { format, median, medianRatio } from '../statistics.js';
import type { Row } from '../table.js';
import type { Figures } from '../task.js';
import { figuresOf, handOffs, type Volley, volley } from '../volley.js';
import { type Ask, service, type Waiter } from '../waiters.js';

/*
 * One gives a lock back, the next one of those who wait gets it: as for Redis, see ../hand-off.ts. The bound is a lock of the
 * server itself, for which a session waits: no polling, no row, nothing written, and it is gone with its connection.
 */

type Size = (typeof SIZES)[number];

const TTL = 60_000;
/** Hand-offs that are measured in a round, at least. */
const HAND_OFFS = 60;
/** Before idle waiters are watched, and for how long, ms. */
const [SETTLE, WATCH] = [2_000, 10_000];
/** How calls in line learn of their turn. */
const WAYS = ['polling'] as const;
type Contender = (typeof WAYS)[number] | 'bound';

interface Setting {
  readonly database: TestDatabase;
  readonly url: string;
  readonly rounds: number;
}

/** Clients of a contender, and how many statements they have sent. */
interface Crowd {
  readonly waiters: readonly Waiter[];
  readonly count: { statements: number };
  close(): Promise<void>;
}

export async function sqlHandOffs(setting: Setting): Promise<Row[]> {
  const { database } = setting;
  const ways = await waysOf(setting);
  if (ways.length === 0) {
    console.log(`${database.name}: hand-off: NOT MEASURED, the store has no lines (no hints())`);
    return [rowOf(`${database.name}: hand-off`, 'the store has no lines', '-')];
  }
  const rows: Row[] = [];
  for (const size of SIZES) {
    const contenders: Contender[] = [...(size.shared ? [] : (['bound'] as const)), ...ways];
    const all = new Map<Contender, Figures[]>(contenders.map((contender) => [contender, []]));
    for (let round = 0; round < setting.rounds; round++) {
      for (const contender of contenders)
        all.get(contender)?.push(await measureHandOffs(setting, contender, size));
      process.stderr.write(`${database.name}: hand-off ${crowdOf(size)}: round ${round + 1}\n`);
    }
    for (const way of ways)
      rows.push(...rowsOf(`${database.name}: hand-off, ${crowdOf(size)}, ${way}`, way, all));
  }
  return rows;
}

function rowsOf(title: string, way: Contender, all: ReadonlyMap<Contender, readonly Figures[]>): Row[] {
  const of = (contender: Contender, figure: string): number[] =>
    (all.get(contender) ?? []).map((figures) => figures[figure] ?? NaN);
  const sum = (figure: string): number => of(way, figure).reduce((total, value) => total + value, 0);
  const [ours, bound] = [of(way, 'median'), of('bound', 'median')];
  const over = bound.length === 0 ? '' : ` (${format(medianRatio(ours, bound))} × bound)`;
  const text = (contender: Contender, figure: string, unit = ''): string =>
    format(median(of(contender, figure)), unit);
  return [
    rowOf(`${title}: median`, text(way, 'median', 'ms') + over, text('bound', 'median', 'ms')),
    rowOf(`${title}: p99`, text(way, 'p99', 'ms'), text('bound', 'p99', 'ms')),
    ...(sum('pairs') === 0
      ? []
      : [
          {
            ...rowOf(`${title}: inversions of ${sum('pairs')} pairs`, String(sum('inversions')), '-', '0'),
            met: sum('inversions') === 0,
          },
        ]),
    {
      ...rowOf(`${title}: statements per second of a process that waits`, text(way, 'idle'), '-', '≤ 1'),
      met: median(of(way, 'idle')) <= 1,
    },
    rowOf(`${title}: statements per hand-over`, text(way, 'statements'), '-'),
  ];
}

const rowOf = (title: string, ours: string, reference: string, target = ''): Row => ({
  case: title,
  ours,
  reference,
  redlock: '-',
  semaphore: '-',
  target,
  met: undefined,
});

async function measureHandOffs(setting: Setting, contender: Contender, size: Size): Promise<Figures> {
  const { waiters, shared } = size;
  const crowd = await (contender === 'bound' ? bound(setting, size) : ours(setting, size));
  const { count } = crowd;
  try {
    // First, as meanwhile the connections for hints come up.
    let idle = NaN;
    await volley(crowd.waiters, async () => {
      // A pool closes the connection of a holder that says nothing for ten seconds, and the lock of the server goes with it.
      if (contender === 'bound') return;
      await sleep(SETTLE);
      const before = count.statements;
      await sleep(WATCH);
      idle = ((count.statements - before) * 1_000) / WATCH;
    });
    await volley(crowd.waiters);
    const volleys = Math.ceil(HAND_OFFS / waiters);
    const found: Volley[] = [];
    let statements = 0;
    for (let i = 0; i < volleys; i++) {
      const seen = await volley(
        crowd.waiters,
        async () => (statements -= count.statements),
        async () => (statements += count.statements),
      );
      found.push(seen);
    }
    return {
      ...figuresOf(found),
      statements: statements / handOffs(found),
      idle: idle / (shared ? 1 : waiters),
    };
  } finally {
    await crowd.close();
  }
}

/** Applications, each with a pool of its own. */
async function ours({ database, url }: Setting, { waiters, shared }: Size): Promise<Crowd> {
  const count = { statements: 0 };
  const table = uniqueTable('handoff');
  const clients: { waiter: Waiter; pool: TestPool }[] = [];
  for (let i = 0; i < (shared ? 1 : waiters + 1); i++) {
    const pool = database.pool(url, { max: 2, onStatement: () => (count.statements += 1) });
    const store = pool.store({ table });
    clients.push({ waiter: await service({ store, ttl: TTL }), pool });
  }
  return {
    waiters: Array.from({ length: waiters + 1 }, (_, i) => clients[i % clients.length]?.waiter as Waiter),
    count,
    close: async () => {
      for (const { waiter } of clients) await waiter.close();
      await clients[0]?.pool.write(`DROP TABLE IF EXISTS ${table}`);
      for (const { pool } of clients) await pool.end();
    },
  };
}

/** The ways of this store: none if it has no lines. */
async function waysOf({ database, url }: Setting): Promise<(typeof WAYS)[number][]> {
  const pool = database.pool(url, { max: 2 });
  try {
    const store: LockStore = pool.store({ table: uniqueTable('handoff') });
    return store.hints === undefined ? [] : ['polling'];
  } finally {
    await pool.end();
  }
}

/** A lock of the server, for which each client waits in a session of its own. */
async function bound({ database, url }: Setting, { waiters }: Size): Promise<Crowd> {
  const count = { statements: 0 };
  const statements =
    database.name === 'PostgreSQL'
      ? {
          take: 'SELECT pg_advisory_lock(4711)',
          free: 'SELECT pg_advisory_unlock(4711)',
          waiting: "SELECT COUNT(*) AS number FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
        }
      : {
          take: "SELECT GET_LOCK('hand-off', 600)",
          free: "SELECT RELEASE_LOCK('hand-off')",
          waiting: "SELECT COUNT(*) AS number FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'",
        };
  const observer = database.pool(url, { max: 1 });
  const pools = Array.from({ length: waiters + 1 }, () =>
    database.pool(url, { max: 1, onStatement: () => (count.statements += 1) }),
  );
  let [asked, served] = [0, 0];
  const ask = (pool: TestPool): Ask => {
    asked += 1;
    const granted = pool.rows(statements.take).then(() => {
      served += 1;
      return () => pool.rows(statements.free);
    });
    // All but those who were served stand in line.
    const stands = until(async () => {
      if (asked === served) return true;
      const [row] = await observer.rows(statements.waiting);
      return Number(row?.['number']) >= asked - served;
    });
    return { stands, granted };
  };
  return {
    waiters: pools.map((pool) => ({ ask: () => ask(pool), close: async () => undefined })),
    count,
    close: async () => {
      for (const pool of [observer, ...pools]) await pool.end();
    },
  };
}
