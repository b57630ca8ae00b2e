import { setTimeout as sleep } from 'node:timers/promises';
import type { LockStore } from '../../../lib/index.js';
import type { LockStoreContractOptions } from '../cases/options.js';
import { uniqueTable } from '../../support/database-server.js';

/** A pool of several connections, as far as it is needed here. */
interface Pool {
  query(text: string, values?: unknown[]): Promise<unknown>;
  end(): Promise<void>;
}

export interface DatabaseContract {
  readonly options: LockStoreContractOptions;
  close(): Promise<void>;
}

/** What is to be tested: some kind of database, and its store. */
export interface DatabaseSubject<P extends Pool> {
  /** Makes a pool; called when the first case runs. */
  connect(): P;
  store(pool: P, table: string): LockStore & { init(): Promise<void> };
  /** Whether hints arrive. */
  readonly hints?: true | undefined;
  /** How its statements name their first parameter. */
  readonly parameter: '$1' | '?';
  /** Statements that make a table before, of which `%t` is the name; without any the store makes its own. */
  readonly create?: readonly string[] | undefined;
}

/**
 * What a variant of a connection or a table can change: who wins when calls come together, clocks and zones, how names and states are
 * kept, and that a session forgets everything.
 */
const DIFFERS =
  /exactly one (wins|is the first)|made at once are|stay apart|concurrent|simultaneous|clock|every name is a lock of its own|is repeated|as short as|as long as|batch|in line|fencing tokens grow after|remember|^rule 9\./;

/** Registers only the cases that a variant can change. All of them run once on each server. */
export const whatDiffers =
  (test: (name: string, body: () => Promise<void>) => unknown) =>
  (name: string, body: () => Promise<void>): void => {
    if (DIFFERS.test(name)) test(name, body);
  };

/** The contract on a database, as users have it: two instances, each with a pool of several connections. */
export function databaseContract<P extends Pool>(subject: DatabaseSubject<P>): DatabaseContract {
  const pools: P[] = [];
  const stores: LockStore[] = [];
  const table = uniqueTable('contract');
  const now = Date.now.bind(Date);
  const query = async (text: string, values?: unknown[]): Promise<void> => {
    await pools[0]?.query(text, values);
  };
  const free = `UPDATE ${table} SET lock_until = '2000-01-01' WHERE name = ${subject.parameter}`;
  const stateOf = async (name: string): Promise<string> => {
    const text = `SELECT state FROM ${table} WHERE name = ${subject.parameter}`;
    const result = await pools[0]?.query(text, [name]);
    // Those of pg are in an object, those of mysql2 beside their columns.
    const rows = (Array.isArray(result) ? result[0] : (result as { rows: unknown }).rows) as {
      state: unknown;
    }[];
    return String(rows[0]?.state);
  };
  const later = (ms: number): string =>
    subject.parameter === '$1'
      ? `lock_until + ${ms} * interval '1 millisecond'`
      : `TIMESTAMPADD(MICROSECOND, ${ms * 1_000}, lock_until)`;
  const options: LockStoreContractOptions = {
    inspects: true,
    lines: true,
    queuedCalls: true,
    history: true,
    ...(subject.hints && { hints: true }),
    async create() {
      if (stores.length === 0) {
        pools.push(subject.connect(), subject.connect());
        for (const statement of subject.create ?? []) await query(statement.replaceAll('%t', table));
        const made = pools.map((pool) => subject.store(pool, table));
        stores.push(...made);
        await Promise.all(made.map((each) => each.init()));
      }
      const [store, ...others] = stores;
      if (store === undefined) throw new Error('No pool was made');
      // Some names are the same in every case.
      return { store, others, close: () => query(`DELETE FROM ${table}`) };
    },
    wait: (ms) => sleep(ms),
    // The row stays when a lease is over: a lock is gone, and what is kept beside it is not, when its time is.
    forget: (name) => query(free, [name]),
    forgetAll: () => query(`DELETE FROM ${table}`),
    // The server has other tests on it. To a row it is the same if all of its times are so much later.
    async setClockBack(name, ms) {
      await query(`UPDATE ${table} SET lock_until = ${later(ms)} WHERE name = ${subject.parameter}`, [name]);
      const state = await stateOf(name);
      const moved = state.replaceAll(
        /("due": ?)(\d+)/g,
        (_, key: string, due) => `${key}${Number(due) + ms}`,
      );
      if (moved !== state) await query(`UPDATE ${table} SET state = '${moved}'`);
    },
    skewInstanceClock: (ms) => {
      Date.now = ms === 0 ? now : () => now() + ms;
    },
  };
  const close = async (): Promise<void> => {
    for (const each of [table, `${table}_entries`]) await query(`DROP TABLE IF EXISTS ${each}`);
    await Promise.all(pools.map((pool) => pool.end()));
  };
  return { options, close };
}
