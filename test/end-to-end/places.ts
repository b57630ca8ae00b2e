import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import type { InstanceOptions } from '../faults/support/instance.js';
import { freePort, LOOPBACK } from '../support/machine.js';
import { provideRedis, uniquePrefix } from '../support/redis-server.js';

/** A store of fleets that needs nothing but npm and a Redis. */
export interface Place {
  /** What tells an instance where its locks are: none are there yet. */
  empty(): Pick<InstanceOptions, 'store' | 'keyPrefix'>;
  stop(): Promise<void>;
}

export const PLACES: readonly [name: string, open: () => Promise<Place>][] = [
  ['Redis', redis],
  ['PostgreSQL', postgres],
];

async function redis(): Promise<Place> {
  const server = await provideRedis();
  return {
    empty: () => ({ store: { connection: server.url }, keyPrefix: uniquePrefix('end-to-end') }),
    stop: () => server.stop(),
  };
}

/** PGlite, in this process. It has one session for all connections: enough for two instances, not for tests of concurrency. */
async function postgres(): Promise<Place> {
  const db = await PGlite.create();
  const port = await freePort();
  const server = new PGLiteSocketServer({ db, host: LOOPBACK, port, maxConnections: 50 });
  await server.start();
  let tables = 0;
  return {
    empty: () => ({
      store: {
        database: {
          url: `postgres://postgres@${LOOPBACK}:${port}/postgres?sslmode=disable`,
          table: `end_to_end_${++tables}`,
        },
      },
    }),
    async stop() {
      await server.stop();
      await db.close();
    },
  };
}
