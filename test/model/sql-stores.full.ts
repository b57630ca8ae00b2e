import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { DATABASES, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { agreesWithModel, type StoreSubject } from './support/store-commands.js';

describe.each(DATABASES.map((database) => [database.name, database] as const))(
  'the %s store',
  (_name, database) => {
    let server: DatabaseServer;
    let subject: StoreSubject;
    const pools: TestPool[] = [];

    beforeAll(async () => {
      server = await database.provide();
      const [several, others] = [database.pool(server.url), database.pool(server.url)];
      pools.push(several, others);
      const table = uniqueTable('model');
      const stores = [several.store({ table }), several.store({ table }), others.store({ table })] as const;
      await Promise.all(stores.map((store) => store.init()));
      subject = {
        stores,
        expires: 'one',
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
