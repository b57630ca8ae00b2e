import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { spawnChild, type TestChild } from '../../support/child.js';
import { DATABASES } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { builtScript } from '../../support/machine.js';
import { provideRedis } from '../../support/redis-server.js';
import type { StoreAddress } from '../children/open-store.js';

/** Of the leases that are to end, ms. */
const TTL = 1_000;
type Opened = { address: (name: string) => StoreAddress; stop(): Promise<void> };

/** The stores that real processes share. */
export const SHARED_STORES: readonly [name: string, open: () => Promise<Opened>][] = [
  [
    'Redis',
    async () => {
      const server = await provideRedis();
      return { address: () => ({ connection: server.url }), stop: () => server.stop() };
    },
  ],
  ...DATABASES.map((database): (typeof SHARED_STORES)[number] => [
    database.name,
    async () => {
      const server = await database.provide();
      const pool = database.pool(server.url);
      const tables: string[] = [];
      const stop = async (): Promise<void> => {
        for (const table of tables.flatMap((each) => [each, `${each}_entries`]))
          await pool.write(`DROP TABLE IF EXISTS ${table}`);
        await pool.end();
        await server.stop();
      };
      const address = (table: string): StoreAddress => {
        tables.push(table);
        return { database: { url: server.url, table } };
      };
      return { address, stop };
    },
  ]),
];

/** Real processes whose calls are queued while their lock is taken, on each store. */
export interface WebhookFleet {
  start(): Promise<TestChild>;
  /** Queued calls, in this order. */
  keep(child: TestChild, ...ids: string[]): Promise<void>;
  /** The next run there has to be this one. Answers its fencing token. */
  runs(child: TestChild, id: string, delivery: number, timeout?: number): Promise<number>;
  ends(child: TestChild): Promise<void>;
}

/** The same tests on each store. */
export function onEachStore(define: (fleet: WebhookFleet) => void): void {
  describe.each(SHARED_STORES)('with %s', (_, open) => {
    let opened: Opened;
    let name: string;
    const children = new Set<TestChild>();
    beforeAll(async () => void (opened = await open()));
    beforeEach(() => void (name = uniqueTable('queued')));
    afterEach(async () => {
      for (const child of children) await child.kill();
      children.clear();
    });
    afterAll(() => opened.stop());

    async function start(): Promise<TestChild> {
      const options = {
        store: opened.address(name),
        keyPrefix: name,
        ttl: TTL,
        heartbeat: 100,
        storeTimeout: 300,
      };
      if ('database' in options.store) Reflect.deleteProperty(options, 'keyPrefix');
      const env = { FAULT_OPTIONS: JSON.stringify(options) };
      const child = await spawnChild(builtScript('test/faults/children/webhooks.js'), { env });
      children.add(child);
      await child.next('ready');
      return child;
    }

    /** Queued calls, in this order. */
    async function keep(child: TestChild, ...ids: string[]): Promise<void> {
      for (const id of ids) {
        child.send({ type: 'call', id });
        await child.next('event:queued');
      }
    }

    async function runs(
      child: TestChild,
      id: string,
      delivery: number | undefined,
      timeout?: number,
    ): Promise<number> {
      const began = await child.next<{ fencingToken: number }>('began', timeout);
      expect(began).toMatchObject({ id, delivery });
      return began.fencingToken;
    }

    async function ends(child: TestChild): Promise<void> {
      child.send({ type: 'end' });
      await child.next('completed');
    }

    define({ start, keep, runs, ends });
  });
}
