import { afterAll, beforeAll, describe, test } from '@jest/globals';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../../lib/index.js';
import { DATABASES, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { agreesWithModel, type StoreSubject } from './support/store-commands.js';

/**
 * The calls for a lease as the library makes them: none before the one before it was answered. A renewal that writes a lease back is
 * two statements.
 */
class InTurn implements LockStore {
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly store: LockStore) {}

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return this.store.acquire(request);
  }

  extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return this.#next(() => this.store.extend(leases));
  }

  release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    return this.#next(() => this.store.release(lease, options));
  }

  #next<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#last.then(call);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

describe.each(DATABASES.map((database) => [database.name, database] as const))(
  'the %s store',
  (_name, database) => {
    let server: DatabaseServer;
    let subject: StoreSubject;
    const pools: TestPool[] = [];

    beforeAll(async () => {
      server = await database.provide();
      // Calls in flight keep their order only on one connection; those of the other instances have several.
      const [alone, several, others] = [1, 8, 8].map((max) => database.pool(server.url, { max }));
      if (alone === undefined || several === undefined || others === undefined) return;
      pools.push(alone, several, others);
      const table = uniqueTable('model');
      const stores = [alone.store({ table }), several.store({ table }), others.store({ table })] as const;
      await Promise.all(stores.map((store) => store.init()));
      const [own, ...rest] = stores;
      subject = {
        stores: [new InTurn(own), ...rest],
        expires: 'one',
        looksOnce: true,
        expire: async (names) => {
          for (const name of names) {
            await several.write(`UPDATE ${table} SET lock_until = '2000-01-01' WHERE name = ?`, [name]);
          }
        },
        forgetAll: async () => void (await several.write(`DELETE FROM ${table}`)),
        close: async () => void (await several.write(`DELETE FROM ${table}`)),
      };
    }, 60_000);

    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await server?.stop();
    });

    test('answers as the model, whatever is called in whatever order', async () => {
      await agreesWithModel(() => subject, { numRuns: 60, maxCommands: 60, evicts: false });
    });
  },
);
