import { afterAll, afterEach, beforeAll, beforeEach, describe } from '@jest/globals';
import { CommitGuard } from '../../../lib/guard/index.js';
import { DATABASES, type TestPool } from '../../support/database.js';
import { type DatabaseServer, uniqueTable } from '../../support/database-server.js';
import { type LocalRedis, startRedis } from '../../support/local-redis.js';
import { type Instance, type InstanceOptions, startGuardedInstance } from './instance.js';

/** The moments of a run, in their order. `committing`: the database has been asked, and has not answered. */
export type Stage = 'begin' | 'guard' | 'work' | 'commit' | 'committing' | 'committed';

/** What becomes of a run: it stops until it may go on, or its process kills itself. */
export interface Fate {
  readonly stops?: Stage;
  readonly dies?: Stage;
}

/** The job of a guarded instance. */
export interface GuardedJob {
  readonly expression: string;
  readonly guarded: boolean;
  /** Of the database in which it works. */
  readonly url: string;
  /** Of the invoices. The guard's has `_guard` behind it. */
  readonly table: string;
}

/** A fleet whose locks are in Redis, or beside the work, and whose job writes into a database. */
export class GuardedFleet {
  job!: GuardedJob;
  #options!: InstanceOptions;

  constructor(
    private readonly pool: TestPool,
    private readonly redis: LocalRedis,
  ) {}

  async prepare(url: string, expression: string, locks: 'redis' | 'beside'): Promise<void> {
    const table = uniqueTable('guarded');
    await this.forget();
    this.job = { expression, guarded: true, url, table };
    this.#options =
      locks === 'redis'
        ? { store: { connection: this.redis.url } }
        : { store: { database: { url, table: `${table}_locks` } } };
    await this.pool.write(`CREATE TABLE ${table} (what VARCHAR(100) NOT NULL)`);
    const dialect = url.startsWith('mysql:') ? 'mysql' : 'postgres';
    const guard = new CommitGuard({ dialect, table: `${table}_guard` });
    await guard.createTable((text: string) => this.pool.rows(text));
  }

  /**
   * An instance that has looked for a tick to run again, and found none.
   *
   * @param clock by how much its clock is ahead, ms
   */
  async startIdle(options: Partial<InstanceOptions>, guarded: boolean, clock = 0): Promise<Instance> {
    const instance = await this.start(options, guarded, clock);
    await instance.next('event:skipped');
    return instance;
  }

  start(options: Partial<InstanceOptions>, guarded: boolean, clock = 0): Promise<Instance> {
    return startGuardedInstance({ ...this.#options, rerun: 1, ...options }, { ...this.job, guarded }, clock);
  }

  /** How often there is each invoice, by `tick/customer`. */
  async invoices(): Promise<Record<string, number>> {
    const rows = await this.pool.rows(
      `SELECT what, count(*) AS n FROM ${this.job.table} GROUP BY what ORDER BY what`,
    );
    return Object.fromEntries(rows.map(({ what, n }) => [String(what), Number(n)]));
  }

  /** Forgets all locks and ticks, as a Redis that restarts empty. */
  async forget(): Promise<void> {
    await this.redis.command('FLUSHALL');
  }

  async remove(): Promise<void> {
    for (const suffix of ['', '_guard', '_locks', '_locks_entries'])
      await this.pool.write(`DROP TABLE IF EXISTS ${this.job.table}${suffix}`);
  }
}

/** Tests with work on each database. @param prepare the schedule of the job, and where its locks are */
export function onEachGuarded(
  prepare: () => { readonly expression: string; readonly locks: 'redis' | 'beside' },
  define: (fleet: () => GuardedFleet) => void,
): void {
  describe.each(DATABASES.map((database) => [database.name, database] as const))(
    'with work on %s',
    (_, database) => {
      let server: DatabaseServer;
      let redis: LocalRedis;
      let pool: TestPool;
      let fleet: GuardedFleet;
      beforeAll(async () => {
        [server, redis] = await Promise.all([database.provide(), startRedis()]);
        pool = database.pool(server.url);
      }, 120_000);
      beforeEach(async () => {
        fleet = new GuardedFleet(pool, redis);
        const { expression, locks } = prepare();
        await fleet.prepare(server.url, expression, locks);
      });
      afterEach(() => fleet.remove());
      afterAll(async () => {
        await pool?.end();
        await server?.stop();
        await redis?.stop();
      });
      define(() => fleet);
    },
  );
}

/** The invoices of a tick, each this often. */
export const invoicesOf = (tick: number, times: number): Record<string, number> =>
  Object.fromEntries([1, 2, 3].map((customer) => [`${tick}/${customer}`, times]));
